// The keys of a lecture: what they mean on the keyboards of several countries, and that the list tells what there is.

import assert from "node:assert/strict";
import test from "node:test";

import { chosenPlace, FIXED, modifiersOf, listed, meaning, MODIFIERS } from "../../../viz/classroom/keys.js";

const pressed = (key, code, own = []) => meaning({ key, code }, own);

test("what a key types is asked before where it stands", () => {
  assert.deepEqual(pressed("/", "Digit7"), ["typing"]); // German, with Shift
  assert.deepEqual(pressed("-", "Digit6", ["-"]), ["own", "-"]); // French
  assert.deepEqual(pressed("f", "KeyF", ["f"]), ["own", "f"]);
  assert.equal(pressed("toString", ""), null);
});

test("digits choose a layer, and the same keys in their other state a head, with and without Shift for digits", () => {
  assert.deepEqual([pressed("3", "Digit3"), pressed("#", "Digit3"), pressed("3", "Numpad3")], [["layer", 3], ["head", 3], ["layer", 3]]);
  assert.deepEqual([pressed('"', "Digit3"), pressed("à", "Digit0"), pressed(")", "Digit0")], [["head", 3], ["head", 0], ["head", 0]]);
});

test("every head and the mean are reached by 0 alone", () => {
  const at = { layers: 4, heads: 3, layer: 2, head: null }, seen = [];
  for (let n = 0; n < 4; n++) { Object.assign(at, chosenPlace(pressed("0", "Digit0"), at)); seen.push(at.head); }
  assert.deepEqual([seen, at.layer], [[1, 2, 3, 0], 2]);
});

test("a layer or a head that there is not is told", () => {
  const at = { layers: 4, heads: 1, layer: 2, head: null };
  assert.deepEqual([chosenPlace(["layer", 5], at), chosenPlace(["head", 2], at)], ["There are layers 1 to 4.", "There is one head."]);
  assert.deepEqual([chosenPlace(["layer", 3], at), chosenPlace(["head", 0], at)], [{ layer: 3, head: null }, { layer: 2, head: 0 }]);
});

test("a sign that is typed with AltGr counts, and a shortcut of the browser does not", () => {
  const altGraph = (key) => modifiersOf({ key, altKey: true, ctrlKey: true, metaKey: false, getModifierState: (name) => name === "AltGraph" });
  assert.deepEqual(altGraph("["), { altKey: false, ctrlKey: false, metaKey: false });
  assert.ok(altGraph("ArrowLeft").ctrlKey && modifiersOf({ key: "[", altKey: true, ctrlKey: true, getModifierState: () => false }).ctrlKey);
  assert.ok(MODIFIERS.includes("AltGraph"));
});

test("the list tells what the page has, each key once, and its own keys in place of all pages'", () => {
  const nothing = { keys: [], steps: 0, layers: 0, heads: 0, talk: false }, names = (data) => listed({ ...nothing, ...data }).map(([keys]) => keys);
  assert.ok(!names({}).some((keys) => /→|\d|space|Home|Page/.test(keys)));
  assert.deepEqual(names({ steps: 9, layers: 12, heads: 8 }).slice(0, 8), ["→ ←", "space", "Home, End", "Page down, page up", "1 … 9", "Shift 1 … 8", "0", "Shift 0"]);
  assert.deepEqual(names({ keys: [["ArrowRight", "the next picture"], ["ArrowLeft", "the one before"], ["M", "mask"]] }).slice(0, 4), ["→", "←", "Shift M", "Page down, page up"]);
  const played = names({ steps: 9, keys: [["space", "play"], ["v", "view"]] });
  assert.ok(played.filter((keys) => keys.includes("space")).length === 1 && played.includes("→ ←"));
  assert.ok(!names({ steps: 9, keys: [["→ ←, space, Home, End", "the token that asks"]] }).slice(1).some((keys) => /→|space|Home/.test(keys)));
  for (const data of [{}, { steps: 9, talk: true, layers: 4, heads: 8 }]) assert.equal(new Set(names(data)).size, names(data).length);
  for (const key of Object.keys(FIXED)) assert.ok(names({}).some((keys) => keys.split(" ").includes(key)), key);
});
