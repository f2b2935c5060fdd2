import assert from "node:assert/strict";
import test from "node:test";

import { endMask } from "../../../viz/kit/chip_row.js";
import { cell, column, fitting, letters, short as counted, wrapped } from "../../../viz/inside/blueprint_parts.js";
import { exact, reach, rowLetters } from "../../../viz/inside/stages_parts.js";
import { floats, rowsOf } from "../../../viz/kit/packed.js";
import { pieces, ranks, told } from "../../../viz/inside/tokens_parts.js";
import { contrastColour } from "../../../viz/kit/readable.js";

test("numbers of a stage: short ones in cells, exact ones when asked for", () => {
  assert.deepEqual([exact(-0.123456789), exact(3)], ["−0.1234568", "3"]);
  assert.deepEqual([...floats(btoa(String.fromCharCode(...new Uint8Array(Float32Array.from([1.5, -2]).buffer))))], [1.5, -2]);
});

test("what was packed comes back as rows", () => {
  assert.deepEqual(rowsOf(Float32Array.from([1.5, -2, 0, 4, 5, 6]), [2, 3]), [[1.5, -2, 0], [4, 5, 6]]);
  assert.deepEqual(rowsOf("011100", [3, 2]), [[0, 1], [1, 1], [0, 0]]);
});

test("all bars of a table have one scale, and tables that stand together one place for their rows' names", () => {
  assert.deepEqual(reach([3, 12, -1, -4], "scores"), [-4, 12]);
  assert.deepEqual(reach([3, 12], "scores"), [0, 12]);
  assert.deepEqual(reach([0.2, 0.8], "weights"), [0, 1]);
  assert.equal(rowLetters([{ rows: ["<s>", "parce"] }, { rows: ["the"], footName: "together" }]), 8);
  assert.equal(rowLetters([{ rows: ["x".repeat(40)] }]), 17);
});

test("parameters are counted in round numbers", () => {
  assert.deepEqual([0, 512, 9999, 12345, 2500000].map(counted), ["", "512", "9,999", "12 k", "2.50 M"]);
  assert.equal(letters(["x", "T,D", "5, 256"]), "[T,D] = [5, 256]");
});

test("what fits beside the step stands on both sides of it", () => {
  assert.deepEqual(fitting([10, 10, 10, 10, 10], 2, 30), [1, 4]);
  assert.deepEqual(fitting([10, 10, 10, 10, 10], 0, 30), [0, 3]);
  assert.deepEqual(fitting([10, 10, 10, 10, 10], 4, 25), [3, 5]);
  assert.deepEqual(fitting([10, 90], 0, 30), [0, 1]);
});

test("tokens go on in the next row, and the last row says how many are left", () => {
  const wide = cell("abc"), labels = Array.from({ length: 7 }, () => "abc");
  assert.deepEqual(wrapped(labels.slice(0, 2), 300, 2), [["abc", 0, 0, wide], ["abc", wide + 3, 0, wide]]);
  const made = wrapped(labels, 3 * (wide + 3), 2);
  assert.deepEqual(made.map(([, , row]) => row), [0, 0, 0, 1, 1]);
  assert.equal(made.at(-1)[0], "+3");
});

test("blocks stand one above the other, and layers that are not open behind plates", () => {
  const block = (kind, more) => ({ kind, column: "encoder", layer: null, sublayer: 0, ...more });
  const blocks = [block("embedding"), block("norm", { layer: 2, sublayer: 1 }), block("attention", { layer: 2, sublayer: 1 }), block("add", { layer: 2, sublayer: 1 })];
  const made = column({ blocks, open: { encoder: 2 }, layers: { encoder: [5, 5, 5] } }, "encoder", { cx: 100, w: 80, u: 1, floor: 0, side: 50 });
  const tops = made.placed.map(({ y }) => y);
  assert.deepEqual(tops, [...tops].sort((a, b) => b - a));
  assert.deepEqual(made.placed.filter((each) => each.plate).map(({ plate }) => [plate.from, plate.to, plate.parameters]), [[1, 1, 5], [3, 3, 5]]);
  assert.equal(made.arcs.length, 1);
  assert.equal(made.frame.text, "Layer 2 of 3");
});

test("text over a colour can be read", () => {
  const style = { "--lab-ink": "#171c20", "--lab-page": "#fdfdfc" };
  assert.deepEqual([contrastColour("#fdfdfc", style), contrastColour("#0072b2", style)], ["var(--lab-ink)", "var(--lab-page)"]);
});

test("a word's pieces after each merge, and what is said of them", () => {
  const table = { labels: { 1: "·", 2: "a", 3: "⟨C3⟩", 4: "·a", 5: "·aa" }, ranks: { "1,2": 2, "4,2": 1204, "2,2": 1 }, merges: 7741 };
  const word = { start: [1, 2, 2, 3], merges: [[0, 4], [0, 5]] };
  assert.deepEqual([0, 1, 2].map((done) => pieces(word, done)), [[1, 2, 2, 3], [4, 2, 3], [5, 3]]);
  assert.deepEqual(ranks(pieces(word, 0), table), [2, 1, null]);
  assert.equal(told(word, 0, table), "The word starts as 4 bytes. Next: “·” and “a”, by merge 2 of 7,741, learned after 1 other.");
  assert.equal(told(word, 1, table), "Joined: “·a”. Next: “·a” and “a”, by merge 1,204 of 7,741, learned after 1,203 others.");
  assert.equal(told(word, 2, table), "Joined: “·aa”. No two neighbours are in the list any more: the word stays in 2 tokens. Each ⟨ ⟩ holds one byte of a character that was too rare in the training text to get a token of its own.");
  const first = { start: [2, 2], merges: [[0, 1]] };
  assert.match(told(first, 0, table), /by merge 1 of 7,741, the very first that was learned\.$/);
  assert.match(told(first, 1, table), /The whole word is one token\.$/);
  assert.equal(told({ start: [2], merges: [] }, 0, table), "The word starts as 1 byte. That byte is its token: there is nothing to join.");
  assert.equal(told({ start: [2, 1], merges: [] }, 0, table), "The word starts as 2 bytes. No two neighbours are in the list: the word stays in 2 tokens.");
});

test("a row of chips fades at the ends where it goes on", () => {
  assert.equal(endMask("x", false, false), "none");
  assert.match(endMask("x", true, false), /to right, transparent, #000 28px, #000 100%/);
  assert.match(endMask("y", false, true), /to bottom, #000 0, #000 calc\(100% - 28px\), transparent/);
});
