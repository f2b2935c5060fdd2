import assert from "node:assert/strict";
import test from "node:test";
import { against, tokenTold } from "../../../viz/judge/judged_parts.js";
import { inSight, shade, wordTold } from "../../../viz/judge/word_table_parts.js";

const WORDS = { words: ["a", "dull"], before: [0.9, 0.9], after: [0.91, 0.4], turns: ["bad", "good"], label: "bad" };

test("a near-tie is called one", () => {
  assert.equal(against({ name: "bad", p: 0.52 }, { name: "good", p: 0.48 }, true), "A near-tie: “bad” 0.52 against “good” 0.48. Little tips it.");
  assert.equal(against({ name: "bad", p: 0.9 }, { name: "good", p: 0.1 }, false), "“bad” 0.90 against “good” 0.10.");
});

test("a token that stands twice says which of them it is", () => {
  const data = { tokens: [{ t: "a" }, { t: "film" }, { t: "a" }], weights: [0.25, 0.5, 0.25], whose: "encoder 1.2: the mean of all rows" };
  assert.equal(tokenTold(data, 2), "“a (2nd)”: weight 0.2500 (encoder 1.2: the mean of all rows)");
});

test("a word is told with what hiding it does, and whether the label turns", () => {
  assert.equal(wordTold(WORDS, 0), "Without “a”: “bad” 0.90 → 0.91.");
  assert.equal(wordTold(WORDS, 1), "Without “dull”: “bad” 0.90 → 0.40, and the label becomes “good”.");
  assert.match(wordTold(WORDS, -1), /^A control token/);
});

test("what has a sign is coloured from the middle, what has none from the page's background", () => {
  const scales = { tints: ["page", "tint", "deep"], diverging: ["loss", "less", "page", "more", "gain"] };
  assert.deepEqual([0, 1].map((share) => shade(scales, share, false)), ["page", "deep"]);
  assert.deepEqual([-1, 0, 1].map((share) => shade(scales, share, true)), ["less", "page", "more"]);
});

test("a table that is wider than its room shows whole columns, the chosen one among them, and leaves no room empty", () => {
  const widths = [46, 81, 60, 46, 46, 115, 46, 90, 46], sum = (from, to) => widths.slice(from, to + 1).reduce((all, each) => all + each, 0);
  for (const room of [120, 200, 333]) {
    let first = 0;
    for (const chosen of [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, -1, 0]) {
      const [from, to] = inSight(widths, room, first, chosen);
      assert.ok(chosen < 0 || (from <= chosen && chosen <= to), `${chosen} in ${from} to ${to} of ${room}`);
      assert.ok(sum(from, to) <= room);
      assert.ok(from === 0 || to < widths.length - 1 || sum(from - 1, to) > room);
      if (chosen < 0 || (first <= chosen && sum(first, chosen) <= room)) assert.ok(from <= first); // it stays where it can
      first = from;
    }
  }
  assert.deepEqual(inSight([300, 50], 100, 0, 0), [0, 0]); // a word that is wider than the room
});
