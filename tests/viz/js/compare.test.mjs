import assert from "node:assert/strict";
import { test } from "node:test";
import { leftAway } from "../../../viz/compare/patch_grids.js";
import { abreast, cellLines, gathered, partnerCell, stepRows } from "../../../viz/compare/side_by_side_parts.js";

const maps = [
  { queries: ["il", "est", "las"], keys: ["he", "is", "tired"], rows: [0, -1, 1], columns: [0, 1, -1], values: [[0.5, 0.5, 0], [0.1, 0.2, 0.7], [1, 0, 0]], allowed: [[1, 1, 0], [1, 1, 1], [1, 1, 1]] },
  { queries: ["il", "las"], keys: ["he", "is"], rows: [0, 2], columns: [0, 1], values: [[0.25, 0.75], [1, 0]], allowed: [[1, 1], [1, 1]] },
];
const nth = (texts, n) => texts[n];

test("partners lead back to where they came from, and the difference stands on the first map's axes", () => {
  for (const from of [0, 1, 2]) for (const to of [0, 1, 2]) assert.deepEqual(partnerCell(maps, to, from, partnerCell(maps, from, to, [0, 1])), [0, 1]);
  assert.deepEqual(partnerCell(maps, 0, 1, [1, 2]), [-1, -1]);
  assert.deepEqual(partnerCell(maps, 2, 0, [1, 2]), [1, 2]);
  assert.deepEqual(partnerCell(maps, 1, 2, [1, 0]), [2, 0]);
});

test("a card has both weights, or names the token without a partner", () => {
  const lines = (from, cell) => cellLines(maps, ["A", "B"], from, cell, nth);
  assert.deepEqual(lines(0, [0, 1]), ["il on is", "0.5000 in “A”", "0.7500 in “B”"]);
  assert.deepEqual(lines(1, [1, 0]), ["las on he", "1.0000 in “B”", "1.0000 in “A”"]);
  assert.equal(lines(0, [1, 0])[2], "“est” has no partner in “B”");
  assert.deepEqual(lines(0, [0, 2]).slice(1), ["masked in “A”", "“tired” has no partner in “B”"]);
});

test("a step has a row in each map, where the other has one", () => {
  assert.deepEqual([1, 2, 3, 9].map((step) => stepRows(maps, step)), [[0, 0], [1, -1], [2, 1], [-1, -1]]);
});

test("tokens without a partner that stand between the same two stand together", () => {
  const [pair, first, second] = [["a", "a"], ["b", null], [null, "c"]].map((chips) => ({ chips }));
  assert.deepEqual(gathered([pair, first, second, pair, first, pair]), [[pair], [first, second], [pair], [first], [pair]]);
  assert.deepEqual(gathered([]), []);
});

test("what has no partner stands in columns of two, so that a line can be broken anywhere, and nothing is lost", () => {
  const group = [["a", null], ["b", null], [null, "c"], ["d", null]].map((chips) => ({ chips }));
  assert.deepEqual(abreast(group), [["a", "c"], ["b", null], ["d", null]]);
  assert.deepEqual(abreast([{ chips: ["a", "b"] }]), [["a", "b"]]);
  assert.deepEqual(abreast([{ chips: [null, "b"] }]), [[null, "b"]]);
});

test("of texts too long for a line most of what they have in common is left away, at a word", () => {
  const common = "word ".repeat(20), texts = [`${common}one.`, `${common}another.`], away = leftAway(texts);
  assert.ok(away > 0 && away < common.length && texts[0][away - 1] === " " && texts[0].slice(0, away) === texts[1].slice(0, away));
  assert.equal(leftAway(["short one.", "short other."]), 0);
  assert.equal(leftAway([`a${"b ".repeat(60)}`, `c${"b ".repeat(60)}`]), 0);
});
