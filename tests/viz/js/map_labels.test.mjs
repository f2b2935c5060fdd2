// How the labels of a map on a canvas fit.

import assert from "node:assert/strict";
import test from "node:test";

import { mapLayout, visibleLabels } from "../../../viz/kit/map_labels.js";

const lengths = (count) => Array.from({ length: count }, (_, n) => 10 + ((n * 37) % 50));

test("labels never meet, and the last column's stands within the map", () => {
  for (const count of [1, 2, 7, 14, 40, 128]) {
    const columns = lengths(count), rows = lengths(count), font = 11;
    const found = mapLayout({ width: 328, minSize: 5, maxSize: 20, font, rows, columns });
    assert.ok(found.size >= 5 && found.size <= 20);
    assert.ok(found.rowInterval * found.size >= font, `${count} rows`);
    const apart = found.angle === 0 ? found.columnInterval * found.size : found.columnInterval * found.size * Math.sin((-found.angle * Math.PI) / 180);
    assert.ok(apart >= (found.angle === 0 ? Math.max(...columns) : font), `${count} columns`);
    const end = found.left + (count - 0.5) * found.size + Math.cos((found.angle * Math.PI) / 180) * columns.at(-1);
    if (found.angle !== 0) assert.ok(end <= found.left + count * found.size + found.right, `${count}: the last`);
    if (count <= 14) assert.ok(found.left + count * found.size + found.right <= 328 && found.rowInterval === 1);
    assert.ok(found.left >= Math.max(...rows) || found.left === 116);
  }
});

test("what matters is shown first, and nothing too near to it", () => {
  assert.deepEqual(visibleLabels(7, 1), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(visibleLabels(7, 2), [0, 2, 4, 6]);
  assert.deepEqual(visibleLabels(7, 3, [4, 5]), [0, 4]);
  assert.deepEqual(visibleLabels(7, 2, [1]), [1, 4, 6]);
});
