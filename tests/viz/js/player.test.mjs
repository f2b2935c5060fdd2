import assert from "node:assert/strict";
import test from "node:test";

import { grownTo, isGrown, summed, unpackSteps, walkedTo, weightOf } from "../../../viz/training/player_parts.js";

test("maps are what they were before they were coded, modulo 256", () => {
  const steps = [[250, 3, 7], [4, 3, 0], [255, 9, 128]];
  const coded = Uint8Array.from(steps.flatMap((step, n) => step.map((value, i) => (n ? value - steps[n - 1][i] : value))));
  assert.deepEqual([...summed(coded, 3)], steps.flat());
});

test("keys lead to recorded steps and not beyond them", () => {
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End", "a"].map((key) => walkedTo(key, 1, 4)), [0, 2, 0, 3, null]);
  assert.deepEqual(["ArrowLeft", "ArrowRight"].map((key) => walkedTo(key, 0, 1)), [0, 0]);
});

test("pieces of the steps are put together as if there had been one", async () => {
  const maps = [[9, 1], [250, 4], [3, 4]], changes = maps.flatMap((step, n) => step.map((value, i) => (n ? value - maps[n - 1][i] : value)));
  const deflated = async (values) => new Uint8Array(await new Response(new Blob([Uint8Array.from(values)]).stream().pipeThrough(new CompressionStream("deflate"))).arrayBuffer());
  const packed = async (values) => btoa(String.fromCharCode(...await deflated(values)));
  const piece = async (first, end) => ({ maps: [await packed(changes.slice(2 * first, 2 * end))], written: ["a", "b", "c"].slice(first, end), probabilities: [[0.5], [0.6], [0.7]].slice(first, end), losses: [] });
  const data = { steps: [0, 1, 5], grids: [{}] };
  for (const ends of [[[0, 3]], [[0, 2], [2, 3]]]) {
    const found = await unpackSteps(await Promise.all(ends.map((each) => piece(...each))), data);
    assert.deepEqual([[...found.maps[0]], found.written], [maps.flat(), ["a", "b", "c"]]);
  }
});

test("a weight of a step is that of a head or the mean over heads", () => {
  const grid = { raw: Uint8Array.from([0, 51, 102, 153, 204, 255, 0, 255]), layers: 1, heads: 2, shape: [1, 2] };
  assert.equal(weightOf(grid, 1, { layer: 1, head: 1 }, 1), 1);
  assert.equal(weightOf(grid, 0, { layer: 1, head: null }, 0).toFixed(3), "0.200");
});

test("a new step of a run that goes on moves who rests at the newest, and nobody else", () => {
  assert.ok(isGrown([0, 1, 2], [0, 1, 2, 4]) && isGrown([0, 1], [0, 1]));
  assert.ok(!isGrown([0, 1, 2], [0, 1]) && !isGrown([0, 1, 2], [0, 2, 3, 4]));
  const grown = (heard, at, to, isBusy = false) => [grownTo(heard, at, to, 4, isBusy), heard.pending];
  assert.deepEqual(grown({ lastValue: 2, pending: [] }, 2, 3), [3, []]);
  assert.deepEqual(grown({ lastValue: 2, pending: [] }, 2, 3, true), [2, []]); // it is held, or plays
  assert.deepEqual(grown({ lastValue: 2, pending: [] }, 1, 3), [1, []]); // the server has not heard of it yet
  assert.deepEqual(grown({ lastValue: 2, pending: [1], newest: false }, 1, 3), [1, [1]]); // nor answered
  assert.deepEqual(grown({ lastValue: 2, pending: [1, 0], newest: false }, 0, 1), [0, [0]]); // it has answered the first
  assert.deepEqual(grown({ lastValue: 2, pending: [0], newest: false }, 0, 0), [0, []]);
});

test("who has told of the newest step while a new one was written goes on with the run", () => {
  const heard = { lastValue: 0, pending: [2], newest: true };
  assert.equal(grownTo(heard, 2, 3, 4, false), 3);
  assert.deepEqual(heard.pending, []);
  assert.equal(grownTo(heard, 3, 4, 5, false), 4);
});
