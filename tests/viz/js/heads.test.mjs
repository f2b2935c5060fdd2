import assert from "node:assert/strict";
import test from "node:test";

import { inside, rgb } from "../../../viz/kit/heatmap.js";
import { averageOf, meant, nearest } from "../../../viz/heads/all_heads_numbers.js";
import { askable, mayAsk } from "../../../viz/heads/all_heads_find.js";
import { drawnMap, largest } from "../../../viz/given_attention/head_values.js";
import { floats } from "../../../viz/kit/packed.js";
import { sized } from "../../../viz/kit/thumbnails.js";
import { arranged, previewed, shownName } from "../../../viz/heads/all_heads_parts.js";

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
  assert.deepEqual(meant(grid, { index: null, layer: null, head: 1 }), [true, true, false]);
});

test("several heads in one map are named by how they are combined", () => {
  const named = (chosen) => shownName({ measure: "weights", combine: "mean", ...chosen }, { kind: "cross", title: "Cross-attention" });
  assert.deepEqual([named({ layer: 2, head: 3 }), named({ layer: 2, head: null }), named({ layer: null, head: null })], ["cross 2.3", "cross 2, mean over heads", "Cross-attention, mean over layers and heads"]);
  assert.deepEqual([named({ layer: 2, head: null, combine: "max" }), named({ layer: null, head: null, combine: "max" })], ["cross 2, maximum over heads", "Cross-attention, maximum over layers and heads"]);
  assert.equal(named({ layer: null, head: 3, combine: "max" }), "Cross-attention, head 3, maximum over layers");
  assert.equal(named({ layer: 2, head: 3, measure: "rollout" }), "cross 2, heads together");
  assert.equal(named({ layer: null, head: null, measure: "rollout" }), "Cross-attention, rollout over layers and heads");
});

test("a map of largest weights merges words of each head first", () => {
  const kind = { shape: [1, 3], allowed: "111", queries: ["a"], keys: ["b", "c", "d"], words: { queries: [0], keys: [0, 0, 1] }, hidden: [0, 0, 0] };
  const maps = [[0.5, 0, 0.5], [0, 0.25, 0.75]].map((row) => Float32Array.from(row)), how = { merge: false, hide: false, mass: 100 };
  assert.deepEqual([...largest(maps)], [0.5, 0.25, 0.75]);
  assert.deepEqual([...floats(drawnMap(kind, maps, how, {}).values)], [0.5, 0.25, 0.75]);
  assert.deepEqual([...floats(drawnMap(kind, maps, { ...how, merge: true }, { weights: maps }).values)], [0.5, 0.75]);
});

test("a mark stays inside", () => assert.deepEqual([-1, 0, 4, 5].map((n) => inside(n, 5)), [0, 0, 4, 4]));

const grid = { kind: "encoder", places: [[1, 1], [1, 2], [2, 1]], queries: ["a", "a", "b"], keys: ["c", "d"], shape: [3, 2], allowed: "110111", numbers: { near: [0.1, 0.3, 0.2] }, orders: { position: [0, 1, 2], near: [1, 2, 0], alike: [0, 2, 1] } };
const metrics = [{ name: "near", label: "Near" }, { name: "far", label: "Far" }];

test("heads that link two tokens stand before each other by their weight, with names and numbers", () => {
  const find = { kind: "encoder", query: 1, key: 1, weights: [0.2, 0.2, 0.9], order: [2, 0, 1] };
  assert.deepEqual(arranged(grid, { find, order: "near", metrics }), { places: [2, 0, 1], named: true, notes: ["0.20", "0.20", "0.90"], values: find.weights, told: "a (2nd) on d, most first", by: "a (2nd) on d" });
  assert.deepEqual(arranged(grid, { find: { ...find, kind: "cross" }, order: "position", metrics }).places, [0, 1, 2]);
});

test("an order names the thumbnails, by their numbers where it has some; one that says nothing of a site leaves it as it is", () => {
  assert.deepEqual(arranged(grid, { find: null, order: "near", metrics }), { places: [1, 2, 0], named: true, notes: ["0.10", "0.30", "0.20"], values: grid.numbers.near, told: "", by: "Near" });
  assert.deepEqual(arranged(grid, { find: null, order: "alike", metrics }), { places: [0, 2, 1], named: true, notes: null, values: null, told: "", by: undefined });
  assert.deepEqual(arranged(grid, { find: null, order: "far", metrics }), { places: [0, 1, 2], named: false, notes: null, told: "“Far” is not defined here" });
});

test("a name has room below its thumbnail, however many heads stand beside each other", () => {
  for (const width of [120, 326, 980]) for (const heads of [1, 8, 16, 64]) {
    const { columns, tile, pitch } = sized(width, heads, { named: true, notes: ["0.10"] });
    assert.ok(columns >= 1 && columns <= heads && columns * tile <= width && (tile >= 37 || columns === heads) && pitch >= tile + 26);
  }
});

test("a token may look where the mask lets it", () => {
  assert.deepEqual(askable([grid, { ...grid, kind: "cross" }, { ...grid, kind: "decoder" }]).map(({ side, grids }) => [side, grids.length]), [["source", 1], ["target", 2]]);
  assert.deepEqual([[0, 0], [1, 0], [1, 1]].map(([i, j]) => mayAsk(grid, i, j)), [true, false, true]);
});

test("a head without a number is left out", () => {
  assert.deepEqual([averageOf([0.1, null, 0.3], 2), averageOf([null], 2)], ["0.20", ""]);
  assert.equal(nearest([null, 0.3, 0.2], 0.3, 0), 2);
  const order = { ...grid, numbers: { near: [0.1, null, 0.2] }, orders: { near: [2, 0, 1] } };
  assert.deepEqual(arranged(order, { find: null, order: "near", metrics }).notes, ["0.10", "", "0.20"]);
});

test("a strip names the head whose tick is nearest", () => {
  assert.deepEqual([0, 0.4, 0.8, 1].map((share) => nearest([0.1, 0.3, 0.2], 0.3, share)), [0, 0, 2, 1]);
});
