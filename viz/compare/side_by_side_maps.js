// One of the maps on a canvas, with what is pointed at ringed. Nothing here makes markup from text.

import { cut, element, nth, onKeys } from "../shared/mount.js";
import { drawLabels, lengthsOf, mapLayout } from "../shared/map_labels.js";
import { pen } from "../shared/save/pen.js";
import { moved } from "./side_by_side_parts.js";

const FONT = 11; // px
const MOST = 22, LEAST = 5; // px that a cell may take
const TALLEST = 26, LOWEST = 12; // the same, by the height that there is

const named = (map) => ({ queries: map.queries.map((text) => cut(text, 18)), keys: map.keys.map((text) => cut(text, 12)) });

function layoutOf(map, width, sans, most) {
  const names = named(map), measured = (texts) => lengthsOf(texts, `650 ${FONT}px ${sans}`);
  return mapLayout({ width, least: LEAST, most, font: FONT, rows: measured(names.queries), columns: measured(names.keys) });
}

// The size of a cell with which each of some maps fits into a width, and where it can into a height (0: any), its labels aside:
// the same in all.
export function cellSize(maps, width, sans, height) {
  const rows = Math.max(...maps.map((map) => map.queries.length)), most = height ? Math.max(LOWEST, Math.min(TALLEST, Math.floor(height / rows))) : MOST;
  return Math.min(...maps.map((map) => layoutOf(map, width, sans, most).size));
}

// `tint` gives the colour of a cell, or null; `ring` and `row` are looked up at each drawing; `on` hears of a cell (null: of
// none), and of a click on one.
export function pairMap(map, { width, size, sans, colour, tint, ring, row, on, focus, label }) {
  const canvas = element("canvas"), layout = layoutOf(map, width, sans, size), { left, top } = layout, names = named(map);
  const m = map.queries.length, n = map.keys.length, ratio = Math.max(2, devicePixelRatio || 1);
  const wide = left + n * layout.size + layout.right, high = top + m * layout.size + 2;
  Object.assign(canvas, { width: wide * ratio, height: high * ratio, tabIndex: 0 });
  Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", label);
  canvas.dataset.focus = focus;
  function paint() {
    const x = pen(canvas), marked = ring(), at = row();
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, wide, high);
    for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) {
      const fill = tint(i, j);
      if (!fill) continue;
      x.fillStyle = fill;
      x.fillRect(left + j * layout.size, top + i * layout.size, layout.size, layout.size);
    }
    x.strokeStyle = colour("border");
    x.lineWidth = 1;
    x.strokeRect(left - 0.5, top - 0.5, n * layout.size + 1, m * layout.size + 1);
    const strong = { rows: [marked?.[0], at].filter((each) => each >= 0), columns: [marked?.[1]].filter((each) => each >= 0) };
    drawLabels(x, layout, { ...names, whole: map, font: FONT, family: sans, strong, colour });
    x.strokeStyle = colour("ink");
    x.lineWidth = 1.5;
    if (at >= 0) x.strokeRect(left - 1, top + at * layout.size, n * layout.size + 2, layout.size);
    if (!marked) return;
    x.lineWidth = 2;
    const [i, j] = marked;
    if (i >= 0 && j >= 0) x.strokeRect(left + j * layout.size, top + i * layout.size, layout.size, layout.size);
    canvas.dataset.ring = marked.join(" ");
  }
  const draw = () => { delete canvas.dataset.ring; paint(); };
  const cellAt = (x, y) => {
    const j = Math.floor((x - left) / layout.size), i = Math.floor((y - top) / layout.size);
    return i >= 0 && i < m && j >= 0 && j < n ? [i, j] : null;
  };
  const boxOfCell = ([i, j]) => (i < m && j < n ? [left + j * layout.size, top + i * layout.size, layout.size, layout.size] : null);
  const hit = (event) => cellAt(event.offsetX, event.offsetY);
  canvas.onmousemove = (event) => on.point(hit(event));
  canvas.onmouseleave = () => on.point(null);
  canvas.onclick = (event) => { const cell = hit(event); if (cell) on.take(cell); };
  canvas.onblur = () => on.point(null);
  onKeys(canvas, (key, arrow) => {
    if (arrow) on.point(moved(ring() || [Math.max(0, row()), 0], ring() ? arrow : [0, 0], map));
    return Boolean(arrow);
  });
  draw();
  return { canvas, draw, cellAt, boxOfCell };
}

export const largest = (map) => {
  let best = [0, 0];
  map.values.forEach((row, i) => row.forEach((value, j) => { if (value > map.values[best[0]][best[1]]) best = [i, j]; }));
  return `${map.queries.length} queries by ${map.keys.length} keys; the largest weight, ${map.values[best[0]][best[1]].toFixed(3)}, is ${nth(map.queries, best[0])} looking at ${nth(map.keys, best[1])}`;
};
