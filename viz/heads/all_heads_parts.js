// What the view of all heads is made of. Nothing here makes markup from text: textContent only.

import { truncate, svgElement, element, nth, pointAt, headName } from "../kit/mount.js";
import { floats, rowsOf } from "../kit/packed.js";
import { unpacked } from "../kit/thumbnails.js";
import { metricText } from "./all_heads_numbers.js";

// A map as it was sent, its values, allowed and kept cells, and its three readings where it has them, as rows.
export function opened({ shape, values, allowed, kept, readings, ...rest }, step) {
  const read = readings && Object.fromEntries(Object.entries(readings).map(([name, each]) => [name, rowsOf(floats(each), shape)]));
  return { ...atStep(rest, step), values: rowsOf(floats(values), shape), allowed: rowsOf(allowed, shape), kept: rowsOf(kept, shape), readings: read };
}

// What has a row for each step, with that of a step, which may have moved on since it was sent.
const atStep = (map, step) => (map.rows ? { ...map, row: map.rows[Math.min(step, map.rows.length) - 1] } : map);

export const allOpened = (together, step) => ({ ...atStep(together, step), maps: Object.fromEntries(Object.entries(together.maps).map(([kind, map]) => [kind, opened(map)])) });

// How the heads of a site stand: their `places` one after the other, each with its name below where they are not in their own
// order, and with the `notes` by which they are ordered: the `values` of `by`.
export function arranged(grid, { find, order, metrics }) {
  const own = grid.places.map((_, n) => n), say = (values, metric) => values.map((value) => (value == null ? "" : metricText(metric, value)));
  if (find?.kind === grid.kind) {
    const by = `${nth(grid.queries, find.query)} on ${nth(grid.keys, find.key)}`;
    return { places: find.order, named: true, notes: say(find.weights, {}), values: find.weights, told: `${by}, most first`, by };
  }
  if (order === "position") return { places: own, named: false, notes: null, told: "" };
  if (!grid.orders[order]) return { places: own, named: false, notes: null, told: `“${metrics.find((metric) => metric.name === order).label}” is not defined here` };
  const values = grid.numbers[order] ?? null, metric = metrics.find(({ name }) => name === order);
  return { places: grid.orders[order], named: true, notes: values && say(values, metric), values, told: "", by: metric?.label };
}

// A head under the pointer as a map, to the nearest 1/255; `step` from 1, where it is known.
export function previewed(grid, index, byRow, step = null) {
  const [m, n] = grid.shape, { raw, cells } = unpacked(grid), values = Array.from({ length: m }, () => new Array(n).fill(0)), allowed = values.map((row) => [...row]);
  cells.forEach((at, k) => {
    const i = Math.floor(at / n), j = at % n;
    values[i][j] = raw[index * cells.length + k] / 255;
    allowed[i][j] = 1;
  });
  const kept = values.map((row) => row.map((w) => (w > 0.08 ? 1 : 0)));
  return { values, kept, allowed, queries: grid.queries, keys: grid.keys, words: grid.words, row: step === null || grid.kind === "encoder" ? null : Math.min(step, m) - 1, rough: true, byRow };
}

// The name of what is shown: a head, or several heads in one map.
export function shownName({ layer, head, measure, combine }, { kind, title }) {
  const how = measure === "rollout" && layer === null ? "rollout" : combine === "max" ? "maximum" : "mean";
  if (layer === null) return `${title}, ${head === null ? `${how} over layers and heads` : `head ${head}, ${how} over layers`}`;
  if (measure === "rollout" && head !== null) return `${kind} ${layer}, heads together`;
  return head === null ? `${kind} ${layer}, ${how} over heads` : headName(kind, layer, head);
}

// Encoder arcs on the left, decoder arcs on the right, cross-attention between the two columns of tokens.
export function allThree(together, names) {
  const { maps, source, target, row } = together, box = element("div", "together"), width = 1024, most = Math.max(source.length, target.length);
  const pitch = Math.max(13, Math.min(22, 345 / most)), height = most * pitch + 8, columns = [360, 664];
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${source.length} source tokens on the left, ${target.length} target rows on the right; arcs on the left are encoder self-attention, lines between cross-attention, arcs on the right decoder self-attention` });
  const y = (n, side) => (n + 0.5) * pitch + 4 + ((most - [source, target][side].length) * pitch) / 2, paths = [], labels = [];
  const wide = (labelled) => Math.min(150, 10 + Math.max(...labelled.map((text) => Math.min(20, text.length))) * 7.3), [a, b] = [wide(source), wide(target)];
  const shapes = {
    encoder: (i, j) => arc(columns[0] - a - 4, -1, y(i, 0), y(j, 0)),
    decoder: (i, j) => arc(columns[1] + b + 4, 1, y(i, 1), y(j, 1)),
    cross: (i, j) => `M${columns[1] - 4} ${y(i, 1)}C${(columns[0] + columns[1]) / 2} ${y(i, 1)} ${(columns[0] + columns[1]) / 2} ${y(j, 0)} ${columns[0] + 4} ${y(j, 0)}`,
  };
  function arc(x, way, from, to) { // a token that looks at itself gets a small loop
    const far = way * Math.min(210, 14 + 0.62 * Math.abs(from - to)), apart = from === to ? 4 : 0;
    return `M${x} ${from - apart}C${x + far} ${from - apart} ${x + far} ${to + apart} ${x} ${to + apart}`;
  }
  const strength = (weight) => Math.min(1, 0.12 + 0.88 * weight);
  for (const kind in maps) maps[kind].values.forEach((weights, i) => weights.forEach((weight, j) => {
    if (!maps[kind].kept[i][j]) return;
    const path = svgElement("path", { d: shapes[kind](i, j), stroke: `var(--lab-${kind})`, "stroke-width": 0.75 + 3.5 * weight, "stroke-opacity": strength(weight) });
    const ends = { encoder: [`0 ${i}`, `0 ${j}`], decoder: [`1 ${i}`, `1 ${j}`], cross: [`1 ${i}`, `0 ${j}`] }[kind];
    paths.push([path, ends, weight]);
    svg.append(path);
  }));
  const isolate = (at) => {
    for (const [path, ends, weight] of paths) {
      path.setAttribute("stroke-opacity", at === null || ends.includes(at) ? strength(weight) : 0.03);
      path.setAttribute("stroke-dasharray", at !== null && ends[0] !== at && ends[1] === at ? "4 3" : "none"); // others look at it
    }
    for (const [node, own] of labels) node.classList.toggle("off", at !== null && own !== at && !paths.some(([, ends]) => ends.includes(at) && ends.includes(own)));
  };
  const token = (text, side, n) => {
    const node = svgElement("text", { x: columns[side] + (side ? 2 : -2), y: y(n, side) + 4, class: side ? "query" : "key", tabindex: 0 }, truncate(text, 20)), own = `${side} ${n}`;
    node.append(svgElement("title", {}, text));
    node.onmouseenter = node.onfocus = () => isolate(own);
    node.onmouseleave = node.onblur = () => isolate(null);
    labels.push([node, own]);
    svg.append(node);
  };
  source.forEach((text, n) => token(text, 0, n));
  target.forEach((text, n) => token(text, 1, n));
  if (row !== null) svg.append(svgElement("rect", { x: columns[1] - 3, y: y(row, 1) - pitch / 2 + 1, width: b + 4, height: pitch - 2, rx: 4, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
  const heads = element("div", "heads");
  for (const kind of ["encoder", "cross", "decoder"].filter((each) => maps[each])) {
    const name = element("h3"), hue = element("i", "hue");
    hue.style.background = `var(--lab-${kind})`;
    name.append(hue, names[kind]);
    heads.append(name);
  }
  const scroll = element("div", "wide");
  scroll.tabIndex = 0;
  scroll.append(svg);
  box.append(heads, scroll, element("p", "said", `Source on the left, target rows on the right. ${pointAt()} a token: full lines are what it looks at, dashed ones what looks at it.`));
  return box;
}
