// How the labels of a map on a canvas fit, as those of a chart do: its margins and the size of its cells, which labels are
// shown, and the drawing of them. Lengths are in pixels.

import { across, down } from "./chart_labels_parts.js";

const LEFT_MOST = 116; // px that the labels of the rows may take, in small type
const TOP_MOST = 72; // px that those of the columns may take
const SMALL = 12; // px; larger type has more room

const roomy = (font) => Math.max(1, font / SMALL);

let ruler = null;

// The lengths of texts in a font.
export function lengthsOf(texts, font) {
  ruler ||= document.createElement("canvas").getContext("2d");
  ruler.font = font;
  return texts.map((text) => ruler.measureText(text).width);
}

// A map in `width` pixels, its cells from `least` to `most`: the labels of `rows` stand left of it, those of `columns` above.
export function mapLayout({ width, least, most, font, rows, columns }) {
  const left = Math.ceil(Math.min(LEFT_MOST * roomy(font), Math.max(0, ...rows) + font)), longest = Math.max(0, ...columns);
  const tall = TOP_MOST * roomy(font);
  const at = (size) => {
    const x = across(size, longest, font), lean = (-x.angle * Math.PI) / 180;
    const over = columns.map((each, i) => Math.cos(lean) * Math.min(each, tall) + font - (columns.length - i - 0.5) * size);
    const top = x.angle === 0 ? 1.8 * font : Math.min(tall, Math.sin(lean) * longest + font);
    return { left, top: Math.ceil(top), right: x.angle === 0 ? 2 : Math.ceil(Math.max(2, ...over)), size, angle: x.angle, across: x.every, down: down(size, font).every };
  };
  for (let size = most; size > least; size--) {
    const fit = at(size);
    if (left + columns.length * size + fit.right <= width) return fit;
  }
  return at(least);
}

// The same where the height counts as well: the cells are as large as both let them be.
export function fittedLayout({ height, least, most, ...labels }) {
  const high = (layout) => layout.top + labels.rows.length * layout.size + 2;
  for (let size = most; size > least; size--) {
    const fit = mapLayout({ ...labels, least, most: size });
    if (high(fit) <= height) return fit;
    size = Math.min(size, fit.size);
  }
  return mapLayout({ ...labels, least, most: least });
}

// What a pointer is on, by names that hold in every layout: `cell 3 5`, `row 3`, `column 5`, from 1. The canvas shows a map of a
// layout, `wide` of its pixels across; `before` stands before each name.
export function mapPoints(canvas, { left, top, size }, rows, columns, wide, before = "") {
  const from = (length) => Math.floor(length / size) + 1, within = (n, count) => n >= 1 && n <= count;
  const at = (x, y) => {
    const box = canvas.getBoundingClientRect(), scale = box.width / wide, i = from((y - box.top) / scale - top), j = from((x - box.left) / scale - left);
    if (within(i, rows) && within(j, columns)) return `${before}cell ${i} ${j}`;
    if (within(i, rows) && j < 1) return `${before}row ${i}`;
    return within(j, columns) && i < 1 ? `${before}column ${j}` : null;
  };
  const rect = (name) => {
    if (!name.startsWith(before) || !canvas.isConnected) return null;
    const [what, ...numbers] = name.slice(before.length).split(" "), box = canvas.getBoundingClientRect(), scale = box.width / wide;
    const [i, j] = { cell: numbers, row: [numbers[0], null], column: [null, numbers[0]] }[what] || [0, 0];
    if ((i !== null && !within(Number(i), rows)) || (j !== null && !within(Number(j), columns)) || !scale) return null;
    const x = j === null ? 0 : left + (j - 1) * size, y = i === null ? 0 : top + (i - 1) * size, wider = j === null ? left : size, higher = i === null ? top : size;
    return new DOMRect(box.left + x * scale, box.top + y * scale, wider * scale, higher * scale);
  };
  return { at, rect };
}

// Which of `count` labels are shown where every so many has room: those that matter first, by their order, then the others.
export function shownLabels(count, every, first = []) {
  const visible = [];
  const take = (n) => { if (visible.every((other) => Math.abs(other - n) >= every)) visible.push(n); };
  first.forEach(take);
  for (let n = 0; n < count; n++) if (n % every === 0) take(n);
  return visible.sort((a, b) => a - b);
}

// Draws the labels of a layout's map, whose cells may be `high` where they are not as high as wide; `strong` says which rows and columns stand out, the most important first.
// With a pen that remembers, all of them are remembered, whole: `whole` has the `queries` and `keys` that may be cut here.
export function drawLabels(x, layout, labels) {
  x.instead("labels", [layout, labels], () => drawFitting(x, layout, labels));
}

function drawFitting(x, layout, { queries, keys, font, family, strong, colour }) {
  const { left, top, size, angle, high = size } = layout, style = (on) => { x.font = `${on ? "650 " : ""}${font}px ${family}`; x.fillStyle = colour(on ? "ink" : "ink2"); };
  x.textBaseline = "middle";
  x.textAlign = "right";
  for (const i of shownLabels(queries.length, layout.down, strong.rows)) {
    style(strong.rows.includes(i));
    x.fillText(queries[i], left - 5, top + (i + 0.5) * high, left - 6);
  }
  for (const j of shownLabels(keys.length, layout.across, strong.columns)) {
    style(strong.columns.includes(j));
    x.save();
    x.translate(left + (j + 0.5) * size, top - 5);
    x.rotate((angle * Math.PI) / 180);
    x.textAlign = angle === 0 ? "center" : "left";
    x.fillText(keys[j], 0, angle === 0 ? -3 : 0, angle === 0 ? size * layout.across : TOP_MOST * roomy(font));
    x.restore();
  }
}
