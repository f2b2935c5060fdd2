import assert from "node:assert/strict";
import test from "node:test";

import { inside } from "../../../viz/heads/all_heads_maps.js";
import { meant } from "../../../viz/heads/all_heads_numbers.js";
import { previewed, rgb } from "../../../viz/heads/all_heads_parts.js";

test("a colour is read", () => assert.deepEqual(rgb("#0072b2"), [0, 114, 178]));

test("a preview has the weights of its head in the cells that the mask allows", () => {
  const grid = { shape: [2, 2], allowed: "1011", raw: Uint8Array.from([255, 51, 204, 255, 5, 250]), queries: ["a", "b"], keys: ["c", "d"] };
  const map = previewed(grid, 1, true);
  assert.deepEqual(map.values, [[1, 0], [5 / 255, 250 / 255]]);
  assert.deepEqual([map.allowed, map.kept], [[[1, 0], [1, 1]], [[1, 0], [0, 1]]]);
  assert.deepEqual([map.queries, map.keys, map.rough, map.byRow], [["a", "b"], ["c", "d"], true, true]);
});

test("numbers are those of a head, of a layer, or of all", () => {
  const grid = { places: [[1, 1], [2, 1], [1, 2]] };
  assert.deepEqual(meant(grid, { index: 1, layer: 2 }), [false, true, false]);
  assert.deepEqual(meant(grid, { index: null, layer: 1 }), [true, false, true]);
  assert.deepEqual(meant(grid, { index: null, layer: null }), [true, true, true]);
});

test("a mark stays inside", () => assert.deepEqual([-1, 0, 4, 5].map((n) => inside(n, 5)), [0, 0, 4, 4]));
