import assert from "node:assert/strict";
import test from "node:test";

import { ancestors, beside, layout } from "../../../viz/decoding_steps/beam_tree_parts.js";
import { judged, rest, withChosen } from "../../../viz/decoding_steps/candidates_parts.js";
import { loadGlosses, meaningOf, wordOf } from "../../../viz/kit/glosses.js";
import { probability } from "../../../viz/kit/mount.js";
import { rowNames, toldOf } from "../../../viz/decoding_steps/timeline_pointing.js";
import { usesArrowKeys } from "../../../viz/kit/page_keys.js";
import { measured, nextBlank, pressesHere } from "../../../viz/decoding_steps/timeline_parts.js";
import { seenOf } from "../../../viz/decoding_steps/timeline_lines.js";
import { scrolledOnce, scrolledTo } from "../../../viz/decoding_steps/timeline_scrolling.js";
import { veiled } from "../../../viz/decoding_steps/timeline_hall.js";
import { whyOf } from "../../../viz/decoding_steps/timeline_texts.js";

// 0 -> 1, 2 (the likelier) -> 3
const NODES = [{ p: null, s: 1, sc: -1 }, { p: 0, s: 2, sc: -3 }, { p: 0, s: 2, sc: -2 }, { p: 2, s: 3, sc: -4 }];

test("the likelier path stands higher", () => {
  assert.deepEqual(layout(NODES), { rows: [, [0], [2, 1], [3]], place: [0, 1, 0, 0], steps: 3, most: 2 }); // eslint-disable-line no-sparse-arrays
});

test("keys walk the tree as it is drawn", () => {
  const { rows, place } = layout(NODES), go = (key, n) => beside(key, n, NODES, rows, place);
  assert.deepEqual([go("ArrowRight", 0), go("ArrowDown", 2), go("ArrowUp", 1), go("ArrowLeft", 3)], [2, 1, 2, 2]);
  assert.deepEqual([go("Home", 3), go("End", 0)], [0, 3]);
  assert.deepEqual([go("ArrowLeft", 0), go("ArrowRight", 1), go("ArrowUp", 0)], [null, undefined, undefined]);
  assert.deepEqual(ancestors(NODES, 3), [3, 2, 0]);
});

test("what is left for all other tokens adds up to 1 with what is listed, and says how many they are", () => {
  const rows = [["·ch", 1, 0, 0, 0.6], ["·chat", 2, 0, 0, 0.25], ["l", 3, 0, 0, 0.1]];
  assert.equal(rest(rows), "All others: 0.05");
  assert.equal(rest([["a", 1, 0, 0, 1]]), "All others: 0.00");
});

test("a guess is judged by the whole piece first, then by how it begins", () => {
  const rows = [["·ch", 1, 0, 0, 0.6], ["·chat", 2, 0, 0, 0.25], ["l", 3, 0, 0, 0.1]];
  assert.equal(judged(rows, " Chat "), "“Chat” is its number 2, with probability 0.25.");
  assert.equal(judged(rows, "chien"), "“ch”, with which your guess begins, is its number 1, with probability 0.60.");
  assert.equal(judged(rows, "le"), "“le” is not among its top 3 tokens.");
});

test("a meter shows what an edit took or gave", () => {
  assert.deepEqual(measured(0.25), [["", 0, 0.25]]);
  assert.deepEqual(measured(0.25, 0.5), [["", 0, 0.25], ["lost", 0.25, 0.5]]);
  assert.deepEqual(measured(0.5, 0.25), [["", 0, 0.25], ["won", 0.25, 0.5]]);
});

test("space and arrows keep their meaning where they have one", () => {
  const inside = (...selectors) => ({ closest: (asked) => selectors.find((each) => asked.split(",").includes(each)) });
  assert.deepEqual([pressesHere(inside("button")), pressesHere(inside("button", ".chip")), pressesHere(inside())], [true, false, false]);
  assert.deepEqual([usesArrowKeys(inside("[role=tree]")), usesArrowKeys({ type: "range", className: "" }), usesArrowKeys({ type: "range", className: "range" })], [true, true, false]);
});

test("a source token tells who looks at it, a target row where it looks; what is to be guessed is not told", () => {
  const data = { start: "<s>", source: [{ t: "a" }, { t: "b" }], target: [{ t: "x" }, { t: "y" }], where: { cross: "cross 1.2", decoder: "decoder 1.2" }, cross: [[0.9, 0.1], [0.25, 0.75]], decoder: [[1, 0], [0.375, 0.625]], allowed: [[1, 0], [1, 1]] };
  assert.equal(toldOf(data, ["source", 0], 2), "“a” is looked at by <s> → x 0.90, x → y 0.25 (cross 1.2)");
  assert.equal(toldOf(data, ["source", 1], 1), "“b” is looked at by <s> → x 0.10 (cross 1.2)");
  assert.equal(toldOf(data, ["source", 1], 0), "“b” is looked at by no token from 0.01 on (cross 1.2)");
  assert.equal(toldOf(data, ["target", 1], 2), "“x → y” looks at b 0.75, a 0.25 (cross 1.2); in the target at x 0.63, <s> 0.38 (decoder 1.2)");
  assert.deepEqual(rowNames(data, 1), ["<s> → x"]);
});

test("of a text read at once all blanks are hidden but the one that is revealed, and keys go round the blanks", () => {
  const data = { blanks: [1, 3], target: [{ t: "A" }, { t: "dog" }, { t: "sees" }, { t: "s" }], segments: ["A", " dog", " sees", "s"] };
  const none = veiled(data, 0), one = veiled(data, 2);
  assert.deepEqual(none.target.map(({ t }) => t), ["A", "?", "sees", "?"]);
  assert.deepEqual([none.segments.join(""), one.segments.join("")], ["A ___ sees ___", "A dog sees ___"]); // that "s" has no space is not told
  assert.deepEqual([data.target[1].t, one.target[1].t, one.target[3].hidden], ["dog", "dog", true]);
  const go = (step, by) => nextBlank({ data, step }, by);
  assert.deepEqual([go(1, 1), go(2, 1), go(4, 1), go(4, -1), go(2, -1)], [2, 4, 2, 2, 4]);
  assert.equal(nextBlank({ data: { blanks: [] }, step: 1 }, 1), null);
  assert.equal(nextBlank({ data: {}, step: 1 }, 1), null);
});

test("no line leads to a token that the mask forbids", () => {
  assert.deepEqual(seenOf([0.2, 0, 0.8, 0], [1, 0, 1, 1]), [[0, 3], [0.2, 0], [0.8, 2]]);
  assert.deepEqual(seenOf([0, 0], [0, 0]), []);
});

test("both the step and what it looks at most are brought into sight, where they fit", () => {
  assert.equal(scrolledTo([100, 150], [200, 260], 400), 0);
  const at = scrolledTo([900, 950], [1100, 1160], 400);
  assert.ok(at <= 900 && at + 400 >= 1160);
  assert.equal(scrolledTo([900, 950], [2000, 2060], 400), 900 - 24); // else the step, with as much of the way as fits
  assert.equal(scrolledTo([900, 950], [10, 60], 400), 950 + 24 - 400);
});

test("why: what is looked at most is named, whatever it is; what was chosen, then heads of a word that is worth it", () => {
  const source = ["a", "dog", "and", "a", "</s>"].map((t) => ({ t })), here = [0, 0, 0.125, 0.98, 0.93], shown = { here, one: "this head", reason: ["·il", "·elle", 7] };
  const found = whyOf({ source: 3, weight: 0.444, word: 3, onWord: 0.444, asked: true, to: 1 }, 5, source, shown);
  assert.equal(found.told(probability), "Most at “a (2nd)” (0.98); so do all heads on average (0.44).");
  assert.deepEqual(found.ways.map(({ text }) => text), ["Why “il”, and not “elle”?", "Which heads?", "Which head links “a (2nd)” to “dog”?"]);
  assert.deepEqual(found.ways.map(({ tells }) => tells), [["reason", { step: 5, token: 7 }], ["why", { kind: "cross", query: 5, key: 4 }], ["why", { kind: "encoder", query: 4, key: 2 }]]);
  const end = { source: 4, weight: 0.66, word: 1, onWord: 0.03, asked: false, to: null }, last = whyOf(end, 6, source, { ...shown, reason: null });
  assert.equal(last.told(probability), "Most at “a (2nd)” (0.98); all heads on average at “</s>” (0.66), of the words at “dog” (0.03).");
  assert.deepEqual(last.ways, []);
  assert.equal(whyOf({ ...end, asked: true }, 6, source, shown).ways[1].text, "Which heads at “dog”?");
  assert.equal(whyOf({ ...end, word: null }, 6, source, shown).told(probability), "Most at “a (2nd)” (0.98); all heads on average at “</s>” (0.66).");
  assert.equal(whyOf({ ...end, word: null }, 6, source, { ...shown, here: [0, 0, 0, 0.5, 0.93], one: "this layer" }).told(probability), "Most at “</s>” (0.93); so do all heads on average (0.66).");
  assert.equal(whyOf({ ...end, word: null }, 6, source, { ...shown, here: [0, 0, 0, 0, 0] }).told(probability), "This head looks at nothing here; all heads on average at “</s>” (0.66).");
  const tied = (here) => whyOf({ ...end, word: null }, 6, source, { ...shown, here }).told(probability);
  assert.match(tied([0, 0.3211, 0.3209, 0.2, 0]), /^Most at “dog” and “and” \(0\.32 each\); all heads/);
  assert.match(tied([0.2, 0.2, 0.2, 0.2, 0.2]), /^Most at “a \(1st\)” and 4 others \(0\.20 each\); all heads/);
  assert.equal(whyOf({ ...end, source: 1, word: 1, asked: true }, 6, source, shown).ways[1].text, "Which heads at “dog”?"); // another than this head's
  assert.deepEqual(whyOf(end, 6, source, { ...shown, guess: true }).ways, []);
  const decoder = { ...shown, kind: "decoder", guess: true };
  for (const [step, told] of [[3, "Most at “and” (0.13)."], [5, "Most at “a (2nd)” (0.98); all heads on average at “</s>” (0.66), of the words at “dog” (0.03)."]])
    assert.equal(whyOf(end, step, source, decoder).told(probability), told); // no token that is not said yet is named
});

test("a token that is none of the likeliest stands apart in a text that is read, and is the last of a lecture", () => {
  const rows = () => [1, 2, 3, 4, 5].map((id) => ["·a", id]), own = ["<s>", 9], at = (how) => withChosen(rows(), own, how).map(([, id]) => id);
  assert.deepEqual(at({ stands: true }), [9, 1, 2, 3, 4, 5]);
  assert.deepEqual(at({ stands: true, hall: true }), [1, 2, 3, 4, 9]);
  assert.deepEqual(at({}), [1, 2, 3, 4, 9, 5]);
  assert.deepEqual(withChosen(rows(), ["·a", 2], { stands: true }), rows());
});

test("a text that is read at once is shown from its beginning while the place is in sight there", () => {
  assert.equal(scrolledOnce([560, 640], 932), 0);
  assert.equal(scrolledOnce([900, 960], 932), 464);
});

test("a French word has its meaning once the list is there, and pieces the meaning of their word", () => {
  globalThis.document ??= new EventTarget();
  assert.equal(meaningOf("chat"), "");
  loadGlosses("chat: cat; parce qu': because\nil: he, it (masculine)\n");
  assert.equal(meaningOf("chat", "", "chat", "il", undefined, "xyz"), "“chat”: cat. “il”: he, it (masculine)");
  assert.deepEqual([wordOf("·Chat", ["·le"]), wordOf("at", ["·le", "·ch"]), wordOf("il", ["·parce", "·qu'"]), wordOf("Il", []), wordOf(".", ["·chat"])], ["chat", "chat", "il", "il", "chat."]);
});
