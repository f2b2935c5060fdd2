import assert from "node:assert/strict";
import test from "node:test";

import { ancestors, beside, layout } from "../../../viz/translate/beam_tree_parts.js";
import { judged, rest } from "../../../viz/translate/candidates_parts.js";
import { rowNames, toldOf } from "../../../viz/translate/timeline_pointing.js";
import { measured, moves, presses } from "../../../viz/translate/timeline_parts.js";
import { seenOf } from "../../../viz/translate/timeline_lines.js";
import { scrolledTo } from "../../../viz/translate/timeline_scrolling.js";
import { whyOf } from "../../../viz/translate/timeline_told.js";

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
  assert.equal(rest(rows, 8000), "7,997 tokens beside these 3: 0.050 together");
  assert.equal(rest([["a", 1, 0, 0, 1]], 2), "1 tokens beside these 1: 0.000 together");
});

test("a guess is judged by the whole piece first, then by how it begins", () => {
  const rows = [["·ch", 1, 0, 0, 0.6], ["·chat", 2, 0, 0, 0.25], ["l", 3, 0, 0, 0.1]];
  assert.equal(judged(rows, " Chat "), "“Chat” is its number 2, with probability 0.250.");
  assert.equal(judged(rows, "chien"), "“ch”, with which your guess begins, is its number 1, with probability 0.600.");
  assert.equal(judged(rows, "le"), "“le” is not among its 3 likeliest.");
});

test("a meter shows what an edit took or gave", () => {
  assert.deepEqual(measured(0.25), [["", 0, 0.25]]);
  assert.deepEqual(measured(0.25, 0.5), [["", 0, 0.25], ["lost", 0.25, 0.5]]);
  assert.deepEqual(measured(0.5, 0.25), [["", 0, 0.25], ["won", 0.25, 0.5]]);
});

test("space and arrows keep their meaning where they have one", () => {
  const inside = (...selectors) => ({ closest: (asked) => selectors.find((each) => asked.split(",").includes(each)) });
  assert.deepEqual([presses(inside("button")), presses(inside("button", ".chip")), presses(inside())], [true, false, false]);
  assert.deepEqual([moves(inside("[role=tree]")), moves({ type: "range", className: "" }), moves({ type: "range", className: "range" })], [true, true, false]);
});

test("a source token tells who looks at it, a target row where it looks; what is to be guessed is not told", () => {
  const data = { start: "<s>", source: [{ t: "a" }, { t: "b" }], target: [{ t: "x" }, { t: "y" }], where: "layer 1, head 2", cross: [[0.9, 0.1], [0.25, 0.75]], decoder: [[1, 0], [0.375, 0.625]], allowed: [[1, 0], [1, 1]] };
  assert.equal(toldOf(data, ["source", 0], 2), "“a” is looked at by <s> → x 0.90, x → y 0.25 (layer 1, head 2)");
  assert.equal(toldOf(data, ["source", 1], 1), "“b” is looked at by <s> → x 0.10 (layer 1, head 2)");
  assert.equal(toldOf(data, ["source", 1], 0), "“b” is looked at by no token from 0.01 on (layer 1, head 2)");
  assert.equal(toldOf(data, ["target", 1], 2), "“x → y” looks at b 0.75, a 0.25; in the target at x 0.63, <s> 0.38 (layer 1, head 2)");
  assert.deepEqual(rowNames(data, 1), ["<s> → x"]);
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

test("why: the heads of the step and its word, then those of the word in the encoder, counted from 1", () => {
  const source = ["a", "dog", "and", "a", "cat"].map((t) => ({ t }));
  const found = whyOf({ source: 3, weight: 0.444, to: 1, linked: 0.7 }, 5, source);
  assert.equal(found.told, "Looks most at “a (2nd)” (0.44, mean of all heads).");
  assert.deepEqual(found.ways.map(({ pair }) => pair), [["cross", 5, 4], ["encoder", 4, 2]]);
  assert.equal(found.ways[1].text, "Which head links “a (2nd)” to “dog”?");
  assert.equal(whyOf({ source: 1, weight: 0.4, to: null, linked: 0 }, 1, source).ways.length, 1);
  assert.deepEqual(whyOf({ source: 3, weight: 0.444, to: 1, linked: 0.7 }, 5, source, true).ways, []);
  assert.equal(whyOf(null, 1, source), null);
});
