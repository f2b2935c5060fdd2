import assert from "node:assert/strict";
import test from "node:test";

import { grouped, held, labelled, numbers, row, sized, weighed } from "../../../viz/translate/key_values_parts.js";

const DATA = { layers: 2, heads: 4, each: 512, source: 300, window: null, cached: [10, 11, 12], whole: [10, 22, 36] };

test("a row is what is kept, what is new and what is to come, without a gap", () => {
  assert.deepEqual(row(1, 3, true, null), [["fresh", 0, 1], ["todo", 1, 3]]);
  assert.deepEqual(row(3, 5, true, null), [["kept", 0, 2], ["fresh", 2, 3], ["todo", 3, 5]]);
  assert.deepEqual(row(3, 3, false, null), [["fresh", 0, 3]]);
  assert.deepEqual(row(5, 6, true, 2), [["unread", 0, 3], ["kept", 3, 4], ["fresh", 4, 5], ["todo", 5, 6]]);
});

test("the table counts a key and a value of every head and layer", () => {
  const [, through, computed, read, now, all] = numbers(DATA, 3);
  assert.deepEqual(through.slice(1), ["1", "3", "3.0 ×"]);
  assert.deepEqual(computed.slice(1), ["16", "48", "3.0 ×"]);
  assert.deepEqual(read.slice(1), ["32", "0", ""]);
  assert.deepEqual(now.slice(1), ["12", "36", "3.0 ×"]);
  assert.deepEqual(all.slice(1), ["33", "68", "2.1 ×"]);
  assert.equal(numbers({ ...DATA, window: 2 }, 3)[3][1], "16");
  assert.deepEqual(numbers({ ...DATA, begun: 1 }, 3)[5].slice(1), ["34", "58", "1.7 ×"]); // the text costs the same in both: one pass
  assert.deepEqual(numbers({ ...DATA, begun: 1 }, 2)[5].slice(1), ["22", "22", "1.0 ×"]);
  assert.equal(numbers({ ...DATA, begun: 1 }, 1).length, 5); // of the text alone nothing is saved
});

test("bytes grow by the same with every step, and are said as they are", () => {
  assert.deepEqual([held(DATA, 1), held(DATA, 3)], [812, 1836]);
  assert.deepEqual([weighed(812), weighed(1836), weighed(999960), weighed(3e6)], ["812 bytes", "1.8 kB", "1.00 MB", "3.00 MB"]);
  assert.deepEqual([grouped(7), grouped(1234567)], ["7", "1,234,567"]);
});

test("a large picture fills its place, and shows each layer however many there are", () => {
  assert.deepEqual(sized(6), sized(6, null));
  for (const layers of [1, 4, 6, 12]) {
    const { width, height, gap } = sized(layers, [860, 400]);
    assert.ok(height >= 5 && layers * (height + gap) <= 400 - 240 && 2 * (width + 20) <= 860);
    assert.ok(labelled(0, layers, height) && labelled(layers - 1, layers, height));
  }
  assert.equal(labelled(1, 12, 5), false); // numbers would lie over each other
});
