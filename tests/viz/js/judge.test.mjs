import assert from "node:assert/strict";
import test from "node:test";
import { against, tokenTold } from "../../../viz/translate/judged_parts.js";
import { shade, wordTold } from "../../../viz/translate/word_table_parts.js";
import { percent } from "../../../viz/shared/mount.js";

const WORDS = { words: ["a", "dull"], before: [0.9, 0.9], after: [0.91, 0.4], turns: ["bad", "good"], label: "bad" };

test("a near-tie is called one", () => {
  assert.equal(against({ name: "bad", p: 0.52 }, { name: "good", p: 0.48 }, true), "A near-tie: “bad” 0.520 against “good” 0.480. Little tips it.");
  assert.equal(against({ name: "bad", p: 0.9 }, { name: "good", p: 0.1 }, false), "“bad” 0.900 against “good” 0.100.");
});

test("a token that stands twice says which of them it is", () => {
  const data = { tokens: [{ t: "a" }, { t: "film" }, { t: "a" }], weights: [0.25, 0.5, 0.25], whose: "layer 1, head 2: the mean of all rows" };
  assert.equal(tokenTold(data, 2), "“a (2nd)”: weight 0.2500 (layer 1, head 2: the mean of all rows)");
});

test("a word is told with what hiding it does, and whether the label turns", () => {
  assert.equal(wordTold(WORDS, 0, percent), "Without “a”: “bad” 0.900 → 0.910.");
  assert.equal(wordTold(WORDS, 1, percent), "Without “dull”: “bad” 0.900 → 0.400, and the label becomes “good”.");
  assert.match(wordTold(WORDS, -1, percent), /^A control token/);
});

test("what has a sign is coloured from the middle, what has none from the page's background", () => {
  const scales = { tints: ["page", "tint", "deep"], diverging: ["loss", "less", "page", "more", "gain"] };
  assert.deepEqual([0, 1].map((share) => shade(scales, share, false)), ["page", "deep"]);
  assert.deepEqual([-1, 0, 1].map((share) => shade(scales, share, true)), ["less", "page", "more"]);
});
