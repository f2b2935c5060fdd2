// Lays out and draws the labels of a map on a canvas, like those of a chart: the margins, the cell size and the visible labels.
// Lengths are in pixels.

import { columnLabels, rowLabels } from "./chart_labels_parts.js";

const MAX_LEFT = 116; // px for the row labels at the small font size
const MAX_TOP = 72; // px for the column labels at the small font size
const SMALL_FONT = 12; // px: a larger font gets proportionally more room

const roomFactor = (font) => Math.max(1, font / SMALL_FONT);

let measureContext = null;

// Returns the widths of texts in a font.
export function textWidths(texts, font) {
  measureContext ||= document.createElement("canvas").getContext("2d");
  measureContext.font = font;
  return texts.map((text) => measureContext.measureText(text).width);
}

// Returns the layout of a map in `width` pixels with cells from `minSize` to `maxSize` pixels. `rows` and `columns` are label widths:
// row labels are left of the map, column labels above it.
export function mapLayout({ width, minSize, maxSize, font, rows, columns }) {
  const left = Math.ceil(Math.min(MAX_LEFT * roomFactor(font), Math.max(0, ...rows) + font)), longest = Math.max(0, ...columns);
  const maxHeight = MAX_TOP * roomFactor(font);
  const layoutAt = (size) => {
    const x = columnLabels(size, longest, font), lean = (-x.angle * Math.PI) / 180;
    const overhangs = columns.map((each, i) => Math.cos(lean) * Math.min(each, maxHeight) + font - (columns.length - i - 0.5) * size);
    const top = x.angle === 0 ? 1.8 * font : Math.min(maxHeight, Math.sin(lean) * longest + font);
    return { left, top: Math.ceil(top), right: x.angle === 0 ? 2 : Math.ceil(Math.max(2, ...overhangs)), size, angle: x.angle, columnInterval: x.every, rowInterval: rowLabels(size, font).every };
  };
  for (let size = maxSize; size > minSize; size--) {
    const fit = layoutAt(size);
    if (left + columns.length * size + fit.right <= width) return fit;
  }
  return layoutAt(minSize);
}

// Returns the layout with the largest cells that fit both the width and the height.
export function layoutForSize({ height, minSize, maxSize, ...labels }) {
  const totalHeight = (layout) => layout.top + labels.rows.length * layout.size + 2;
  for (let size = maxSize; size > minSize; size--) {
    const fit = mapLayout({ ...labels, minSize, maxSize: size });
    if (totalHeight(fit) <= height) return fit;
    size = Math.min(size, fit.size);
  }
  return mapLayout({ ...labels, minSize, maxSize: minSize });
}

// Names the part of a map under the pointer in any layout: `cell 3 5`, `row 3` or `column 5`, counted from 1. The canvas shows the map
// of a layout that is `fullWidth` of its own pixels wide. Each name begins with `prefix`.
export function mapPoints(canvas, { left, top, size }, rows, columns, fullWidth, prefix = "") {
  const from = (length) => Math.floor(length / size) + 1, within = (n, count) => n >= 1 && n <= count;
  const at = (x, y) => {
    const box = canvas.getBoundingClientRect(), scale = box.width / fullWidth, i = from((y - box.top) / scale - top), j = from((x - box.left) / scale - left);
    if (within(i, rows) && within(j, columns)) return `${prefix}cell ${i} ${j}`;
    if (within(i, rows) && j < 1) return `${prefix}row ${i}`;
    return within(j, columns) && i < 1 ? `${prefix}column ${j}` : null;
  };
  const rect = (name) => {
    if (!name.startsWith(prefix) || !canvas.isConnected) return null;
    const [what, ...numbers] = name.slice(prefix.length).split(" "), box = canvas.getBoundingClientRect(), scale = box.width / fullWidth;
    const [i, j] = { cell: numbers, row: [numbers[0], null], column: [null, numbers[0]] }[what] || [0, 0];
    if ((i !== null && !within(Number(i), rows)) || (j !== null && !within(Number(j), columns)) || !scale) return null;
    const x = j === null ? 0 : left + (j - 1) * size, y = i === null ? 0 : top + (i - 1) * size, cellWidth = j === null ? left : size, cellHeight = i === null ? top : size;
    return new DOMRect(box.left + x * scale, box.top + y * scale, cellWidth * scale, cellHeight * scale);
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

// Draws the labels of a layout's map. `high` is the height of a cell that is not square. `strong` lists the highlighted rows and columns,
// the most important first. The recording pen stores all labels in full length: `whole` has the full `queries` and `keys`.
export function drawLabels(x, layout, labels) {
  x.recordAs("labels", [layout, labels], () => drawVisibleLabels(x, layout, labels));
}

function drawVisibleLabels(x, layout, { queries, keys, font, family, strong, colour }) {
  const { left, top, size, angle, high = size } = layout, style = (isStrong) => { x.font = `${isStrong ? "650 " : ""}${font}px ${family}`; x.fillStyle = colour(isStrong ? "ink" : "ink2"); };
  x.textBaseline = "middle";
  x.textAlign = "right";
  for (const i of visibleLabels(queries.length, layout.rowInterval, strong.rows)) {
    style(strong.rows.includes(i));
    x.fillText(queries[i], left - 5, top + (i + 0.5) * high, left - 6);
  }
  for (const j of visibleLabels(keys.length, layout.columnInterval, strong.columns)) {
    style(strong.columns.includes(j));
    x.save();
    x.translate(left + (j + 0.5) * size, top - 5);
    x.rotate((angle * Math.PI) / 180);
    x.textAlign = angle === 0 ? "center" : "left";
    x.fillText(keys[j], 0, angle === 0 ? -3 : 0, angle === 0 ? size * layout.columnInterval : MAX_TOP * roomFactor(font));
    x.restore();
  }
}
