// One head as lines from token to token and as a map. Nothing here makes markup from text: textContent only.
// Both tell exact weights, to the pointer and to the arrow keys.

import { truncate, density, svgElement, element, nth, onKeys, pointAt, pointerPosition } from "../kit/mount.js";
import { drawLabels, textWidths, mapLayout, mapPoints, visibleLabels } from "../kit/map_labels.js";
import { contrastName } from "../kit/readable.js";
import { pen } from "../kit/pen.js";
import { rgb } from "./all_heads_parts.js";

const FONT = 11; // px, of a map's labels
const LARGE_FONT = 14; // px, of those in lecture mode, and of the weights in its cells
const TOLD_FROM = 20, TOLD_WEIGHT = 0.05; // px of a cell, and the weight, from which it is written there

export const inside = (n, count) => Math.max(0, Math.min(count - 1, n));

function reachable(node, focus, label) { // by Tab, worked with arrow keys
  node.setAttribute("tabindex", 0);
  node.dataset.focus = focus;
  node.setAttribute("role", "application");
  node.setAttribute("aria-label", label);
}

function spoken(className) {
  const said = element("p", className);
  said.setAttribute("aria-live", "polite");
  return said;
}

function onArrows(node, start, move, take) { // start() where nothing is marked yet, take() on Enter
  onKeys(node, (key, arrow) => {
    if (arrow) move(...arrow);
    else if (key === "Enter") take();
    return Boolean(arrow) || key === "Enter";
  });
  node.addEventListener("focus", () => { if (node.matches(":focus-visible")) start(); });
}

function reveal(scroll, left, top, width, height) { // scrolls no more than it must
  scroll.scrollTop = Math.min(top, Math.max(scroll.scrollTop, top + height - scroll.clientHeight));
  scroll.scrollLeft = Math.min(left, Math.max(scroll.scrollLeft, left + width - scroll.clientWidth));
}

// How large the lines are drawn, and their tokens; in lecture mode as large as the `place` lets them be, and some are left out.
function linesLayout({ queries, keys }, place) {
  const most = Math.max(queries.length, keys.length), sign = (font) => 0.62 * font;
  const pitch = place ? Math.min(44, (place.height - 4) / most) : Math.max(13, Math.min(22, 300 / most));
  const font = place ? Math.max(LARGE_FONT, Math.min(20, pitch * 0.78)) : 11.7, width = place ? place.width : 380, shown = place ? 18 : 22;
  const long = (texts) => 12 + Math.max(...texts.map((text) => Math.min(shown, text.length))) * sign(font);
  const from = Math.min(place ? 0.36 * width : 150, long(keys)), to = width - Math.min(place ? 0.36 * width : 170, long(queries));
  return { most, pitch, font, width, from, to, shown, height: most * pitch + 4, every: place ? Math.max(1, Math.ceil((1.05 * font) / pitch)) : 1 };
}

// Keys on the left, queries on the right, a line for every weight that is kept. `place`: the width and height that they fill.
export function tokenLines(map, grid, place = null) {
  const scroll = element("div", "lines"), said = spoken("told"), { queries, keys, values } = map, sides = [keys, queries];
  const title = element("h3", "", "Token to token");
  title.append(element("small", "", map.rough ? "weights above 0.08" : "Tokens on the right look at tokens on the left."));
  const { most, pitch, font, width, from, to, shown, height, every } = linesLayout(map, place);
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, height });
  reachable(svg, "lines", `Lines of ${queries.length} queries on the right to ${keys.length} keys on the left; a thick line is much weight. Arrow keys go from token to token${map.pick ? ", Enter on one of each side finds the heads that link them" : ""}.`);
  const y = (i, count) => (i + 0.5) * pitch + ((most - count) * pitch) / 2, paths = [], labels = [];
  const opacity = (weight) => Math.min(1, 0.1 + 0.9 * weight);
  values.forEach((row, i) => row.forEach((weight, j) => {
    if (!map.kept[i][j]) return;
    const [a, b] = [y(j, keys.length), y(i, queries.length)], middle = (from + to) / 2;
    const path = svgElement("path", { d: `M${from} ${a}C${middle} ${a} ${middle} ${b} ${to} ${b}`, stroke: `var(--lab-${grid.kind})`, "stroke-width": (place ? 1.5 : 1) * (0.75 + 4 * weight), "stroke-opacity": opacity(weight) });
    paths.push([path, i, j, weight]);
    svg.append(path);
  }));
  const rest = map.rough ? "" : !map.pick ? `${pointAt()} a token for its weights.` : `${pointAt()} a token for its weights, ${pointAt() === "Tap" ? "one" : "click one"} on each side to find the heads that link them.`;
  const picked = [null, null]; // the key and the query that have been clicked
  let at = null; // side and number of the token that the keys have reached
  function isolate(side, n) {
    for (const [path, i, j, weight] of paths) path.setAttribute("stroke-opacity", n === null || (side ? i : j) === n ? opacity(weight) : 0.03);
    for (const [text, s, k] of labels) {
      text.classList.toggle("off", n !== null && s === side && k !== n);
      text.classList.toggle("on", (s === side && k === n) || picked[s] === k);
    }
    said.textContent = n === null ? rest : told(side, n);
  }
  function told(side, n) {
    const row = (side ? values[n] : values.map((weights) => weights[n])).map((weight, k) => [weight, k]);
    const found = row.filter(([weight]) => weight >= 0.005).sort((a, b) => b[0] - a[0]).slice(0, 3);
    const shown = found.map(([weight, k]) => `${nth(sides[1 - side], k)} ${map.rough ? "about " : ""}${weight.toFixed(2)}`);
    return `${nth(sides[side], n)} ${side ? "looks at" : "is looked at by"} ${shown.join(", ") || "nothing"}`;
  }
  function take(side, n) { // a click on a token of each side asks for the heads that link them
    if (!map.pick) return;
    picked[side] = picked[side] === n ? null : n;
    const [key, query] = picked;
    if (key === null || query === null) { isolate(side, n); if (picked[side] !== null) said.textContent += `. Now click a token on the ${side ? "left" : "right"}.`; return; }
    if (map.allowed[query][key]) return map.pick(query, key);
    picked[1 - side] = null;
    isolate(side, n);
    said.textContent = `${nth(queries, query)} may not look at ${nth(keys, key)}`;
  }
  const strong = sides.map((tokens, side) => visibleLabels(tokens.length, every, side && map.row !== null ? [map.row] : []));
  sides.forEach((tokens, side) => strong[side].forEach((n) => {
    const text = tokens[n], node = svgElement("text", { x: side ? to + 6 : from - 6, y: y(n, tokens.length) + font / 3, class: side ? "query" : "key" }, truncate(text, shown));
    node.dataset.point = `${side ? "row" : "column"} ${n + 1}`;
    if (place) node.style.fontSize = `${font}px`;
    node.append(svgElement("title", {}, text));
    node.onmouseenter = () => isolate(side, n);
    node.onmouseleave = () => isolate(...(at || [side, null]));
    node.onclick = () => take(side, n);
    labels.push([node, side, n]);
    svg.append(node);
  }));
  const go = (side, n) => {
    at = [side, inside(n, sides[side].length)];
    isolate(...at);
    const scale = svg.getBoundingClientRect().height / height;
    reveal(scroll, 0, (y(at[1], sides[side].length) - pitch / 2) * scale, 0, pitch * scale);
  };
  onArrows(svg, () => go(1, map.row ?? 0), (down, right) => {
    const [side, n] = at || [1, map.row ?? 0];
    if (right) go(Number(right > 0), n);
    else go(side, n + down);
  }, () => at && take(...at));
  svg.addEventListener("blur", () => { at = null; isolate(1, null); });
  if (map.row !== null) svg.append(svgElement("rect", { x: to + 2, y: y(map.row, queries.length) - Math.max(pitch, font * 1.3) / 2 + 1, width: width - to - 4, height: Math.max(pitch, font * 1.3) - 2, rx: 4, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
  said.textContent = rest;
  scroll.append(svg);
  return { title, scroll, said };
}

// The colour of each cell.
function tinted({ values, byRow }, { scale }) {
  return values.map((row) => {
    const most = byRow ? Math.max(...row) || 1 : 1;
    return row.map((weight) => scale[Math.round(Math.min(1, weight / most) * (scale.length - 1))]);
  });
}

// The cells alone, a pixel each.
export function painted(map, grid) {
  const { values, allowed } = map, m = values.length, n = values[0].length, canvas = element("canvas"), image = new ImageData(n, m), tints = tinted(map, grid);
  for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) if (allowed[i][j]) image.data.set([...rgb(tints[i][j]), 255], (i * n + j) * 4);
  Object.assign(canvas, { width: n, height: m });
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// Queries are rows, keys are columns; what the mask forbids is not painted. `screen`: the width and height that it may fill,
// its labels growing with it; null where it stands beside the lines. `place`: the same in lecture mode, where the labels have
// their size, some of them left out where there are many, and large cells have their weights in them. `root` is mounted.
export function fullMap(map, grid, { root, colour, sans, screen = null, place = null, style = {} }) {
  const scroll = element("div", "map"), canvas = element("canvas"), said = spoken("said");
  const title = element("h3", "", "Full map");
  title.append(element("small", "", map.byRow ? "colour up to each row’s maximum" : "a row asks, a column answers"));
  const { queries, keys, values } = map, n = keys.length, m = queries.length;
  const measured = (texts, font) => textWidths(texts, `650 ${font}px ${sans}`);
  const most = screen ? Math.max(4, inside(Math.floor((screen.height - 80) / m), 21)) : 20;
  const labels = (font) => ({ font, rows: measured(queries, font), columns: measured(keys, font) });
  const filling = (font) => ({ font, layout: mapLayout({ ...place, ...labels(font), minSize: 2, maxSize: 60 }) }), roomy = (at) => at.layout.size >= 1.9 * at.font;
  const { font, layout } = place
    ? [20, 17].map(filling).find(roomy) || filling(LARGE_FONT)
    : { font: FONT, layout: mapLayout({ ...labels(FONT), width: screen ? screen.width : 328, minSize: Math.min(5, most), maxSize: most }) };
  const { left, top, size } = layout, width = left + n * size + layout.right, height = top + m * size + 2;
  const zoom = screen ? Math.max(1, Math.min(screen.width / width, screen.height / height)) : 1, ratio = density(root) * zoom;
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  Object.assign(canvas.style, { width: `${width * zoom}px`, height: `${height * zoom}px` });
  const cells = painted(map, grid), tints = place ? tinted(map, grid) : null;
  canvas.labPoints = mapPoints(canvas, layout, m, n);
  let mark = null, at = null; // the cell that is told; the one that the keys have reached
  const paint = () => {
    const x = pen(canvas);
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, width, height);
    x.imageSmoothingEnabled = false;
    x.drawImage(cells, left, top, n * size, m * size);
    x.strokeStyle = colour("border");
    x.lineWidth = 1;
    x.strokeRect(left - 0.5, top - 0.5, n * size + 1, m * size + 1);
    const strong = { rows: [mark?.[0], map.row, map.cell?.[0]], columns: [mark?.[1], map.cell?.[1]] };
    for (const side in strong) strong[side] = strong[side].filter((each) => each != null);
    drawLabels(x, layout, { queries, keys, font, family: sans, strong, colour });
    if (place && size >= TOLD_FROM) written(x);
    x.strokeStyle = colour("ink");
    x.lineWidth = place ? 2.5 : 1.5;
    if (map.row !== null) x.strokeRect(left - 1, top + map.row * size, n * size + 2, size);
    if (map.cell) { x.lineWidth = 2.5; x.strokeRect(left + map.cell[1] * size, top + map.cell[0] * size, size, size); x.lineWidth = 1.5; }
    if (mark) x.strokeRect(left + mark[1] * size, top + mark[0] * size, size, size);
  };
  const written = (x) => { // the weight in its cell
    x.font = `${Math.min(18, Math.max(LARGE_FONT, size / 2.2))}px ${sans}`;
    x.textAlign = "center";
    x.textBaseline = "middle";
    values.forEach((row, i) => row.forEach((weight, j) => {
      if (!map.allowed[i][j] || weight < TOLD_WEIGHT) return;
      x.fillStyle = colour(contrastName(tints[i][j], style));
      x.fillText(weight >= 0.995 ? weight.toFixed(0) : weight.toFixed(2).slice(1), left + (j + 0.5) * size, top + (i + 0.5) * size + 0.5);
    }));
  };
  const told = ([i, j]) => (map.allowed[i][j] ? `${nth(queries, i)} on ${nth(keys, j)}: ${map.rough ? "about " : ""}${values[i][j].toFixed(map.rough ? 2 : 5)}` : `${nth(queries, i)} may not look at ${nth(keys, j)}`);
  const asked = map.cell && values[map.cell[0]]?.[map.cell[1]] !== undefined ? `${told(map.cell)}. ` : "";
  const how = !map.pick ? `${pointAt()} a cell for its exact value.` : pointAt() === "Tap" ? "Tap a cell for its value and the heads that link the two." : "Point at a cell for its exact value; click it to see which heads link the two.";
  const rest = map.rough ? "" : asked && place ? asked : asked + how;
  const tell = (cell) => {
    mark = cell;
    said.textContent = cell ? told(cell) : rest;
    paint();
  };
  const hit = (event) => {
    const [x, y] = pointerPosition(event, canvas), j = Math.floor((x / zoom - left) / size), i = Math.floor((y / zoom - top) / size);
    return i >= 0 && i < m && j >= 0 && j < n ? [i, j] : null;
  };
  const take = (cell) => { if (cell && map.pick && map.allowed[cell[0]][cell[1]]) map.pick(...cell); };
  canvas.onmousemove = (event) => tell(hit(event));
  canvas.onclick = (event) => take(hit(event));
  canvas.onmouseleave = () => tell(at);
  let best = [0, 0];
  values.forEach((row, i) => row.forEach((w, j) => { if (w > values[best[0]][best[1]]) best = [i, j]; }));
  const go = (i, j) => {
    at = [inside(i, m), inside(j, n)];
    tell(at);
    reveal(scroll, ...[left + at[1] * size, top + at[0] * size, size, size].map((length) => length * zoom));
  };
  onArrows(canvas, () => go(...best), (down, right) => { const [i, j] = at || best; go(i + down, j + right); }, () => take(at));
  canvas.addEventListener("blur", () => { at = null; tell(null); });
  reachable(canvas, "map", `Map of ${m} queries by ${n} keys; the largest value, ${values[best[0]][best[1]].toFixed(3)}, is ${nth(queries, best[0])} looking at ${nth(keys, best[1])}. Arrow keys go from cell to cell${map.pick ? ", Enter finds the heads that link the two" : ""}.`);
  said.textContent = rest;
  scroll.append(canvas);
  paint();
  return { title, scroll, said };
}
