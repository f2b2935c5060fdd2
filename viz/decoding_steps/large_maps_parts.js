// Where the maps of a layer stand on one canvas: numbers alone, in px of the canvas.

import { columnLabels, rowLabels } from "../kit/chart_labels_parts.js";

export const FONT = 14, TITLE = 26; // px
const GAP = 16, AIR = 6; // px between maps, and between a label and its cells
const LABEL_WIDE = 128, LABEL_HIGH = 92; // px that labels may take
const MOST = 44; // px: a larger cell says no more

// `maps` have `rows` and `columns`, the lengths of their labels, and `same`: whether the map before has the same rows, whose labels
// then serve both. All cells are of one size. Each map's left end, its cells' size, and which labels are shown.
export function placed(maps, width, height) {
  const beside = maps.map(({ rows, same }) => (same ? 0 : Math.min(LABEL_WIDE, Math.max(...rows)) + AIR));
  const cells = maps.reduce((sum, { columns }) => sum + columns.length, 0), most = Math.max(...maps.map(({ rows }) => rows.length));
  const free = width - beside.reduce((sum, each) => sum + each, 0) - GAP * (maps.length - 1) - 4, wide = Math.min(MOST, free / cells);
  const longest = Math.max(...maps.flatMap(({ columns }) => columns)), flat = columnLabels(wide, longest, FONT).angle === 0;
  const top = TITLE + (flat ? 1.4 * FONT : Math.min(LABEL_HIGH, longest) + AIR), high = Math.min(MOST, (height - top - 4) / most);
  const every = { columns: flat ? 1 : Math.ceil((1.05 * FONT) / wide - 1e-9), rows: rowLabels(high, FONT).every };
  let at = 0;
  return maps.map(({ columns, rows }, n) => {
    const left = at + beside[n];
    at = left + columns.length * wide + GAP;
    return { left, top, wide, high, flat, every, labels: LABEL_WIDE, labelled: beside[n] > 0, rows: rows.length, columns: columns.length };
  });
}

export function cellAt({ left, top, wide, high, rows, columns }, x, y) {
  const j = Math.floor((x - left) / wide), i = Math.floor((y - top) / high);
  return i >= 0 && i < rows && j >= 0 && j < columns ? [i, j] : null;
}

export const boxOfCell = ({ left, top, wide, high, rows, columns }, [i, j]) => (i < rows && j < columns ? [left + j * wide, top + i * high, wide, high] : null);
