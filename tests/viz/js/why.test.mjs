import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbourStep } from "../../../viz/kit/page_keys.js";
import { cascade } from "../../../viz/why/sum_large.js";

test("each bar of a sum begins where the one before it ended, and the last end is the sum", () => {
  const values = [0.6, -0.9, 0.5, -0.4], { bars, ends, zero, total } = cascade(values), room = 0.6 + 0.3;
  values.forEach((value, n) => {
    assert.ok(Math.abs(bars[n][1] - bars[n][0] - Math.abs(value) / room) < 1e-9);
    const begun = n ? ends[n - 1] : zero;
    assert.ok(Math.abs((value > 0 ? bars[n][0] : bars[n][1]) - begun) < 1e-9);
  });
  assert.ok(Math.abs(ends.at(-1) - (zero - 0.2 / room)) < 1e-9);
  assert.deepEqual(total, [ends.at(-1), zero]);
  assert.ok([...bars.flat(), zero].every((share) => share >= -1e-9 && share <= 1 + 1e-9));
  assert.deepEqual(cascade([0]).bars, [[0, 0]]);
});

test("the arrow keys go from blank to blank where there are any, else from step to step", () => {
  assert.deepEqual([neighbourStep(3, 1, 9), neighbourStep(9, 1, 9), neighbourStep(1, -1, 9)], [4, 9, 1]);
  assert.deepEqual([neighbourStep(4, 1, 12, [4, 11]), neighbourStep(11, 1, 12, [4, 11]), neighbourStep(11, -1, 12, [4, 11]), neighbourStep(4, -1, 12, [4, 11])], [11, 11, 4, 4]);
});
