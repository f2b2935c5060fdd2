import assert from "node:assert/strict";
import test from "node:test";

import { columnLabels, rowLabels, fitLabels } from "../../../viz/kit/chart_labels_parts.js";

const LENGTHS = [1.2, 3.4, 2.1, 0.4]; // of labels, at font size 1
const labels = (count) => Array.from({ length: count }, (_, i) => LENGTHS[i % LENGTHS.length]);
const SIZES = [[244, 236], [150, 150], [390, 236], [1012, 178], [1700, 950]];

test("labels stand flat where the longest fits, lean where it does not, and stand upright rather than be left out", () => {
  assert.deepEqual(columnLabels(60, 40, 10), { angle: 0, every: 1 });
  assert.deepEqual(columnLabels(20, 40, 10), { angle: -60, every: 1 });
  assert.deepEqual(columnLabels(11, 40, 10), { angle: -90, every: 1 });
  assert.deepEqual(columnLabels(4, 40, 10), { angle: -60, every: 4 });
});

// The distance of two lines of text beside each other, in sizes of their font.
function apart({ angle, every }, cell, size) {
  return (every * cell * Math.abs(Math.sin((angle * Math.PI) / 180))) / size;
}

for (const count of [1, 4, 14, 17, 40, 128]) for (const [width, height] of SIZES) {
  test(`${count} labels at ${width} x ${height} leave a line to each other and a cell to its map`, () => {
    const axis = { lengths: labels(count), above: true }, margin = { l: 40, r: 24, t: 40, b: 6 };
    const found = fitLabels({ width, height, base: 10.5, maxSize: 21, margin, x: axis, y: axis });
    const { l, r, t, b } = found.margin, cell = (width - l - r) / count, row = (height - t - b) / count;
    assert.ok(found.size >= 8.4 && found.size <= 21);
    assert.ok(cell > 0 && row > 0);
    assert.ok(row * found.y.every >= found.size, "rows");
    if (found.x.angle === 0) assert.ok(Math.max(...axis.lengths) * found.size < (width - l - axis.lengths.length) / count);
    else assert.ok(apart(found.x, (width - l - margin.r) / count, found.size) >= 1, "columns");
    const over = 0.5 * axis.lengths.at(-1) * found.size + 0.68 * found.size - (width - l - margin.r) / count / 2; // with the line's own height
    if (found.x.angle === -60 && over < 0.45 * width) assert.ok(over <= r + 0.5, "the last column's label");
    if (found.size !== 10.5) assert.deepEqual([found.x.every, found.y.every], [1, 1]); // another size is for all of them
  });
}

test("labels grow with the window, as far as all of them are shown", () => {
  const axis = { lengths: labels(14), above: true }, margin = { l: 40, r: 24, t: 40, b: 6 };
  const at = (width, height) => fitLabels({ width, height, base: 10.5, maxSize: 23, margin, x: axis, y: axis });
  assert.ok(at(244, 236).size < 12);
  const narrow = { ...axis, lengths: labels(17) }, few = fitLabels({ width: 244, height: 236, base: 10.5, maxSize: 10.5, margin, x: narrow, y: narrow });
  assert.deepEqual([few.x.every, few.y.every], [1, 1]); // a little smaller rather than every second
  assert.equal(at(1700, 950).size, 23);
});

test("an axis without labels to fit keeps its margin, grown with the font", () => {
  const axis = { lengths: labels(14), above: false }, margin = { l: 28, r: 8, t: 8, b: 62 };
  const found = fitLabels({ width: 1700, height: 900, base: 11, maxSize: 22, margin, x: axis, y: null });
  assert.deepEqual([found.size, found.margin.l, found.y], [22, 56, undefined]);
});

test("rows are read every so many", () => assert.deepEqual([rowLabels(20, 10), rowLabels(5, 10)], [{ angle: 0, every: 1 }, { angle: 0, every: 3 }]));
