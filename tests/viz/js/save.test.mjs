// What a saved picture is called, its colours in the other theme, and what a pen remembers.

import assert from "node:assert/strict";
import test from "node:test";

import { hex, parseColour, recolourer } from "../../../viz/save/colours.js";
import { fileName, slug } from "../../../viz/save/files.js";
import { pen } from "../../../viz/kit/pen.js";
import { captionLines } from "../../../viz/save/save.js";

test("a file's name is plain, bounded, and says what it is", () => {
  assert.equal(fileName(["en-fr", "Cross-attention map", "l3", "h2", "step11", "The animal didn't cross"], "svg"), "attention-en-fr-cross-attention-map-l3-h2-step11-the-animal-didnt-cross.svg");
  assert.equal(slug("Où est “l’été”? ../../etc/passwd"), "ou-est-lete-etc-passwd");
  for (const text of ["x".repeat(500), "word ".repeat(99), "日本語", "../..", ""]) assert.match(fileName(["en-fr", text], "png"), /^attention-en-fr[a-z0-9-]{0,66}\.png$/);
});

const theme = (page, ink, hue, tip) => {
  const mix = (a, b, n) => hex(parseColour(a).map((part, k) => part + ((parseColour(b)[k] - part) * n) / 16));
  const rising = Array.from({ length: 17 }, (_, n) => mix(page, tip, n)), falling = Array.from({ length: 17 }, (_, n) => mix("#cc79a7", page, n));
  return { palette: [page, "#ffffff", ink, hue], scales: [rising, [...falling, ...Array.from({ length: 17 }, (_, n) => mix(page, hue, n)).slice(1)]] };
};
const light = theme("#fdfdfc", "#171c20", "#0072b2", "#0072b2"), dark = theme("#14181b", "#eceff0", "#0072b2", "#8fd0f7");
light.palette.push("#eceeee");
dark.palette.push("#22282c");

test("a colour of one theme becomes that of the same weight in the other", () => {
  const change = recolourer(light, dark), as = (css, data) => hex(change(parseColour(css), data));
  assert.equal(as("#fdfdfc"), "#14181b");
  assert.equal(as("#171c20"), "#eceff0");
  assert.equal(as("#0072b2"), "#0072b2"); // the hue by which a thing is known
  light.scales[0].forEach((css, n) => assert.equal(as(css, true), dark.scales[0][n]));
  light.scales[1].forEach((css, n) => assert.equal(as(css, "signed"), dark.scales[1][n]));
  assert.equal(as("#eceeee", true), "#22282c"); // of what cannot be compared
  assert.equal(change([23, 28, 32, 0.5])[3], 0.5);
});

test("differences are known by their half below zero", () => {
  const { isLoss } = recolourer(light, dark);
  assert.ok(isLoss(parseColour(light.scales[1][4])));
  for (const css of [...light.scales[0], "#fdfdfc", "#171c20"]) assert.ok(!isLoss(parseColour(css)));
});

test("a pen draws, and remembers what it drew last", () => {
  const done = [], canvas = { getContext: () => ({ fillStyle: "", fillRect: (...args) => done.push(args), fillText: (...args) => done.push(args) }) };
  const x = pen(canvas);
  x.fillStyle = "#000";
  x.fillRect(1, 2, 3, 4);
  x.recordAs("labels", ["whole"], () => x.fillText("who…", 0, 0));
  assert.deepEqual(done, [[1, 2, 3, 4], ["who…", 0, 0]]);
  assert.deepEqual(canvas.labDrawCalls, [{ name: "fillStyle", value: "#000" }, { name: "fillRect", args: [1, 2, 3, 4] }, { name: "labels", args: ["whole"] }]);
  pen(canvas);
  assert.deepEqual(canvas.labDrawCalls, []);
});

test("a caption names the heads that the picture states, or those of a page with one kind", () => {
  const facts = { checkpoint: "en-fr", heads: "encoder 3.2, cross 3.2", step: "step 2 of 3" }, line = (hasSeveral, stated) => captionLines({ title: "“A”", facts, hasSeveral }, stated)[1];
  assert.equal(line(true, ["cross 3.2", "cross 3.2"]), "en-fr · cross 3.2 · step 2 of 3");
  assert.equal(line(true, []), "en-fr · step 2 of 3");
  assert.equal(line(false, []), "en-fr · encoder 3.2, cross 3.2 · step 2 of 3");
});
