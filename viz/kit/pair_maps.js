// Draws a map on a canvas with a ring around the marked cell. All text is set as textContent.

import { columnLabels, rowLabels } from "./chart_labels_parts.js";
import { truncate, element, nth, onKeys, pointerPosition } from "./mount.js";
import { drawLabels, textWidths, mapLayout } from "./map_labels.js";
import { pen } from "./pen.js";

const FONT = 11; // px
const MAX_CELL = 22, MIN_CELL = 5; // px
const MAX_CELL_FOR_HEIGHT = 26, MIN_CELL_FOR_HEIGHT = 12; // px, where the height limits the cells
const LARGE = { font: 14, title: 16, line: 22, wide: 72, high: 44, left: 132, top: 92 }; // px in a map that fills the screen: font sizes, then the limits of lengths

// Returns the cell that an arrow key leads to, within the map.
export const neighbourCell = ([i, j], [down, right], map) => [clamp(i + down, map.queries.length), clamp(j + right, map.keys.length)];
const clamp = (n, count) => Math.max(0, Math.min(count - 1, n));

const shortNames = (map) => ({ queries: map.queries.map((text) => truncate(text, 18)), keys: map.keys.map((text) => truncate(text, 12)) });

function layoutOf(map, width, sans, maxSize) {
  const names = shortNames(map), widths = (texts) => textWidths(texts, `650 ${FONT}px ${sans}`);
  return mapLayout({ width, minSize: MIN_CELL, maxSize, font: FONT, rows: widths(names.queries), columns: widths(names.keys) });
}

// Returns the layout of a map that fills a width and a height, with large labels. Its cells may be wider than high. `titles` are above
// the map, next to the column labels if there is room.
function largeLayout(map, { width, height, titles = [] }, sans) {
  const { font } = LARGE, names = shortNames(map), widths = (texts) => textWidths(texts, `650 ${font}px ${sans}`), columns = widths(names.keys), longest = Math.max(0, ...columns);
  const left = Math.ceil(Math.min(LARGE.left, Math.max(0, ...widths(names.queries)) + font)), n = columns.length;
  const above = Math.max(...textWidths(titles, `650 ${LARGE.title}px ${sans}`)) > left - font ? LARGE.line : 0;
  const layoutAt = (size) => {
    const x = columnLabels(size, longest, font), lean = (-x.angle * Math.PI) / 180;
    const overhangs = columns.map((each, i) => Math.cos(lean) * Math.min(each, LARGE.top) + font - (n - i - 0.5) * size);
    const top = above + Math.ceil(x.angle === 0 ? 1.8 * font : Math.min(LARGE.top, Math.sin(lean) * longest + font));
    const high = Math.max(MIN_CELL, Math.min(LARGE.high, (height - top - 4) / map.queries.length));
    return { left, top, above, right: x.angle === 0 ? 2 : Math.ceil(Math.max(2, ...overhangs)), size, high, angle: x.angle, columnInterval: x.every, rowInterval: rowLabels(high, font).every };
  };
  for (let size = LARGE.wide; size > MIN_CELL; size -= 0.5) {
    const fit = layoutAt(size);
    if (left + n * size + fit.right <= width) return fit;
  }
  return layoutAt(MIN_CELL);
}

// Returns one cell size for all maps, with which each fits into a width and, if possible, into a height (0: no limit) without labels.
export function cellSize(maps, width, sans, height) {
  const rows = Math.max(...maps.map((map) => map.queries.length)), maxSize = height ? Math.max(MIN_CELL_FOR_HEIGHT, Math.min(MAX_CELL_FOR_HEIGHT, Math.floor(height / rows))) : MAX_CELL;
  return Math.min(...maps.map((map) => layoutOf(map, width, sans, maxSize).size));
}

// Returns a map's canvas and its functions. `size` is the cell size, or the `width` and `height` of the whole map. `ratio` is the number
// of canvas pixels per CSS pixel. `tint` returns the colour of a cell, or null. `ring` and `row` return the marked cell and row at each
// drawing. `on.point` gets the cell under the pointer (null: none), `on.take` the clicked cell.
export function pairMap(map, { width, size, ratio = Math.max(2, devicePixelRatio || 1), sans, colour, tint, ring, row, on, focus, label }) {
  const large = typeof size === "object", layout = large ? largeLayout(map, size, sans) : layoutOf(map, width, sans, size);
  const canvas = element("canvas"), { left, top, size: w, high: h = w } = layout, names = shortNames(map), font = large ? LARGE.font : FONT;
  const m = map.queries.length, n = map.keys.length, wide = left + n * w + layout.right, high = top + m * h + 2;
  Object.assign(canvas, { width: wide * ratio, height: high * ratio, tabIndex: 0 });
  Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", label);
  canvas.dataset.focus = focus;
  const dark = (name) => colour(name === "ink2" ? "ink" : name); // legible from a distance
  function paint() {
    const x = pen(canvas), marked = ring(), markedRow = row();
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, wide, high);
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) {
      const fill = tint(i, j);
      if (!fill) continue;
      x.fillStyle = fill;
      x.fillRect(left + j * w, top + i * h, w, h);
    }
    x.strokeStyle = colour("border");
    x.lineWidth = 1;
    x.strokeRect(left - 0.5, top - 0.5, n * w + 1, m * h + 1);
    const strong = { rows: [marked?.[0], markedRow].filter((each) => each >= 0), columns: [marked?.[1]].filter((each) => each >= 0) };
    drawLabels(x, layout, { ...names, whole: map, font, family: sans, strong, colour: large ? dark : colour });
    x.strokeStyle = colour("ink");
    x.lineWidth = large ? 2.5 : 1.5;
    if (markedRow >= 0) x.strokeRect(left - 1, top + markedRow * h, n * w + 2, h);
    if (!marked) return;
    x.lineWidth = large ? 3 : 2;
    const [i, j] = marked;
    if (i >= 0 && j >= 0) x.strokeRect(left + j * w, top + i * h, w, h);
    canvas.dataset.ring = marked.join(" ");
  }
  const draw = () => { delete canvas.dataset.ring; paint(); };
  const cellAt = (x, y) => {
    const j = Math.floor((x - left) / w), i = Math.floor((y - top) / h);
    return i >= 0 && i < m && j >= 0 && j < n ? [i, j] : null;
  };
  const boxOfCell = ([i, j]) => (i < m && j < n ? [left + j * w, top + i * h, w, h] : null);
  const cellOfEvent = (event) => cellAt(...pointerPosition(event, canvas));
  canvas.onmousemove = (event) => on.point(cellOfEvent(event));
  canvas.onmouseleave = () => on.point(null);
  canvas.onclick = (event) => { const cell = cellOfEvent(event); if (cell) on.take(cell); };
  canvas.onblur = () => on.point(null);
  onKeys(canvas, (key, arrow) => {
    if (arrow) on.point(neighbourCell(ring() || [Math.max(0, row()), 0], ring() ? arrow : [0, 0], map));
    return Boolean(arrow);
  });
  draw();
  return { canvas, draw, cellAt, boxOfCell, above: layout.above };
}

// Returns a description of a map for screen readers.
export const describeMap = (map) => {
  let best = [0, 0];
  map.values.forEach((row, i) => row.forEach((value, j) => { if (value > map.values[best[0]][best[1]]) best = [i, j]; }));
  return `${map.queries.length} queries by ${map.keys.length} keys; the largest weight, ${map.values[best[0]][best[1]].toFixed(3)}, is ${nth(map.queries, best[0])} looking at ${nth(map.keys, best[1])}`;
};
