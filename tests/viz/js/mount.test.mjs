import assert from "node:assert/strict";
import test from "node:test";

import { ARROWS, truncate, isKeyFree, isNewValue, withMinusSign, nth, onKeys, headName, probability, signed, stepForKey, threeDigits, withDots } from "../../../viz/kit/mount.js";

test("a probability that is nearly none or nearly all says so", () => {
  assert.deepEqual([0, 0.004, 0.01, 0.5, 0.99, 0.9901, 1].map(probability), ["0.00", "<0.01", "0.01", "0.50", "0.99", ">0.99", "1.00"]);
});

test("a byte that is no character is a dot", () => {
  assert.deepEqual(["", "abc", "a\uFFFDb\uFFFD\uFFFD", "é·\u0001", "a\n b"].map(withDots), ["", "abc", "a·b··", "é··", "a\n b"]);
});

test("a difference has three digits and a sign, a head one name", () => {
  assert.deepEqual([0.698, -15.92, 1, 9.996, 0.0123, -0.0004, 0].map(signed), ["+0.698", "−15.9", "+1.00", "+10.0", "+0.012", "0.00", "0"]);
  assert.deepEqual([threeDigits(1234.5), threeDigits(NaN), withMinusSign("-1e-5")], ["1,235", "–", "−1e−5"]);
  assert.deepEqual([headName("cross", 3, 5), headName("encoder", 2, null)], ["cross 3.5", "encoder 2, mean over heads"]);
});

test("a long text is cut, and a short one is not", () => assert.deepEqual([truncate("abcdef", 4), truncate("abcd", 4)], ["abc…", "abcd"]));

test("a text that stands there more than once says which it is", () => {
  const many = Array.from({ length: 23 }, () => "a");
  assert.equal(nth(["b", ...many], 0), "b");
  assert.deepEqual([0, 1, 2, 3, 10, 11, 20, 21, 22].map((at) => nth(many, at)), ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "22nd", "23rd"].map((n) => `a (${n})`));
});

test("keys lead from step to step", () => {
  assert.deepEqual(["ArrowLeft", "ArrowRight", "Home", "End", "ArrowUp", "a"].map((key) => stepForKey(key, 4, 9)), [3, 5, 1, 9, null, null]);
  assert.equal(stepForKey("ArrowLeft", 1, 9), 0);
});

const event = (more = {}) => {
  const told = { key: "ArrowDown", stopped: 0, preventDefault: () => { told.stopped += 1; }, stopPropagation: () => { told.stopped += 1; }, ...more };
  return told;
};

test("a key that is handled is nobody else's, and one that is not goes on", () => {
  const node = {}, heard = [];
  onKeys(node, (key, arrow) => { heard.push([key, arrow]); return Boolean(arrow); });
  const [arrow, letter, held] = [event(), event({ key: "a" }), event({ ctrlKey: true })];
  [arrow, letter, held].forEach((each) => node.onkeydown(each));
  assert.deepEqual(heard, [["ArrowDown", ARROWS.ArrowDown], ["a", undefined]]);
  assert.deepEqual([arrow.stopped, letter.stopped, held.stopped], [2, 0, 0]);
});

test("keys are left to who types", () => {
  const at = (tagName, more = {}) => ({ tagName, ...more });
  assert.equal(isKeyFree(event(), at("DIV")), true);
  assert.equal(isKeyFree(event(), at("INPUT", { type: "range" })), true);
  assert.equal(isKeyFree(event(), at("INPUT", { type: "text" })), false);
  assert.equal(isKeyFree(event(), at("TEXTAREA", { type: "textarea" })), false);
  assert.equal(isKeyFree(event(), at("DIV", { isContentEditable: true })), false);
  for (const key of ["altKey", "ctrlKey", "metaKey", "shiftKey", "defaultPrevented"]) assert.equal(isKeyFree(event({ [key]: true }), at("DIV")), false);
});

test("an answer that comes late is no news, and a step that nobody told is", () => {
  const memory = { lastValue: 2, pending: [3, 4, 5] };
  assert.deepEqual([2, 3, 3, 5, 5].map((said) => isNewValue(memory, said)), [false, false, false, false, false]);
  assert.deepEqual(memory, { lastValue: 5, pending: [] });
  memory.pending.push(6, 7);
  assert.deepEqual([6, 1, 7].map((said) => isNewValue(memory, said)), [false, true, true]);
});
