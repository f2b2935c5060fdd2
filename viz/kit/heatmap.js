// Draws a pattern as a heatmap on a canvas: rows are queries, columns are keys, masked cells are blank. A card shows the value of the
// cell under the pointer. Arrow keys go from cell to cell; Enter, Space or a click chooses the cell.

import { cellTable } from "./cell_table.js";
import { meaningOf } from "./glosses.js";
import { cellFinder, drawLabels, mapLayout, mapPoints, textWidths } from "./map_labels.js";
import { density, element, exactProbability, nth, NUMBERS, onKeys, pointerPosition, signed, withMinusSign, zoomOf } from "./mount.js";
import { largestCell, maskBorder } from "./patterns.js";
import { excludeFromPicture, pen } from "./pen.js";
import { contrastName } from "./readable.js";

const PAGE = { fonts: [11, 10], minSize: 5, maxSize: 22 }; // px; the second font if it shows every label
const LARGE = { fonts: [20, 17, 14], minSize: 2, maxSize: 72, maxHigh: 44 }; // px in lecture mode
const SIZE_STEP_OF_ROWS = 0.5; // px between the cell sizes tried
const ROOMY = 1.9; // cell size relative to the font size from which the larger fonts are used
const NUMBER_SIZE = 20, NUMBER_WEIGHT = 0.05, MIN_NUMBER_FONT = 14, MAX_NUMBER_FONT = 18; // px of a cell with its number in it, the smallest such weight, px of its font
const MOST_OF_ROW = 5; // cells of the outlined row in the table
const CARD_GAP = 8; // px between a cell and its card
const CARD = "position:fixed;z-index:1000;box-sizing:border-box;width:max-content;max-width:260px;padding:5px 9px;border:1px solid var(--lab-border);border-radius:6px;background:var(--lab-field);color:var(--lab-ink);font-size:13px;line-height:18px;pointer-events:none;overflow-wrap:anywhere";

const bold = (font, family) => `650 ${font}px ${family}`;
const familyOf = (root) => getComputedStyle(root).fontFamily;
export const inside = (n, count) => Math.max(0, Math.min(count - 1, n));

function layoutPattern({ queries, keys }, family, { width, height, large = false, rowLabels = true, ...limits }) {
  const { fonts, ...sizes } = { ...(large ? LARGE : PAGE), ...limits };
  const layouts = fonts.map((font) => ({ font, ...mapLayout({ ...sizes, width, height, font, rows: textWidths(queries, bold(font, family)).map((each) => (rowLabels ? each : 0)), columns: textWidths(keys, bold(font, family)) }) }));
  const fits = large ? ({ size, high, font }) => Math.min(size, high) >= ROOMY * font : ({ rowInterval, columnInterval }) => rowInterval * columnInterval === 1;
  return layouts.find(fits) ?? layouts[large ? layouts.length - 1 : 0];
}

// Returns the cell size with which all patterns fit into the same room.
export const commonSize = (patterns, root, room) => Math.min(...patterns.map((pattern) => layoutPattern(pattern, familyOf(root), room).size));

// Returns a room for each pattern, `perRow` next to each other with a gap, all with the largest cells of one size that fit the width
// and the height.
export function roomsInRows(patterns, root, { width, height, gap, perRow, large = false }) {
  const family = familyOf(root), { minSize, maxSize } = large ? LARGE : PAGE;
  for (let size = maxSize; ; size = Math.max(minSize, size - SIZE_STEP_OF_ROWS)) {
    const rooms = patterns.map((_, n) => ({ width: Infinity, height, large, maxSize: size, rowLabels: n % perRow === 0 || !sharesLabels(patterns, n) }));
    const layouts = patterns.map((pattern, n) => layoutPattern(pattern, family, rooms[n]));
    const widthFrom = (first) => layouts.slice(first, first + perRow).reduce((sum, layout) => sum + layout.width + gap, -gap);
    const fits = layouts.every((layout, n) => layout.size === size && (n % perRow || widthFrom(n) <= width));
    if (fits || size === minSize) return { rooms, size };
  }
}

// Returns whether a pattern has the same rows as the one before it, whose labels then serve both.
export const sharesLabels = (patterns, n) => n > 0 && String(patterns[n].queries) === String(patterns[n - 1].queries);

// Returns the colour of a cell, or null if it is masked: weights from 0 to 1 (with `byRow` up to the largest weight of the row), or
// differences from -most to most. `scale` lists the colours from the lowest value to the highest.
export function tintOf({ values, allowed, most }, scale, byRow = false) {
  const last = scale.length - 1, limits = byRow ? values.map((row) => Math.max(...row) || 1) : null;
  return (i, j) => {
    if (!allowed[i][j]) return null;
    const share = most === null ? values[i][j] / (limits ? limits[i] : 1) : values[i][j] / most / 2 + 0.5;
    return scale[Math.round(Math.max(0, Math.min(1, share)) * last)];
  };
}

export const rgb = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));

// Draws the cells on a canvas, one pixel each.
export function paintCells(canvas, rows, columns, tint) {
  const image = new ImageData(columns, rows), parsed = new Map();
  for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
    const colour = tint(i, j);
    if (!colour) continue;
    if (!parsed.has(colour)) parsed.set(colour, [...rgb(colour), 255]);
    image.data.set(parsed.get(colour), (i * columns + j) * 4);
  }
  Object.assign(canvas, { width: columns, height: rows });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Returns a weight or a difference as text.
export const formatValue = ({ most, digits = 5 }, value) => (most === null ? value.toFixed(digits) : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`);

// Returns the lines of the card of a cell, a row or a column, with the meanings of French words.
export function describeCell(pattern, [i, j]) {
  const { words } = pattern, meaning = words ? meaningOf(...(words.queries[i] ?? []), ...(words.keys[j] ?? [])) : "";
  return [...describeNumbers(pattern, [i, j]), ...(meaning ? [meaning] : [])];
}

function describeNumbers(pattern, [i, j]) {
  const { queries, keys, values, allowed, candidates } = pattern;
  if (i === null) return [nth(keys, j), `column ${j + 1} of ${keys.length}`];
  const predicted = candidates?.[i]?.length ? [`predicts ${candidates[i].map(([token, p]) => `${token} ${exactProbability(p)}`).join(", ")}`] : [];
  if (j === null) return [nth(queries, i), `row ${i + 1} of ${queries.length}`, ...predicted];
  return [`${nth(queries, i)} on ${nth(keys, j)}`, allowed[i][j] ? formatValue(pattern, values[i][j]) : "masked", ...predicted];
}

// Returns a description of a pattern for screen readers.
export function describePattern(pattern) {
  const { queries, keys, values } = pattern, [i, j] = largestCell(pattern);
  return `${queries.length} queries by ${keys.length} keys; the largest value, ${exactProbability(values[i][j])}, is ${nth(queries, i)} looking at ${nth(keys, j)}`;
}

// Returns the range of a scale of differences as text.
export const rangeOf = ({ most }) => `${signed(-most)} to ${signed(most)}`;

// Returns a heatmap: its `node`, its `canvas`, `draw()` after other marks, and `refresh()` after other values.
//   room: `width` and `height` in pixels, `large` in lecture mode, `maxSize` of a cell, `rowLabels` false without labels of rows.
//   tint(i, j): the colour of a cell or null. numbers: writes the weights into large cells. zoom: scales the canvas and its labels.
//   row(): the outlined row, or -1. cells: cells with a thick ring. ring(): the marked cell of a linked heatmap; -1 for no such row or column.
//   describe(cell): the lines of the card. points: the names of cells, rows and columns for the pointer of a lecture.
//   onPoint(cell or null), onChoose(cell).
//   table: of the table of the largest cells, the `label`, `valueName` and `valueText(cell)`; `listed` marks its cells if not all allowed ones.
export function heatmap(pattern, { root, room, colour, style = null, tint, label, focus, points, zoom = 1, numbers = false, row = () => -1, cells = [], ring = null, describe = (cell) => describeCell(pattern, cell), onPoint = null, onChoose = null, table: { label: tableLabel = pattern.title, valueName = "Value", valueText = ([i, j]) => formatValue(pattern, pattern.values[i][j]), listed = pattern.allowed } = {} }) {
  const { queries, keys } = pattern, m = queries.length, n = keys.length, family = familyOf(root), { large = false } = room;
  const layout = layoutPattern(pattern, family, room), { left, top, size, high, font, width, height } = layout, ratio = density(root) * zoom;
  const node = element("div", "heatmap"), canvas = element("canvas"), ground = element("canvas"), card = excludeFromPicture(element("div", "card"), true);
  const find = cellFinder(layout, m, n), border = maskBorder(pattern.allowed), former = pattern.former && linesWithout(maskBorder(pattern.former), border);
  const labelColour = (name) => colour(large && name === "ink2" ? "ink" : name); // legible from a distance
  let mark = null, reached = null; // the cell under the pointer; the cell that the keys have reached
  Object.assign(canvas, { width: width * ratio, height: height * ratio, tabIndex: 0 });
  Object.assign(canvas.style, { display: "block", width: `${width * zoom}px`, height: `${height * zoom}px`, cursor: onChoose ? "pointer" : "" });
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", label);
  canvas.dataset.focus = focus;
  canvas.labPoints = mapPoints(canvas, layout, m, n, points);
  card.style.cssText = CARD;
  card.setAttribute("role", "status");
  card.hidden = true;
  const table = cellTable({ owner: root, name: focus, label: tableLabel, read: readTables });
  node.append(canvas, table, card);

  const fits = Math.min(size, high) >= NUMBER_SIZE, choice = () => large && document.documentElement.dataset.labNumbers;
  const hasNumbers = () => fits && (choice() ? choice() === "on" : numbers);
  if (large) onNumbers();

  const boxOf = ([i, j]) => [i < 0 || i === null ? null : top + i * high, j < 0 || j === null ? null : left + j * size];

  function draw() {
    const x = pen(canvas), current = row(), linked = ring ? ring() : mark, marks = [linked, ...cells].filter(Boolean);
    const labels = room.rowLabels === false ? { queries: [], hiddenQueries: queries, keys } : { queries, keys }, isLabelled = (texts) => (n) => n !== null && n >= 0 && n < texts.length;
    const strong = { rows: [...marks.map(([i]) => i), current].filter(isLabelled(labels.queries)), columns: marks.map(([, j]) => j).filter(isLabelled(keys)) };
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, height);
    x.imageSmoothingEnabled = false;
    x.drawImage(ground, left, top, n * size, m * high);
    x.lineWidth = 1;
    x.strokeStyle = colour("border");
    drawBorder(x, border);
    if (former) {
      x.strokeStyle = colour("ink");
      x.setLineDash([2, 2]);
      drawBorder(x, former);
      x.setLineDash([]);
    }
    drawLabels(x, layout, { ...labels, font, family, strong, colour: labelColour });
    if (hasNumbers()) drawNumbers(x);
    x.strokeStyle = colour("ink");
    x.lineWidth = large ? 2.5 : 1.5;
    if (current >= 0 && current < m) x.strokeRect(left - 1, top + current * high, n * size + 2, high);
    x.lineWidth = 2.5;
    for (const each of cells) drawRing(x, each);
    x.lineWidth = large ? 3 : 2;
    delete canvas.dataset.ring;
    delete canvas.dataset.row;
    if (current >= 0) canvas.dataset.row = current + 1;
    if (linked) { canvas.dataset.ring = linked.join(" "); drawRing(x, linked); }
    table.refresh();
  }

  function readTables() { // of the map, and of the outlined row
    const cellsOf = (i) => keys.flatMap((_, j) => (listed[i][j] ? [{ value: pattern.values[i][j], i, j }] : [])), current = row();
    const shared = { columns: ["Row", "Column", valueName], texts: ({ i, j }) => [nth(queries, i), nth(keys, j), valueText([i, j])] };
    const ofRow = current >= 0 && current < m ? cellsOf(current) : [], whole = { ...shared, cells: queries.flatMap((_, i) => cellsOf(i)), unit: "cells" };
    return ofRow.length ? [whole, { ...shared, cells: ofRow, unit: `cells in the row ${nth(queries, current)}`, most: MOST_OF_ROW }] : [whole];
  }

  function drawRing(x, cell) {
    const [y, z] = boxOf(cell);
    if (y !== null && z !== null) x.strokeRect(z, y, size, high);
  }

  function drawBorder(x, lines) {
    x.beginPath();
    for (const [x0, y0, x1, y1] of lines) {
      x.moveTo(left + x0 * size, top + y0 * high);
      x.lineTo(left + x1 * size, top + y1 * high);
    }
    x.stroke();
  }

  function onNumbers() { // a lecturer's key
    document.addEventListener(NUMBERS, function change({ detail }) {
      if (!canvas.isConnected) { document.removeEventListener(NUMBERS, change); return; }
      detail.maps += 1;
      detail.fit += fits;
      if (!fits) return;
      detail.on ??= !hasNumbers();
      document.documentElement.dataset.labNumbers = detail.on ? "on" : "off";
      draw();
    });
  }

  function drawNumbers(x) {
    x.font = `${Math.min(MAX_NUMBER_FONT, Math.max(MIN_NUMBER_FONT, Math.min(size, high) / 2.2))}px ${family}`;
    x.textAlign = "center";
    x.textBaseline = "middle";
    pattern.values.forEach((values, i) => values.forEach((value, j) => {
      if (!pattern.allowed[i][j] || Math.abs(value) < NUMBER_WEIGHT) return;
      x.fillStyle = colour(contrastName(tint(i, j), style));
      x.fillText(Math.abs(value) >= 0.995 ? value.toFixed(0) : withMinusSign(value.toFixed(2).replace("0.", ".")), left + (j + 0.5) * size, top + (i + 0.5) * high + 0.5);
    }));
  }

  function point(cell) { // also the label of a row or a column
    if (String(cell) === String(mark)) return;
    mark = cell;
    showCard();
    onPoint?.(cell && cell[0] !== null && cell[1] !== null ? cell : null);
    draw();
  }

  function showCard() {
    card.hidden = !mark;
    if (!mark) return;
    const [title, ...lines] = describe(mark).map((text) => element("div", "", text)), box = canvas.getBoundingClientRect(), scale = box.width / width, inner = zoomOf(card);
    title.style.fontWeight = 650;
    card.replaceChildren(title, ...lines);
    const [y, x] = boxOf(mark), across = box.left + (x ?? 0) * scale, down = box.top + (y ?? 0) * scale, { offsetWidth, offsetHeight } = card;
    const [cardWidth, cardHeight, gap] = [offsetWidth, offsetHeight, CARD_GAP].map((length) => length * inner);
    const below = down + (y === null ? top : high) * scale + gap, above = down - gap - cardHeight;
    const right = across + (x === null ? left : size) * scale + gap;
    const place = { left: Math.max(0, right + cardWidth <= innerWidth ? right : across - gap - cardWidth), top: below + cardHeight <= innerHeight || above < 0 ? below : above };
    Object.assign(card.style, { left: `${place.left / inner}px`, top: `${place.top / inner}px` });
  }

  function refresh() {
    paintCells(ground, m, n, tint);
    showCard();
    draw();
  }

  function go(i, j) {
    reached = [inside(i, m), inside(j, n)];
    const scroll = node.parentElement;
    point(reached);
    if (scroll) reveal(scroll, ...[left + reached[1] * size, top + reached[0] * high, size, high].map((length) => length * zoom));
    showCard();
  }

  const cellOf = (event) => { const [x, y] = pointerPosition(event, canvas); return find(x / zoom, y / zoom); };
  const start = () => largestCell(pattern, inside(row(), m) === row() ? row() : -1);
  canvas.onmousemove = (event) => point(cellOf(event));
  canvas.onmouseleave = () => point(reached);
  canvas.onclick = (event) => { const cell = cellOf(event); if (cell && !cell.includes(null)) onChoose?.(cell); };
  canvas.onfocus = () => { if (canvas.matches(":focus-visible")) go(...start()); };
  canvas.onblur = () => { reached = null; point(null); };
  onKeys(canvas, (key, arrow) => {
    if (arrow) { const [i, j] = reached ?? start(); go(i + (reached ? arrow[0] : 0), j + (reached ? arrow[1] : 0)); return true; }
    if (key === "Escape" && mark) { reached = null; point(null); return true; }
    if ((key !== "Enter" && key !== " ") || !onChoose || !reached) return false;
    onChoose(reached);
    return true;
  });
  refresh();
  return { node, canvas, draw, refresh, layout };
}

function linesWithout(lines, others) {
  const known = new Set(others.map(String));
  return lines.filter((line) => !known.has(String(line)));
}

// Scrolls a node as little as needed to show a box of its content.
export function reveal(scroll, left, top, width, height) {
  scroll.scrollTop = Math.min(top, Math.max(scroll.scrollTop, top + height - scroll.clientHeight));
  scroll.scrollLeft = Math.min(left, Math.max(scroll.scrollLeft, left + width - scroll.clientWidth));
}
