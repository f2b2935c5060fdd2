// One of the maps on a canvas, with what is pointed at ringed. Nothing here makes markup from text.

import { across, down } from "./chart_labels_parts.js";
import { cut, element, nth, onKeys, spotIn } from "./mount.js";
import { drawLabels, lengthsOf, mapLayout } from "./map_labels.js";
import { pen } from "./pen.js";

const FONT = 11; // px
const MOST = 22, LEAST = 5; // px that a cell may take
const TALLEST = 26, LOWEST = 12; // the same, by the height that there is
const LARGE = { font: 14, title: 16, line: 22, wide: 72, high: 44, left: 132, top: 92 }; // px, in a map that fills the screen: the most of all but the font

// The cell that an arrow leads to, within a map.
export const moved = ([i, j], [down, right], map) => [bounded(i + down, map.queries.length), bounded(j + right, map.keys.length)];
const bounded = (n, count) => Math.max(0, Math.min(count - 1, n));

const named = (map) => ({ queries: map.queries.map((text) => cut(text, 18)), keys: map.keys.map((text) => cut(text, 12)) });

function layoutOf(map, width, sans, most) {
  const names = named(map), measured = (texts) => lengthsOf(texts, `650 ${FONT}px ${sans}`);
  return mapLayout({ width, least: LEAST, most, font: FONT, rows: measured(names.queries), columns: measured(names.keys) });
}

// A map that fills a width and a height, its labels in large type: its cells may be wider than high.
// Above it stand `titles`, beside the labels of the columns where there is room.
function largeLayout(map, { width, height, titles = [] }, sans) {
  const { font } = LARGE, names = named(map), measured = (texts) => lengthsOf(texts, `650 ${font}px ${sans}`), columns = measured(names.keys), longest = Math.max(0, ...columns);
  const left = Math.ceil(Math.min(LARGE.left, Math.max(0, ...measured(names.queries)) + font)), n = columns.length;
  const above = Math.max(...lengthsOf(titles, `650 ${LARGE.title}px ${sans}`)) > left - font ? LARGE.line : 0;
  const at = (size) => {
    const x = across(size, longest, font), lean = (-x.angle * Math.PI) / 180;
    const over = columns.map((each, i) => Math.cos(lean) * Math.min(each, LARGE.top) + font - (n - i - 0.5) * size);
    const top = above + Math.ceil(x.angle === 0 ? 1.8 * font : Math.min(LARGE.top, Math.sin(lean) * longest + font));
    const high = Math.max(LEAST, Math.min(LARGE.high, (height - top - 4) / map.queries.length));
    return { left, top, above, right: x.angle === 0 ? 2 : Math.ceil(Math.max(2, ...over)), size, high, angle: x.angle, across: x.every, down: down(high, font).every };
  };
  for (let size = LARGE.wide; size > LEAST; size -= 0.5) {
    const fit = at(size);
    if (left + n * size + fit.right <= width) return fit;
  }
  return at(LEAST);
}

// The size of a cell with which each of some maps fits into a width, and where it can into a height (0: any), its labels aside:
// the same in all.
export function cellSize(maps, width, sans, height) {
  const rows = Math.max(...maps.map((map) => map.queries.length)), most = height ? Math.max(LOWEST, Math.min(TALLEST, Math.floor(height / rows))) : MOST;
  return Math.min(...maps.map((map) => layoutOf(map, width, sans, most).size));
}

// `size` is that of a cell, or the `width` and `height` that the map fills; `ratio` is how many pixels the canvas has for each of
// its own. `tint` gives the colour of a cell, or null; `ring` and `row` are looked up at each drawing; `on` hears of a cell (null: of
// none), and of a click on one.
export function pairMap(map, { width, size, ratio = Math.max(2, devicePixelRatio || 1), sans, colour, tint, ring, row, on, focus, label }) {
  const large = typeof size === "object", layout = large ? largeLayout(map, size, sans) : layoutOf(map, width, sans, size);
  const canvas = element("canvas"), { left, top, size: w, high: h = w } = layout, names = named(map), font = large ? LARGE.font : FONT;
  const m = map.queries.length, n = map.keys.length, wide = left + n * w + layout.right, high = top + m * h + 2;
  Object.assign(canvas, { width: wide * ratio, height: high * ratio, tabIndex: 0 });
  Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", label);
  canvas.dataset.focus = focus;
  const dark = (name) => colour(name === "ink2" ? "ink" : name); // from far away
  function paint() {
    const x = pen(canvas), marked = ring(), at = row();
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
    const strong = { rows: [marked?.[0], at].filter((each) => each >= 0), columns: [marked?.[1]].filter((each) => each >= 0) };
    drawLabels(x, layout, { ...names, whole: map, font, family: sans, strong, colour: large ? dark : colour });
    x.strokeStyle = colour("ink");
    x.lineWidth = large ? 2.5 : 1.5;
    if (at >= 0) x.strokeRect(left - 1, top + at * h, n * w + 2, h);
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
  const hit = (event) => cellAt(...spotIn(event, canvas));
  canvas.onmousemove = (event) => on.point(hit(event));
  canvas.onmouseleave = () => on.point(null);
  canvas.onclick = (event) => { const cell = hit(event); if (cell) on.take(cell); };
  canvas.onblur = () => on.point(null);
  onKeys(canvas, (key, arrow) => {
    if (arrow) on.point(moved(ring() || [Math.max(0, row()), 0], ring() ? arrow : [0, 0], map));
    return Boolean(arrow);
  });
  draw();
  return { canvas, draw, cellAt, boxOfCell, above: layout.above };
}

export const largest = (map) => {
  let best = [0, 0];
  map.values.forEach((row, i) => row.forEach((value, j) => { if (value > map.values[best[0]][best[1]]) best = [i, j]; }));
  return `${map.queries.length} queries by ${map.keys.length} keys; the largest weight, ${map.values[best[0]][best[1]].toFixed(3)}, is ${nth(map.queries, best[0])} looking at ${nth(map.keys, best[1])}`;
};
