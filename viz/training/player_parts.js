// What the slider over a training tells of a step, and the line that it moves in the charts below it.

import { element, percent } from "../kit/mount.js";

export const SPEEDS = [["½×", 1200], ["1×", 600], ["2×", 300], ["4×", 150]]; // ms a step
const LINE = "training step"; // the name of the line among a chart's shapes

// Where a key leads from one of `count` recorded steps; null for one that leads nowhere.
export const walkedTo = (key, at, count) => ({ ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(count - 1, at + 1), Home: 0, End: count - 1 })[key] ?? null;

// The maps of every step as they were before they were coded: each is the one before and what it differs by, modulo 256.
export function summed(bytes, steps) {
  const size = bytes.length / steps;
  for (let n = size; n < bytes.length; n++) bytes[n] = bytes[n] + bytes[n - size];
  return bytes;
}

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

// The pieces of a sentence's steps as one: the maps of each kind of attention, and what was written and how surely. Null where a step has
// been recorded between what is told of the steps and their pieces: both are on their way again.
export async function together(pieces, { steps, grids }) {
  if (pieces.reduce((sum, { probabilities }) => sum + probabilities.length, 0) !== steps.length) return null;
  const maps = await Promise.all(grids.map(async (_, n) => {
    const parts = await Promise.all(pieces.map((piece) => inflated(piece.maps[n]))), whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((start, part) => { whole.set(part, start); return start + part.length; }, 0);
    return summed(whole, steps.length);
  }));
  const of = (name) => pieces.flatMap((piece) => piece[name]);
  return { maps, written: of("written"), probabilities: of("probabilities"), losses: of("losses") };
}

// Whether some steps are those that there were, and perhaps more.
export const isGrown = (before, now) => before.length <= now.length && before.every((step, n) => step === now[n]);

// Where a slider at a place is once there are `count` steps, more than there were, and the server says `to`: it goes along where it
// rests at what the server knows of. Who has told of the newest step (`newest`) is answered by the one that is the newest now.
export function grownTo(heard, at, to, count, isBusy) {
  const { lastValue, pending, newest } = heard, last = pending.length - 1;
  const open = newest && to === count - 1 ? [] : pending.slice(pending.indexOf(to) + 1), rests = !isBusy && !open.length && at === (pending[last] ?? lastValue);
  Object.assign(heard, { lastValue: to, pending: open });
  return rests ? to : at;
}

// The nodes that say what the model made of the sentence at a step, beside what counts as right.
export function ofStep({ sentence, task }, { written, probabilities, losses }, at) {
  const found = [], line = (name, text, className) => {
    const row = element("p", `line ${className ?? ""}`);
    row.append(element("span", "name", name), element("span", "text", text));
    found.push(row);
    return row;
  };
  if (sentence.source) line(task.reads, sentence.source);
  if (written.length) {
    const text = written[at];
    line(task.makes, text || "(nothing)", text && text === sentence.target ? "now same" : "now");
  }
  if (sentence.target) line(task.right_is, sentence.target);
  found.push(chips(sentence.tokens, probabilities[at], losses[at], task));
  return found;
}

function chips(tokens, probabilities, loss, task) {
  const box = element("div", "chips"), list = element("div", "list");
  probabilities.forEach((p, n) => {
    const chip = element("span", "chip"), meter = element("i", "meter"), fill = element("i", "fill");
    fill.style.width = `${100 * p}%`;
    meter.append(fill);
    chip.append(element("span", "token", tokens[n]), meter, element("small", "", percent(p)));
    chip.title = `${tokens[n]}: ${percent(p)}`;
    list.append(chip);
  });
  box.append(element("p", "name", task.chips), list, element("p", "loss", loss === null ? "" : `Loss of this sentence: ${loss.toFixed(3)} nats a ${task.each}`));
  return box;
}

// How far along a chart's axis a step lies, from 0 to 1; null where the axis does not reach it. A logarithmic axis has no 0.
export function along(step, { type, range }) {
  const value = type === "log" ? Math.log10(Math.max(step, 10 ** range[0])) : step, share = (value - range[0]) / (range[1] - range[0]);
  return share >= -1e-9 && share <= 1 + 1e-9 ? Math.min(1, Math.max(0, share)) : null;
}

// Moves the line of the step in every chart of the page that has one. The figures stay as they are.
export function stepLine(step) {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const at = plot.layout?.shapes?.findIndex((shape) => shape.name === LINE) ?? -1;
    const path = at < 0 ? null : plot.querySelector(`.shapelayer path[data-index="${at}"], .shapelayer [data-index="${at}"] path`);
    const area = plot.querySelector(".nsewdrag");
    if (!path || !area) continue;
    const share = along(step, plot.layout.xaxis);
    path.style.transform = `translateX(${(share ?? 0) * Number(area.getAttribute("width"))}px)`;
    path.style.opacity = share === null ? 0 : 1;
    plot.dataset.step = share === null ? "" : String(step);
  }
}
