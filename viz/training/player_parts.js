// Parts of the player of a training: its controls, the text of a step, its maps and the thumbnails of all heads.

import { heatmap, tintOf } from "../kit/heatmap.js";
import { boxOf, button, element, zoomOf, headName, probabilityElement, threeDigits, withDots } from "../kit/mount.js";
import { LEVELS } from "../kit/patterns.js";
import { excludeFromPicture } from "../kit/pen.js";
import { thumbnailGrid } from "../kit/thumbnails.js";

export const SPEEDS = [["½×", 1200], ["1×", 600], ["2×", 300], ["4×", 150]]; // ms a step
const PAGE_HEIGHT = 330; // px of a map
const BELOW_MAP = 60, BELOW_GRID = 66; // px from the top of a part in lecture mode to the end of its title and of the page

// Returns the place that a key leads to from one of `count` recorded steps; null for another key.
export const walkedTo = (key, at, count) => ({ ArrowLeft: Math.max(0, at - 1), ArrowRight: Math.min(count - 1, at + 1), Home: 0, End: count - 1 })[key] ?? null;

// Returns the maps of every step. Each is coded as its difference from the one before, modulo 256.
export function summed(bytes, steps) {
  const size = bytes.length / steps;
  for (let n = size; n < bytes.length; n++) bytes[n] = bytes[n] + bytes[n - size];
  return bytes;
}

async function inflated(text) {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer());
}

// Returns the pieces of a sentence's steps as one: the maps of each kind of attention, the texts, the probabilities and the losses.
export async function unpackSteps(pieces, { steps, grids }) {
  const maps = await Promise.all(grids.map(async (_, n) => {
    const parts = await Promise.all(pieces.map((piece) => inflated(piece.maps[n]))), all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    parts.reduce((start, part) => { all.set(part, start); return start + part.length; }, 0);
    return summed(all, steps.length);
  }));
  const of = (name) => pieces.flatMap((piece) => piece[name]);
  return { maps, written: of("written"), probabilities: of("probabilities"), losses: of("losses") };
}

// Returns whether the steps are the former ones and perhaps more.
export const isGrown = (before, now) => before.length <= now.length && before.every((step, n) => step === now[n]);

// Returns the place of the player once there are `count` steps, more than before, and the server says `to`. A player that rests at the
// server's place follows it. One that has reported the newest step (`newest`) goes to the one that is the newest now.
export function grownTo(heard, at, to, count, isBusy) {
  const { lastValue, pending, newest } = heard, last = pending.length - 1;
  const open = newest && to === count - 1 ? [] : pending.slice(pending.indexOf(to) + 1), rests = !isBusy && !open.length && at === (pending[last] ?? lastValue);
  Object.assign(heard, { lastValue: to, pending: open });
  return rests ? to : at;
}

// Returns the nodes of a step: the model's output next to the reference, and the probabilities.
export function describeStep({ sentence, task, large, isFile }, { written, probabilities, losses }, at) {
  const nodes = [], line = (name, text, className) => {
    const row = element("p", `line ${className ?? ""}`);
    row.append(element("span", "name", name), element("span", "text", text));
    nodes.push(row);
    return row;
  };
  if (sentence.source && (large || isFile)) line(task.reads, sentence.source);
  if (written.length) {
    const text = written[at];
    line(task.makes, withDots(text) || "(nothing)", text && text === sentence.target ? "now same" : "now");
  }
  if (sentence.target) line(task.right_is, sentence.target);
  nodes.push(chips(sentence.tokens, probabilities[at], losses[at], task));
  return nodes;
}

function chips(tokens, probabilities, loss, task) {
  const box = element("div", "chips"), list = element("div", "list");
  probabilities.forEach((p, n) => {
    const chip = element("span", "chip"), meter = element("i", "meter"), fill = element("i", "fill");
    fill.style.width = `${100 * p}%`;
    meter.append(fill);
    chip.append(element("span", "token", tokens[n]), meter, probabilityElement("small", "", p));
    chip.title = `${tokens[n]}: ${p}`;
    list.append(chip);
  });
  box.append(element("p", "name", task.chips), list, element("p", "loss", loss === null ? "" : `Loss ${threeDigits(loss)} nats a ${task.each}`));
  return box;
}

// Returns the controls, which are made once, so that a new run of the page does not end a drag. `by` moves some steps, `to` goes to a place.
export function playerBar({ toggle, faster, by, to }) {
  const node = excludeFromPicture(element("div", "bar"), true), range = element("input", "range"), where = element("p", "where");
  const play = button("btn play", "", toggle), pace = button("btn pace", "", faster);
  let isHeld = false;
  const named = (made, name, focus = name) => { made.setAttribute("aria-label", name); made.dataset.focus = focus; return made; };
  const step = (text, name, change) => { const made = named(button("btn", text, () => by(change)), name); made.title = name; return made; };
  range.type = "range";
  named(range, "Training step", "range");
  named(pace, "Speed", "pace");
  play.dataset.focus = "play";
  play.title = "Play (space)";
  range.oninput = () => to(Number(range.value));
  range.onpointerdown = () => { isHeld = true; };
  range.onpointerup = range.onpointercancel = range.onchange = () => { isHeld = false; };
  node.append(play, pace, step("‹", "One training step back (left arrow)", -1), range, step("›", "One training step forward (right arrow)", 1), where);

  function show(steps, at, total, playing, speed) {
    Object.assign(range, { min: 0, max: steps.length - 1, value: at });
    range.setAttribute("aria-valuetext", `Training step ${steps[at]}`);
    play.textContent = playing ? "Pause" : "Play";
    pace.textContent = speed;
    where.setAttribute("aria-live", playing ? "off" : "polite");
    where.replaceChildren("Training step ", element("b", "", steps[at].toLocaleString("en-US")), ` of ${total.toLocaleString("en-US")}`);
  }

  return { node, show, isHeld: () => isHeld };
}

// Returns the weight of a cell at a step; `head` null: the mean over the heads of the layer.
export function weightOf({ raw, layers, heads, shape: [rows, columns] }, at, { layer, head }, cell) {
  const size = rows * columns, start = (at * layers + layer - 1) * heads * size;
  if (head !== null) return raw[start + (head - 1) * size + cell] / LEVELS;
  let sum = 0;
  for (let n = 0; n < heads; n++) sum += raw[start + n * size + cell];
  return sum / heads / LEVELS;
}

const within = ({ layer, head }, grid) => ({ layer: Math.min(layer, grid.layers), head: head === null ? null : Math.min(head, grid.heads) });

// Adds the map of the chosen head to `place`. Returns `settle`, once its place has a size, and `draw` for a step.
export function oneMap(place, grid, data, root) {
  const box = element("div", "map"), top = element("div", "top"), hue = element("i", "hue"), [rows, columns] = grid.shape, chosen = within(data.chosen, grid);
  const isFree = Array.from({ length: rows }, () => new Uint8Array(columns).fill(1)), name = headName(grid.kind, chosen.layer, chosen.head);
  const pattern = { ...grid, values: isFree.map(() => new Float32Array(columns)), allowed: isFree, most: null, digits: 2 };
  hue.style.background = `var(--lab-${grid.kind})`;
  top.append(hue, element("h2", "", name));
  box.append(top);
  place.append(box);
  let map = null;

  function settle() {
    const width = box.clientWidth || 280, height = Math.max(160, innerHeight / zoomOf(root) - boxOf(box).top - BELOW_MAP);
    map = heatmap(pattern, {
      root, room: data.large ? { width, height, large: true } : { width, height: PAGE_HEIGHT }, colour: (of) => data.style[`--lab-${of}`], tint: tintOf(pattern, grid.scale), focus: `map ${grid.kind}`,
      label: `${name}: ${rows} rows by ${columns} columns. Arrow keys go from cell to cell.`,
      table: { label: name, valueName: "Weight" },
      points: { cell: `${grid.kind} cell`, row: `${grid.kind} row`, column: `${grid.kind} column` },
    });
    box.append(map.node);
  }

  function draw(at) {
    pattern.values.forEach((row, i) => { for (let j = 0; j < columns; j++) row[j] = weightOf(grid, at, chosen, i * columns + j); });
    map.refresh();
  }

  return { settle, draw };
}

// Adds the thumbnails of all heads to `place`. Returns functions as `oneMap`. `choose` gets kind, layer and head of a click.
export function everyHead(place, grid, data, root, choose) {
  const size = grid.layers * grid.heads * grid.shape[0] * grid.shape[1], repaint = [], order = { places: grid.places.map((_, n) => n), named: false, notes: null, told: "" };
  const thumbnails = { ...grid, raw: grid.raw.subarray(0, size) };

  function settle() {
    const room = data.large ? { width: (place.clientWidth - 24 * (data.grids.length - 1)) / data.grids.length, height: Math.max(200, innerHeight / zoomOf(root) - boxOf(place).top - BELOW_GRID) } : null;
    const pick = (_, index) => choose(grid.kind, ...grid.places[index]), shared = { data: { ...data, chosen: within(data.chosen, grid) }, state: { cursor: {} }, colour: (of) => data.style[`--lab-${of}`], sans: () => getComputedStyle(root).fontFamily };
    place.append(thumbnailGrid(thumbnails, order, { ...shared, show: () => {}, choose: pick, repaint, place: room, owner: root }));
  }

  function draw(at) {
    thumbnails.raw = grid.raw.subarray(at * size, (at + 1) * size);
    thumbnails.plain = null;
    repaint.forEach((paint) => paint());
  }

  return { settle, draw };
}
