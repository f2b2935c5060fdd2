// Lays out and draws the labels of a map on a canvas: the margins, the cell size and the visible labels. Lengths are in pixels.

import { columnLabels, rowLabels } from "./chart_labels_parts.js";

const MAX_LEFT = 116; // px for the row labels at the small font size
const MAX_TOP = 72; // px for the column labels at the small font size
const SMALL_FONT = 12; // px: a larger font gets proportionally more room
const ROW_GAP = 5, COLUMN_GAP = 5; // px between a label and its cells
const HALF_LINE = 0.6; // half the height of a line, relative to the font size
const MAX_MEASURED = 2000; // texts of a font
const CELL_STEP = 0.5; // px between the cell sizes tried

const roomFactor = (font) => Math.max(1, font / SMALL_FONT);

let measureContext = null;
const measuredWidths = new Map(); // font -> text -> width

// Returns the widths of texts in a font.
export function textWidths(texts, font) {
  if (!measureContext) {
    measureContext = document.createElement("canvas").getContext("2d");
    document.fonts?.addEventListener("loadingdone", () => measuredWidths.clear());
  }
  measureContext.font = font;
  if (!measuredWidths.has(font)) measuredWidths.set(font, new Map());
  const widths = measuredWidths.get(font);
  if (widths.size > MAX_MEASURED) widths.clear();
  return texts.map((text) => {
    if (!widths.has(text)) widths.set(text, measureContext.measureText(text).width);
    return widths.get(text);
  });
}

// Returns the layout of a map in a `width` and a `height`, with the largest cells from `minSize` to `maxSize` that fit. `rows` and
// `columns` are label widths: row labels are left of the map, column labels above it. The cells are square, or if there is a
// `maxHigh`, up to that height. A map with the smallest cells may be wider or higher than its room.
export function mapLayout({ width, height = Infinity, minSize, maxSize, maxHigh = 0, font, rows, columns }) {
  const left = Math.ceil(Math.min(MAX_LEFT * roomFactor(font), Math.max(0, ...rows) + font)), longest = Math.max(0, ...columns), room = MAX_TOP * roomFactor(font);
  const layoutAt = (size) => {
    const { angle, every } = columnLabels(size, longest, font), lean = (-angle * Math.PI) / 180, [sin, cos] = [Math.sin(lean), Math.cos(lean)];
    const ends = columns.map((each, j) => cos * Math.min(each, room) + sin * HALF_LINE * font - (columns.length - j - 0.5) * size);
    const right = angle === 0 ? 2 : Math.ceil(Math.max(2, ...ends) + 1), top = Math.ceil(angle === 0 ? 1.8 * font : sin * Math.min(room, longest) + cos * HALF_LINE * font + COLUMN_GAP + 1);
    const high = maxHigh ? Math.max(minSize, Math.min(maxHigh, (height - top - 2) / rows.length)) : size;
    return { left, top, right, size, high, angle, columnInterval: every, rowInterval: rowLabels(high, font).every, room, width: left + columns.length * size + right, height: top + rows.length * high + 2 };
  };
  for (let size = maxSize; size > minSize; size -= CELL_STEP) {
    const layout = layoutAt(size);
    if (layout.width <= width && (maxHigh || layout.height <= height)) return layout;
  }
  return layoutAt(minSize);
}

// Returns a function that converts a point of a map's layout into its cell: [row, column], null for an axis before the first cell, or
// null outside.
export function cellFinder({ left, top, size, high }, rows, columns) {
  return (x, y) => {
    const i = y < top ? null : Math.floor((y - top) / high), j = x < left ? null : Math.floor((x - left) / size);
    return (i === null && j === null) || i >= rows || j >= columns || x < 0 || y < 0 ? null : [i, j];
  };
}

// Names the part of a map under the pointer in any layout: `cell 3 5`, `row 3` or `column 5`, counted from 1, with other words in
// `names`. The canvas shows the map of a layout that is `fullWidth` of its own pixels wide.
export function mapPoints(canvas, layout, rows, columns, names = { cell: "cell", row: "row", column: "column" }, fullWidth = layout.width) {
  const { left, top, size, high } = layout, find = cellFinder(layout, rows, columns), scaleOf = (box) => box.width / fullWidth;
  const at = (x, y) => {
    const box = canvas.getBoundingClientRect(), scale = scaleOf(box), cell = find((x - box.left) / scale, (y - box.top) / scale);
    if (!cell) return null;
    const [i, j] = cell;
    return i === null ? `${names.column} ${j + 1}` : j === null ? `${names.row} ${i + 1}` : `${names.cell} ${i + 1} ${j + 1}`;
  };
  const rect = (name) => {
    const [, word, first, second] = /^(.*?) (\d+)(?: (\d+))?$/.exec(name) || [], box = canvas.getBoundingClientRect(), scale = scaleOf(box);
    const [i, j] = second ? [word === names.cell && first, second] : word === names.row ? [first, null] : [null, word === names.column && first];
    const within = (n, count) => n === null || (n >= 1 && n <= count);
    if (!canvas.isConnected || !scale || i === false || j === false || !within(i, rows) || !within(j, columns)) return null;
    const x = j === null ? 0 : left + (j - 1) * size, y = i === null ? 0 : top + (i - 1) * high;
    return new DOMRect(box.left + x * scale, box.top + y * scale, (j === null ? left : size) * scale, (i === null ? top : high) * scale);
  };
  return { at, rect };
}

// Returns the indices of the visible labels out of `count`, at least `every` apart. The labels in `first` have priority, in their order.
export function visibleLabels(count, every, first = []) {
  const visible = [];
  const addIfFree = (n) => { if (visible.every((other) => Math.abs(other - n) >= every)) visible.push(n); };
  first.forEach(addIfFree);
  for (let n = 0; n < count; n++) if (n % every === 0) addIfFree(n);
  return visible.sort((a, b) => a - b);
}

// Returns a text of at most `max` pixels in the font of a context. It keeps the beginning, or the prediction of `input → prediction`.
export function shortenToWidth(x, text, max) {
  if (x.measureText(text).width <= max) return text;
  const keepsEnd = text.includes(" → "), cut = (count) => (keepsEnd ? `…${text.slice(text.length - count)}` : `${text.slice(0, count)}…`);
  let count = text.length - 1;
  while (count > 1 && x.measureText(cut(count)).width > max) count--;
  return cut(count);
}

// Draws the labels of a layout's map. `strong` lists the highlighted rows and columns, the most important first. The recording pen
// stores all labels in full length.
export function drawLabels(x, layout, labels) {
  x.recordAs("labels", [layout, labels], () => drawVisibleLabels(x, layout, labels));
}

function drawVisibleLabels(x, layout, { queries, keys, font, family, strong, colour }) {
  const { left, top, size, high, angle, room } = layout, style = (isStrong) => { x.font = `${isStrong ? "650 " : ""}${font}px ${family}`; x.fillStyle = colour(isStrong ? "ink" : "ink2"); };
  x.textBaseline = "middle";
  x.textAlign = "right";
  for (const i of visibleLabels(queries.length, layout.rowInterval, strong.rows)) {
    style(strong.rows.includes(i));
    x.fillText(shortenToWidth(x, queries[i], left - ROW_GAP - 1), left - ROW_GAP, top + (i + 0.5) * high);
  }
  for (const j of visibleLabels(keys.length, layout.columnInterval, strong.columns)) {
    style(strong.columns.includes(j));
    x.save();
    x.translate(left + (j + 0.5) * size, top - COLUMN_GAP);
    x.rotate((angle * Math.PI) / 180);
    x.textAlign = angle === 0 ? "center" : "left";
    x.fillText(shortenToWidth(x, keys[j], angle === 0 ? size * layout.columnInterval : room), 0, angle === 0 ? -3 : 0);
    x.restore();
  }
}
