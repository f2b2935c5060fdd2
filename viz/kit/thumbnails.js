// Draws the thumbnails of the heads of one kind of site on one canvas, in a given order.

import { cellTable, HEADS } from "./cell_table.js";
import { rgb } from "./heatmap.js";
import { density, element, nth, onKeys, pointerPosition, headName } from "./mount.js";
import { LEVELS } from "./patterns.js";
import { markPicture, stateHeads, pen } from "./pen.js";

// px: beside and above the numbers of layers and heads; a thumbnail with its name, a line of it; its type, the least and the most of a thumbnail
const PAGE_TYPE = { left: 22, top: 16, named: 37, line: 13, font: 11, number: 12, least: 8, most: 64 };
const LARGE_TYPE = { left: 34, top: 20, named: 62, line: 18, font: 14, number: 15, least: 12, most: 240 }; // in lecture mode
const TILE_GAP = 2;
const MAX_HEIGHT = 32_000; // px of a canvas, of which browsers draw nothing if it is higher
const NUMBER_WIDTH = 15; // px of the number of a head

export function unpacked(grid) { // the weights of the allowed cells, head by head, and the places of these cells
  grid.cells ||= [...grid.allowed].map((cell, at) => (cell === "1" ? at : -1)).filter((at) => at >= 0);
  return grid;
}

export function picture(grid, byRow) { // every head under the other, a pixel a cell; the largest of several cells where they are many
  const kept = byRow ? "byRow" : "plain";
  if (grid[kept]) return grid[kept];
  const { raw, cells } = unpacked(grid), [m, n] = grid.shape, canvas = element("canvas"), count = grid.places.length, all = cells.length;
  const pool = Math.max(1, Math.ceil(Math.max(m, n) / 72), Math.ceil(m / Math.floor(MAX_HEIGHT / count))), high = Math.ceil(m / pool), wide = Math.ceil(n / pool);
  Object.assign(canvas, { width: wide, height: high * count });
  const image = new ImageData(wide, high * count), levels = new Int16Array(wide * high * count).fill(-1), colours = grid.scale.map(rgb), most = new Float32Array(m);
  for (let head = 0; head < count; head++) {
    most.fill(byRow ? 0 : 255);
    if (byRow) for (let k = 0; k < all; k++) { const i = Math.floor(cells[k] / n), w = raw[head * all + k]; if (w > most[i]) most[i] = w; }
    for (let k = 0; k < all; k++) {
      const i = Math.floor(cells[k] / n), j = cells[k] % n, at = (head * high + Math.floor(i / pool)) * wide + Math.floor(j / pool);
      const level = most[i] ? (raw[head * all + k] / most[i]) * 255 : 0;
      if (level > levels[at]) levels[at] = level;
    }
  }
  levels.forEach((level, at) => { if (level >= 0) image.data.set([...colours[Math.round((level / 255) * (colours.length - 1))], 255], at * 4); });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return (grid[kept] = Object.assign(canvas, { high, wide }));
}

// Returns the words behind the name of a head that is switched off. `grid.off` lists these heads, by number; it may be missing.
export const offText = (grid, index) => (grid.off?.includes(index) ? " (switched off)" : "");

// How many thumbnails stand side by side, how far apart, and how large each is drawn, in so many pixels.
export function sized(width, heads, { named, notes }, type = PAGE_TYPE) {
  const left = named ? 0 : type.left, columns = named ? Math.max(1, Math.min(heads, Math.floor(width / type.named))) : heads;
  const tile = Math.max(type.least, Math.min(type.most, (width - left) / columns));
  return { left, top: named ? 4 : type.top, columns, tile, size: tile - TILE_GAP, pitch: tile + (named ? type.line * (notes ? 2 : 1) + 4 : 0) };
}

// The same in lecture mode, for `count` thumbnails in a height: as large as fits. Of those with a name that cannot all have room
// as many are `kept` as have some.
export function sizedWithin({ width, height }, heads, count, { named, notes }) {
  if (!named) {
    const at = sized(width, heads, {}, LARGE_TYPE), tile = Math.max(LARGE_TYPE.least, Math.min(at.tile, (height - at.top - 4) / Math.ceil(count / heads)));
    return { ...at, tile, size: tile - TILE_GAP, pitch: tile, kept: count };
  }
  const below = LARGE_TYPE.line * (notes ? 2 : 1) + 4, most = Math.max(1, Math.floor(width / LARGE_TYPE.named)), room = height - 8;
  const least = LARGE_TYPE.named / 2, at = (columns, size, kept) => ({ left: 0, top: 4, columns, tile: Math.max(LARGE_TYPE.named, size), size: size - TILE_GAP, pitch: size + below, kept });
  const size = (columns) => Math.min(LARGE_TYPE.most, width / columns, room / Math.ceil(count / columns) - below);
  const columns = Array.from({ length: Math.min(most, count) }, (_, n) => n + 1).sort((a, b) => size(b) - size(a))[0];
  if (size(columns) >= least) return at(columns, size(columns), count);
  return at(most, LARGE_TYPE.named, Math.min(count, most * Math.max(1, Math.floor(room / (LARGE_TYPE.named + below)))));
}

// `show` draws a head large while it is pointed at, `choose` chooses it; `repaint` gets what draws the thumbnails again, also of
// other weights, which are in `raw`, once `plain` is null.
// `place`: the width and height that they fill in lecture mode.
// `owner` keeps the table of the heads open; `by` names the notes in it, and `values` has their numbers before they are rounded.
export function thumbnailGrid(grid, { places: ordered, named, notes, values, told, by }, { data, state, colour, sans, show, choose, repaint, place: fill = null, owner = state }) {
  const { chosen } = data, box = element("section", "site"), top = element("div", "top"), title = element("h2", "kind"), hue = element("i", "hue");
  hue.style.background = `var(--lab-${grid.kind})`;
  markPicture(box, `Every head, ${grid.name.toLowerCase()}`, { colours: grid.scale, low: 0, high: chosen.byRow ? "each row’s maximum" : 1 });
  stateHeads(box, `${grid.places.length} ${grid.kind} head${grid.places.length === 1 ? "" : "s"}`);
  title.append(hue, grid.name);
  top.append(title, element("span", "", told || (grid.places.length === 1 ? "1 head" : `${grid.places.length} heads`)));
  const canvas = element("canvas"), row = () => (grid.kind === "encoder" || !data.step ? null : Math.min(data.step, grid.shape[0]) - 1);
  canvas.tabIndex = 0;
  canvas.dataset.focus = grid.kind;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${grid.name}: ${grid.layers} layers by ${grid.heads} heads${told ? `, ${told}` : ""}${grid.off?.length ? `, switched off: ${grid.off.map((index) => grid.places[index].join(".")).join(", ")}` : ""}. Arrow keys preview a head, Enter chooses it.`);
  const live = element("span", "unseen"), ground = element("canvas"), scaled = (x, ratio) => { x.setTransform(ratio, 0, 0, ratio, 0, 0); return x; };
  live.setAttribute("aria-live", "polite");
  const type = fill ? LARGE_TYPE : PAGE_TYPE, measure = (width) => (fill ? sizedWithin(fill, grid.heads, ordered.length, { named, notes }) : sized(width, grid.heads, { named, notes }));
  let over = null, at = measure(320);
  const places = ordered.slice(0, at.kept);
  canvas.dataset.places = places.map((n) => grid.places[n].join(" ")).join(","); // what stands where
  const table = cellTable({ owner, name: grid.kind, label: grid.name, text: HEADS, read: readTables });
  if (places.length < ordered.length) top.lastChild.textContent = `${told ? `${told}, ` : ""}the first ${places.length} of ${ordered.length}`;

  const corner = (place) => [at.left + (place % at.columns) * at.tile + (at.tile - TILE_GAP - at.size) / 2, at.top + Math.floor(place / at.columns) * at.pitch];
  const name = (index) => headName(grid.kind, ...grid.places[index]), short = (index) => grid.places[index].join("."); // under the name of the site

  function settle() { // the thumbnails, drawn once for a size and for the weights
    const source = picture(grid, chosen.byRow), width = canvas.parentElement?.clientWidth || 320, ratio = density(canvas);
    at = measure(width);
    const height = at.top + Math.ceil(places.length / at.columns) * at.pitch;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.height = `${height}px`;
    Object.assign(ground, { width: canvas.width, height: canvas.height });
    const x = scaled(pen(ground), ratio);
    x.imageSmoothingEnabled = at.size * ratio < Math.max(source.high, source.wide);
    x.textBaseline = "middle";
    if (!named) numbered(x);
    places.forEach((index, place) => {
      const [left, y] = corner(place), { size } = at, middle = left + size / 2, under = y + size + TILE_GAP;
      x.drawImage(source, 0, index * source.high, source.wide, source.high, left, y, size, size);
      frame(x, place, "line", 1);
      if (grid.off?.includes(index)) crossed(x, left, y, size);
      if (row() !== null) outlined(x, left, y, size);
      if (!named) return;
      x.textAlign = "center";
      x.font = `${type.font}px ${sans()}`;
      x.fillStyle = colour("ink2");
      x.fillText(x.measureText(name(index)).width <= at.tile ? name(index) : short(index), middle, under + type.line / 2 - 1, at.tile);
      if (!notes) return;
      x.font = `650 ${type.number}px ${sans()}`;
      x.fillStyle = colour("ink");
      x.fillText(notes[index], middle, under + type.line * 1.5 - 1, at.tile);
    });
    paint();
    table.refresh();
  }

  function readTables() { // of the heads, by the notes, else by the largest weight of each: in the row of the step, if it is known
    const nameOf = (index) => headName(grid.kind, ...grid.places[index]);
    if (notes) return [{ cells: ordered.filter((index) => notes[index]).map((index) => ({ value: values[index], index })), unit: `heads, by “${by}”`, columns: ["Head", by], texts: ({ index }) => [nameOf(index), notes[index]] }];
    const { raw, cells } = unpacked(grid), own = row(), rowOf = (n) => Math.floor(cells[n] / grid.shape[1]);
    const candidates = cells.map((_, n) => n).filter((n) => own === null || rowOf(n) === own);
    const largest = (index) => candidates.reduce((best, n) => (best < 0 || raw[index * cells.length + n] > raw[index * cells.length + best] ? n : best), -1);
    const found = ordered.map((index) => ({ index, n: largest(index) })).filter(({ n }) => n >= 0).map(({ index, n }) => ({ index, n, value: raw[index * cells.length + n] / LEVELS }));
    const texts = ({ index, n, value }) => [nameOf(index), ...(own === null ? [nth(grid.queries, rowOf(n))] : []), nth(grid.keys, cells[n] % grid.shape[1]), `about ${value.toFixed(2)}`];
    return [{ cells: found, unit: `heads, by their largest weight${own === null ? "" : ` in the row ${nth(grid.queries, own)}`}`, columns: ["Head", ...(own === null ? ["Row"] : []), "Column", "Weight"], headers: 1, texts }];
  }

  function numbered(x) { // layers down, heads across
    x.font = `${type.font}px ${sans()}`;
    x.fillStyle = colour("ink2");
    x.textAlign = "center";
    const every = Math.ceil(NUMBER_WIDTH / at.tile);
    for (let head = every - 1; head < grid.heads; head += every) x.fillText(fill && at.tile >= 30 ? `H${head + 1}` : head + 1, at.left + (head + 0.5) * at.tile, at.top / 2);
    x.textAlign = "left";
    for (let layer = 0; layer < grid.layers; layer++) x.fillText(`L${layer + 1}`, 0, at.top + (layer + 0.5) * at.tile);
  }

  function outlined(x, left, y, size) { // the row of the step
    const high = size / grid.shape[0];
    x.strokeStyle = colour("ink2");
    x.lineWidth = 0.75;
    x.strokeRect(left + 0.5, y + row() * high, size - 1, high);
  }

  function crossed(x, left, y, size) { // a head that is switched off
    x.strokeStyle = colour("ink");
    x.lineWidth = 1.5;
    x.beginPath();
    for (const [from, to] of [[y, y + size], [y + size, y]]) { x.moveTo(left, from); x.lineTo(left + size, to); }
    x.stroke();
  }

  function frame(x, place, name, thick) {
    const [left, y] = corner(place);
    x.strokeStyle = colour(name);
    x.lineWidth = thick;
    x.strokeRect(left + 0.5, y + 0.5, at.size - 1, at.size - 1);
  }

  function paint() { // what is chosen, and what is pointed at
    const x = scaled(pen(canvas), 1);
    x.clearRect(0, 0, canvas.width, canvas.height);
    x.drawImage(ground, 0, 0);
    scaled(x, canvas.width / (canvas.parentElement?.clientWidth || 320));
    places.forEach((index, place) => {
      const [layer, head] = grid.places[index];
      const on = (data.together || grid.kind === chosen.kind) && [null, layer].includes(chosen.layer) && [null, head].includes(chosen.head);
      if (on || over === index) frame(x, place, "ink", (on && chosen.layer !== null ? 2.5 : 1.5) * (fill ? 1.6 : 1));
    });
  }

  const hit = (event) => {
    const [x, y] = pointerPosition(event, canvas), column = Math.floor((x - at.left) / at.tile), place = Math.floor((y - at.top) / at.pitch) * at.columns + column;
    return column >= 0 && column < at.columns && place >= 0 && place < places.length ? places[place] : null;
  };
  const look = (index) => {
    if (index === over) return;
    over = index;
    paint();
    show(index === null ? null : { grid, index });
    if (index !== null) live.textContent = `${name(index)}${offText(grid, index)}${notes ? `: ${notes[index]}` : ""}`;
  };
  canvas.labPoints = {
    at: (x, y) => {
      const index = hit({ clientX: x, clientY: y });
      return index === null ? null : `head ${grid.kind} ${grid.places[index].join(" ")}`;
    },
    rect: (text) => {
      const [what, kind, layer, head] = text.split(" "), place = places.findIndex((index) => grid.places[index].join(" ") === `${layer} ${head}`);
      if (what !== "head" || kind !== grid.kind || place < 0 || !canvas.isConnected) return null;
      const box = canvas.getBoundingClientRect(), scale = box.width / (canvas.clientWidth || box.width), [left, y] = corner(place);
      return new DOMRect(box.left + left * scale, box.top + y * scale, at.size * scale, at.size * scale);
    },
  };
  canvas.onmousemove = (event) => look(hit(event));
  canvas.onmouseleave = () => look(null);
  canvas.onblur = () => look(null);
  canvas.onclick = (event) => { const index = hit(event); if (index !== null) { state.cursor[grid.kind] = index; choose(grid, index); } };
  onKeys(canvas, (key, arrow) => {
    const own = grid.places.findIndex(([layer, head]) => layer === (chosen.layer ?? 1) && head === (chosen.head ?? 1));
    const from = state.cursor[grid.kind] ?? (grid.kind === chosen.kind && own >= 0 ? own : places[0]);
    if (key === "Enter" || key === " ") choose(grid, over ?? from);
    else if (arrow) {
      const to = places.indexOf(from) + (over === null ? 0 : arrow[0] * at.columns + arrow[1]);
      if (to >= 0 && to < places.length) { state.cursor[grid.kind] = places[to]; look(places[to]); }
    } else return false;
    return true;
  });
  box.append(top, canvas, table, live);
  repaint.push(settle);
  return box;
}
