// Payloads of patterns are checked on entry, and drawn with the colours of their values.

import assert from "node:assert/strict";
import test from "node:test";

import { largestCells } from "../../../viz/kit/cell_table.js";
import { describeCell, formatValue, tintOf } from "../../../viz/kit/heatmap.js";
import { largestCell, maskBorder, readPattern } from "../../../viz/kit/patterns.js";

const packed = (numbers) => btoa(String.fromCharCode(...new Uint8Array(new Float32Array(numbers).buffer)));
const PAYLOAD = { title: "Cross", queries: ["a", "b"], keys: ["x", "y", "x"], shape: [2, 3], values: packed([0.5, 0.5, 0, 0, 0.25, 0.75]), allowed: "110111", most: null };
const SCALE = ["#000000", "#111111", "#222222"];

test("a payload is read into rows of numbers", () => {
  const pattern = readPattern(PAYLOAD);
  assert.deepEqual(pattern.values.map((row) => [...row]), [[0.5, 0.5, 0], [0, 0.25, 0.75]]);
  assert.deepEqual(pattern.allowed.map((row) => [...row]), [[1, 1, 0], [1, 1, 1]]);
  const levels = readPattern({ queries: ["a"], keys: ["x", "y"], shape: [1, 2], levels: btoa("\u0000\u00ff") });
  assert.deepEqual([[...levels.values[0]], [...levels.allowed[0]], levels.most], [[0, 1], [1, 1], null]);
});

test("a wrong field is named in one sentence", () => {
  const wrong = (changes, message) => assert.throws(() => readPattern({ ...PAYLOAD, ...changes }), { message });
  wrong({ keys: undefined }, 'Pattern “Cross”: the field "keys" is missing, expected a list of labels.');
  wrong({ queries: ["a"] }, 'Pattern “Cross”: the field "queries" has 1 labels, expected 2 for shape [2,3].');
  wrong({ shape: [2] }, 'Pattern “Cross”: the field "shape" is [2], expected [T, S].');
  wrong({ values: packed([1]) }, 'Pattern “Cross”: the field "values" has 1 numbers, expected 6 for shape [2,3].');
  wrong({ values: undefined, title: "" }, 'Pattern: the field "values" is missing, expected float32 numbers in base64, or "levels".');
  wrong({ allowed: "11" }, 'Pattern “Cross”: the field "allowed" has 2 digits, expected 6 for shape [2,3].');
  wrong({ former: "1" }, 'Pattern “Cross”: the field "former" has 1 digits, expected 6 for shape [2,3].');
  wrong({ most: 0 }, 'Pattern “Cross”: the field "most" is 0, expected null or a number above 0.');
  wrong({ candidates: [[]] }, 'Pattern “Cross”: the field "candidates" has 1 rows, expected 2.');
});

test("colours go from 0 to 1, or are symmetric about 0", () => {
  const pattern = readPattern(PAYLOAD), tint = tintOf(pattern, SCALE);
  assert.deepEqual([tint(0, 0), tint(0, 2), tint(1, 0), tint(1, 2)], ["#111111", null, "#000000", "#222222"]);
  assert.equal(tintOf(pattern, SCALE, true)(0, 0), "#222222");
  const difference = tintOf({ ...pattern, most: 0.75 }, SCALE);
  assert.deepEqual([difference(1, 0), difference(1, 2)], ["#111111", "#222222"]);
});

test("a card names both tokens, the value and the candidates", () => {
  const pattern = readPattern({ ...PAYLOAD, candidates: [[["il", 0.58], ["elle", 0.3]], []] });
  assert.deepEqual(describeCell(pattern, [0, 0]), ["a on x (1st)", "0.50000", "predicts il 0.5800, elle 0.3000"]);
  assert.deepEqual(describeCell(pattern, [0, 2]).slice(0, 2), ["a on x (2nd)", "masked"]);
  assert.deepEqual(describeCell(pattern, [1, null]), ["b", "row 2 of 2"]);
  assert.deepEqual(describeCell(pattern, [null, 1]), ["y", "column 2 of 3"]);
  assert.equal(formatValue({ most: 0.5, digits: 2 }, -0.25), "−0.25");
});

test("the largest cell is allowed, and the border runs around the allowed cells", () => {
  const pattern = readPattern(PAYLOAD);
  assert.deepEqual([largestCell(pattern), largestCell(pattern, 0)], [[1, 2], [0, 0]]);
  assert.deepEqual(maskBorder([[1, 0], [1, 1]]), [[0, 0, 1, 0], [1, 1, 2, 1], [0, 2, 2, 2], [0, 0, 0, 2], [1, 0, 1, 1], [2, 1, 2, 2]]);
});

test("the caption of a table counts its cells, and cells with the value 0 are not listed", () => {
  const captionOf = (values, most) => largestCells(values.map((value) => ({ value })), "cells", most).caption;
  assert.deepEqual(largestCells([0.1, -0.5, 0, 0.3].map((value) => ({ value })), "cells").listed.map(({ value }) => value), [-0.5, 0.3, 0.1]);
  assert.deepEqual([captionOf([0.1, -0.5], 1), captionOf([0.1, 0.5]), captionOf([0.5])], ["The largest of 2 cells, by absolute value", "All 2 cells, largest first", "1 cell"]);
  assert.deepEqual([captionOf([0, 0]), captionOf(Array(1200).fill(0.1))], ["No value other than 0 in 2 cells", "The 15 largest of 1,200 cells"]);
});
