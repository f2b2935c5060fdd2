// Heads and What if in lecture mode: what fits into the place that there is, and what is said of a head.

import assert from "node:assert/strict";
import test from "node:test";

import { standings } from "../../../viz/heads/all_heads_large.js";
import { sizedWithin } from "../../../viz/kit/thumbnails.js";
import { rowsWithin } from "../../../viz/what_if/change_list.js";
import { mapLayout, mapPoints } from "../../../viz/kit/map_labels.js";

test("all thumbnails that are kept stand within their place, however many heads there are", () => {
  for (const place of [{ width: 856, height: 380 }, { width: 272, height: 350 }]) for (const heads of [1, 4, 8, 12]) for (const layers of [1, 4, 12]) for (const how of [{ named: false }, { named: true }, { named: true, notes: ["0.10"] }]) {
    const count = heads * layers, { left, top, columns, tile, size, pitch, kept } = sizedWithin(place, heads, count, how);
    assert.ok(kept >= 1 && kept <= count && (how.named || kept === count), `${heads} heads, ${layers} layers keep ${kept}`);
    assert.ok(left + columns * tile <= place.width + 0.01 && size <= tile, `${heads} heads, ${layers} layers: as wide as ${left + columns * tile}`);
    assert.ok(top + Math.ceil(kept / columns) * pitch <= place.height + 0.01, `${heads} heads, ${layers} layers, ${how.named}: as high as ${top + Math.ceil(kept / columns) * pitch}`);
    if (how.named) assert.ok(tile >= 62, "a name has room");
  }
});

test("a map fits into a width and a height, and its labels keep their size", () => {
  for (const count of [1, 5, 14, 33, 100]) for (const [width, height] of [[556, 412], [300, 200]]) {
    const lengths = Array.from({ length: count }, (_, n) => 12 + ((n * 31) % 60)), found = mapLayout({ width, height, minSize: 1, maxSize: 60, font: 14, rows: lengths, columns: lengths });
    if (count < 100) assert.ok(found.left + count * found.size + found.right <= width && found.top + count * found.size <= height, `${count} in ${width} by ${height}`);
    assert.ok(found.rowInterval * found.size >= 14, "no label meets the next");
  }
});

test("a name leads back to the cell, the row or the column that was pointed at, in any size", () => {
  globalThis.DOMRect = class { constructor(left, top, width, height) { Object.assign(this, { left, top, width, height }); } };
  for (const scale of [0.5, 1, 1.45, 2.9]) {
    const canvas = { isConnected: true, getBoundingClientRect: () => ({ left: 30, top: 40, width: 200 * scale, height: 150 * scale }) };
    const points = mapPoints(canvas, { left: 60, top: 30, size: 20, high: 18, width: 200 }, 6, 7);
    for (const name of ["cell 1 1", "cell 6 7", "cell 3 5", "row 4", "column 7"]) {
      const { left, top, width, height } = points.rect(name);
      assert.equal(points.at(left + width / 2, top + height / 2), name);
    }
    assert.deepEqual(["cell 7 1", "cell 0 1", "cell x 1", "row 9", "head encoder 1 1", "cell"].map(points.rect), Array(6).fill(null));
    assert.equal(points.at(29, 41), null);
  }
});

test("the rows of a list have their type's height, side by side where they are many", () => {
  for (const count of [1, 7, 16, 21, 28, 60, 128]) {
    const { columns, pitch, font } = rowsWithin(400, count);
    assert.ok(font >= 14 && pitch >= font * 1.2 && columns <= 2, `${count}`);
    if (count <= 42) assert.ok(pitch * Math.ceil(count / columns) <= 400, `${count} rows are all seen`);
  }
});

test("a head is told by the numbers in which it stands out, from the end that is nearer", () => {
  const metrics = [{ name: "near", order: "least", digits: 2 }, { name: "far", order: "most", digits: 2 }, { name: "all", order: null }, { name: "none", order: "most" }];
  const grid = { numbers: { near: [0.1, 0.9, 0.5, 0.3], far: [0.2, 0.3, 0.4, 0.1], all: [1, 2, 3, 4] } }, told = (index) => standings(grid, metrics, index).map(({ metric, end, place }) => [metric.name, end, place]);
  assert.deepEqual(told(0), [["near", "least", 1], ["far", "least", 2]]);
  assert.deepEqual(told(1), [["near", "most", 1], ["far", "most", 2]]);
  assert.deepEqual(told(2), [["far", "most", 1], ["near", "most", 2]]);
});

test("heads whose numbers read alike are told together", () => {
  const metrics = [{ name: "near", order: "most", digits: 2 }], grid = { numbers: { near: [0.004, 0.001, 0.9, 0.003] } };
  assert.deepEqual(standings(grid, metrics, 0).map(({ value, end, place, alike }) => [value, end, place, alike]), [[0, "least", 1, 2]]);
  assert.equal(standings(grid, metrics, 2)[0].alike, 0);
});
