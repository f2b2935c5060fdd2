// How the labels of a map on a canvas fit.

import assert from "node:assert/strict";
import test from "node:test";

import { mapLayout, shortenToWidth, visibleLabels } from "../../../viz/kit/map_labels.js";

const lengths = (count) => Array.from({ length: count }, (_, n) => 10 + ((n * 37) % 50));

test("labels never meet, and none is clipped", () => {
  for (const count of [1, 2, 7, 14, 40, 128]) for (const room of [{ width: 328 }, { width: 328, height: 240 }, { width: 600, height: 240, maxHigh: 30 }]) for (const font of [11, 20]) {
    const columns = lengths(count), rows = lengths(count), layout = mapLayout({ ...room, minSize: 5, maxSize: 20, font, rows, columns });
    assert.ok(layout.size >= 5 && layout.size <= 20);
    assert.ok(layout.rowInterval * layout.high >= font, `${count} rows`);
    const lean = (-layout.angle * Math.PI) / 180, apart = layout.columnInterval * layout.size * (layout.angle === 0 ? 1 : Math.sin(lean));
    assert.ok(apart >= (layout.angle === 0 ? Math.max(...columns) : font), `${count} columns`);
    columns.forEach((width, j) => { // the corners of the rotated label, half a line (0.5 em) to each side of its axis
      const length = Math.min(width, layout.room), x = layout.left + (j + 0.5) * layout.size, y = layout.top - 5;
      if (layout.angle === 0) return;
      assert.ok(x + Math.cos(lean) * length + Math.sin(lean) * 0.5 * font <= layout.width, `${count}: right of label ${j}`);
      assert.ok(y - Math.sin(lean) * length - Math.cos(lean) * 0.5 * font >= 0, `${count}: top of label ${j}`);
    });
    if (count <= 7) assert.ok(layout.width <= room.width && layout.height <= (room.height ?? Infinity), `${count} cells fit`);
    assert.ok(layout.left >= Math.max(...rows) || layout.left === Math.ceil(116 * Math.max(1, font / 12)));
  }
});

test("a long label is shortened, and keeps the token that it predicts", () => {
  const x = { measureText: (text) => ({ width: 10 * text.length }) };
  assert.equal(shortenToWidth(x, "street", 60), "street");
  assert.equal(shortenToWidth(x, "internationalisation", 60), "inter…");
  assert.equal(shortenToWidth(x, "inter → national", 80), "…ational");
});

test("what matters is shown first, and nothing too near to it", () => {
  assert.deepEqual(visibleLabels(7, 1), [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(visibleLabels(7, 2), [0, 2, 4, 6]);
  assert.deepEqual(visibleLabels(7, 3, [4, 5]), [0, 4]);
  assert.deepEqual(visibleLabels(7, 2, [1]), [1, 4, 6]);
});
