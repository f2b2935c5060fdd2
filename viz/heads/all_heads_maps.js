// One head as lines from token to token and as a map. Nothing here makes markup from text: textContent only.
// Both tell exact weights, to the pointer and to the arrow keys.

import { explain } from "../kit/glosses.js";
import { describeCell, describePattern, heatmap, inside, paintCells, reveal, tintOf } from "../kit/heatmap.js";
import { visibleLabels } from "../kit/map_labels.js";
import { truncate, svgElement, element, nth, onKeys, pointAt, probability } from "../kit/mount.js";
import { excludeFromPicture } from "../kit/pen.js";

const VALUE_NAMES = { contribution: "Contribution", rollout: "Rollout" }; // of the readings other than the weights
const LARGE_FONT = 14; // px, of the tokens in lecture mode
const PAGE_WIDTH = 328, PAGE_CELL = 20; // px of the map next to the lines

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
  if (map.rough) title.append(element("small", "", "weights above 0.08"));
  else if (map.pick && !place) title.append(excludeFromPicture(element("small", "", `${pointAt() === "Tap" ? "tap" : "click"} one on each side to find a head`)));
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
  const hint = map.rough ? "" : !map.pick ? `${pointAt()} a token for its weights.` : `${pointAt()} a token for its weights, ${pointAt() === "Tap" ? "one" : "click one"} on each side to find the heads that link them.`, rest = place ? hint : "";
  title.title = `Tokens on the right look at tokens on the left. ${hint}`;
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
    const shown = found.map(([weight, k]) => `${nth(sides[1 - side], k)} ${map.rough ? "about " : ""}${probability(weight)}`);
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
    const title = svgElement("title");
    explain((meaning) => { title.textContent = meaning ? `${text}. ${meaning}` : text; }, ...((side ? map.words?.queries : map.words?.keys)?.[n] ?? []));
    node.append(title);
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

// Returns the cells of a map on a canvas, one pixel each.
export function painted(map, grid) {
  return paintCells(element("canvas"), map.values.length, map.values[0].length, tintOf({ ...map, most: null }, grid.scale, map.byRow));
}

// Returns the large map of a head. `screen` is the width and height of the full screen, `place` those of lecture mode, where large cells
// show their weights; both are null next to the lines.
export function fullMap(map, grid, { root, colour, label, screen = null, place = null, style = null }) {
  const scroll = element("div", "map"), said = element("p", "said"), title = element("h3", "", "Full map"), large = place ?? screen;
  if (map.byRow) title.append(element("small", "", "colour up to each row’s maximum"));
  const pattern = { ...map, most: null, digits: map.rough ? 2 : 5 };
  const describe = (cell, words = pattern.words) => {
    const [tokens, value, ...rest] = describeCell({ ...pattern, words }, cell);
    return [tokens, map.rough && value !== "masked" && !cell.includes(null) ? `about ${value}` : value, ...rest];
  };
  const { node } = heatmap(pattern, {
    root, room: large ? { ...large, large: true } : { width: PAGE_WIDTH, maxSize: PAGE_CELL }, colour, style,
    tint: tintOf(pattern, grid.scale, map.byRow), numbers: Boolean(place), focus: "map", points: { cell: "cell", row: "row", column: "column" },
    table: { label, valueName: `${map.combine === "max" ? "Largest " : ""}${VALUE_NAMES[map.measure] ?? "Weight"}`, valueText: (cell) => describe(cell, null)[1] },
    label: `Map of ${describePattern(pattern)}. Arrow keys go from cell to cell${map.pick ? ", Enter finds the heads that link the two" : ""}.`,
    row: () => map.row ?? -1, cells: map.cell ? [map.cell] : [], describe,
    onChoose: map.pick && (([i, j]) => { if (map.allowed[i][j]) map.pick(i, j); }),
  });
  const isThere = map.cell && map.values[map.cell[0]]?.[map.cell[1]] !== undefined, chosen = isThere ? `${describe(map.cell, null)[0]}: ${map.allowed[map.cell[0]][map.cell[1]] ? probability(map.values[map.cell[0]][map.cell[1]]) : "masked"}. ` : "";
  const hint = map.pick ? `${pointAt() === "Tap" ? "Tap" : "Click"} a cell to see which heads link the two tokens.` : "";
  title.title = `A row asks, a column answers. ${hint}`;
  said.textContent = map.rough ? "" : place && !chosen ? hint : chosen;
  scroll.append(node);
  return { title, scroll, said };
}
