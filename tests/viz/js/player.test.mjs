import assert from "node:assert/strict";
import test from "node:test";

import { along, summed, walkedTo } from "../../../viz/training/player_parts.js";

test("maps are what they were before they were coded, modulo 256", () => {
  const steps = [[250, 3, 7], [4, 3, 0], [255, 9, 128]];
  const coded = Uint8Array.from(steps.flatMap((step, n) => step.map((value, i) => (n ? value - steps[n - 1][i] : value))));
  assert.deepEqual([...summed(coded, 3)], steps.flat());
});

test("keys lead to recorded steps and not beyond them", () => {
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End", "a"].map((key) => walkedTo(key, 1, 4)), [0, 2, 0, 3, null]);
  assert.deepEqual(["ArrowLeft", "ArrowRight"].map((key) => walkedTo(key, 0, 1)), [0, 0]);
});

test("a step lies along an axis as its scale has it", () => {
  assert.equal(along(50, { type: "linear", range: [0, 200] }), 0.25);
  assert.equal(along(100, { type: "log", range: [0, 4] }), 0.5);
  assert.equal(along(0, { type: "log", range: [-0.15, 4] }), 0);
  assert.equal(along(300, { type: "linear", range: [0, 200] }), null);
});
