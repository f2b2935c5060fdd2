// One head over many sentences: a map of all heads, where its largest weights are, a distribution, words, and similar heads.

import { ARROWS, button, element, focusOf, headName, mountComponent, onKeys, refocus, svgElement, unmountComponent } from "../kit/mount.js";
import { excludeFromPicture, markPicture } from "../kit/pen.js";

const MAP = { width: 400, height: 320, margin: 16, radius: 12 }; // px
const LARGE_PAIRS = 6; // pairs of words in lecture mode
const ROUNDS = 60; // in which overlapping heads move apart
const HISTOGRAM = { width: 320, height: 96, bottom: 18, top: 4 }; // px

export default function ({ data, parentElement, setTriggerValue }) {
  const { root } = mountComponent({ data, parentElement }, ".corpus-view");
  const focused = focusOf(root.getRootNode()), send = (name, value) => setTriggerValue(name, value);
  root.classList.toggle("large", data.large);
  const columns = element("div", "columns");
  if (data.large) columns.append(column(mapOf(data, send)), column(placesOf(data), wordsOf(data, send)));
  else columns.append(
    column(mapOf(data, send)),
    column(placesOf(data), distributionOf(data, send), data.strongest.length ? strongestOf(data, send) : null, data.alignment ? alignmentOf(data) : null),
    column(rolesOf(data), wordsOf(data, send), similarOf(data, send)),
  );
  root.replaceChildren(element("p", "answer", data.answer), element("p", "about", data.about), columns);
  refocus(root, focused);
  return () => unmountComponent(root);
}

function column(...sections) {
  const node = element("div", "column");
  node.append(...sections.filter(Boolean));
  return node;
}

function section(title, small = "", ...more) {
  const node = element("section"), heading = element("h2", "", title);
  if (small) heading.append(element("small", "", ` ${small}`));
  node.append(heading, ...more);
  return node;
}

// Returns buttons of which one is pressed.
function choice(label, options, chosen, name, send) {
  const box = excludeFromPicture(element("div", "choice"), true);
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", label);
  for (const [value, text] of options) {
    const node = button("", text, () => send(name, value));
    node.setAttribute("aria-pressed", String(value === chosen));
    node.dataset.focus = `${name} ${value}`;
    box.append(node);
  }
  return box;
}

const nameOf = ({ kind }, [layer, head]) => headName(kind, layer, head);

// -- the map of all heads ------------------------------------------------------------------------------------------

// Returns the points in pixels, with the same scale on both axes.
export function placed(points, { width, height, margin, radius }) {
  const ends = [0, 1].map((axis) => [Math.min(...points.map((each) => each[axis])), Math.max(...points.map((each) => each[axis]))]);
  const span = Math.max((ends[0][1] - ends[0][0]) / (width - 2 * margin), (ends[1][1] - ends[1][0]) / (height - 2 * margin)) || 1;
  const middle = ends.map(([low, high]) => (low + high) / 2);
  return apart(points.map(([x, y]) => [width / 2 + (x - middle[0]) / span, height / 2 - (y - middle[1]) / span]), { width, height, margin, radius });
}

// Returns spots that no longer overlap where there is room: each round moves two near ones apart.
function apart(spots, { width, height, margin, radius }) {
  const moved = spots.map((each) => [...each]), least = 2 * radius;
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < moved.length; i++) {
      for (let j = 0; j < i; j++) {
        const across = moved[i][0] - moved[j][0] || 0.01, down = moved[i][1] - moved[j][1] || 0.01, far = Math.hypot(across, down);
        if (far >= least) continue;
        const by = (least - far) / far / 4;
        for (const [spot, sign] of [[moved[i], 1], [moved[j], -1]]) {
          spot[0] = Math.min(width - margin, Math.max(margin, spot[0] + sign * across * by));
          spot[1] = Math.min(height - margin, Math.max(margin, spot[1] + sign * down * by));
        }
      }
    }
  }
  return moved;
}

function mapOf(data, send) {
  const kept = `The distances keep ${Math.round(100 * data.kept)}% of the divergences; overlapping heads are moved apart. A grey line joins heads of a group (mean divergence under ${data.bound}).`;
  const node = section("All heads", `of ${data.siteName}: near heads look at the same tokens`);
  markPicture(node, "All heads over many sentences");
  if (data.kinds.length > 1) node.append(choice("Attention", data.kinds, data.kind, "kind", send));
  const svg = svgElement("svg", { class: "heads-map", viewBox: `0 0 ${MAP.width} ${MAP.height}`, role: "group", "aria-label": "Map of all heads" });
  const spots = placed(data.points, MAP), numbers = new Map(data.names.map((each, n) => [each.join("."), n]));
  for (const group of data.groups) for (const path of joined(group.map((each) => spots[numbers.get(each.join("."))]))) svg.append(svgElement("path", { d: path }));
  data.names.forEach(([layer, head], n) => {
    const isOn = layer === data.layer && head === data.head, [x, y] = spots[n];
    const spot = svgElement("g", { class: isOn ? "on" : "", tabindex: isOn ? 0 : -1, role: "button", "aria-pressed": String(isOn), "aria-label": nameOf(data, [layer, head]), "data-focus": `spot ${layer}.${head}` });
    spot.append(svgElement("circle", { cx: x, cy: y, r: MAP.radius - 1 }), svgElement("text", { x, y: y + 4, "text-anchor": "middle" }, `${layer}.${head}`));
    spot.onclick = () => send("choose", { kind: data.kind, layer, head });
    svg.append(spot);
  });
  onKeys(svg, (key, arrow) => walk(svg, spots, key, arrow));
  node.append(svg, element("p", "note", kept));
  return node;
}

// Returns the lines of a tree that joins points, each to its nearest earlier one.
function joined(points) {
  return points.slice(1).map((point, n) => {
    const [to] = points.slice(0, n + 1).sort((a, b) => Math.hypot(a[0] - point[0], a[1] - point[1]) - Math.hypot(b[0] - point[0], b[1] - point[1]));
    return `M${point} L${to}`;
  });
}

// Moves the focus to the nearest head in the direction of an arrow key; Enter and the space bar choose.
function walk(svg, spots, key, arrow) {
  const nodes = [...svg.querySelectorAll("g")], at = nodes.indexOf(svg.getRootNode().activeElement);
  if (at < 0) return false;
  if (key === "Enter" || key === " ") { nodes[at].onclick(); return true; }
  if (!arrow || arrow.length !== 2 || !Object.values(ARROWS).includes(arrow)) return false;
  const [down, right] = arrow, costs = spots.map(([x, y]) => {
    const along = (x - spots[at][0]) * right + (y - spots[at][1]) * down, across = Math.abs((x - spots[at][0]) * down) + Math.abs((y - spots[at][1]) * right);
    return along > 0.5 ? along + 2 * across : Infinity;
  });
  const best = costs.indexOf(Math.min(...costs));
  if (Number.isFinite(costs[best])) nodes[best].focus();
  return true;
}

// -- one head ------------------------------------------------------------------------------------------------------

function bars(rows, kind) {
  const node = element("div", "bars");
  for (const [text, share, value] of rows) {
    const bar = element("i");
    bar.style.cssText = `width: ${Math.max(1, 100 * share)}%; background: var(--lab-${kind})`;
    node.append(element("span", "", text), bar, element("b", "", value));
  }
  return node;
}

function placesOf(data) {
  const rows = [...data.places].sort((a, b) => b[1] - a[1]).map(([name, share]) => [name, share, percent(share)]);
  return markPicture(section("Largest weight of a row", "share of the rows with two keys or more", bars(rows, data.kind)), "Largest weight of a row");
}

const percent = (share) => (share > 0 && share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`);

function distributionOf(data, send) {
  const select = excludeFromPicture(element("select"), true);
  select.setAttribute("aria-label", "Number of the distribution");
  select.dataset.focus = "metric";
  const { metric } = data, chosen = metric?.name ?? null;
  for (const [value, text] of data.metrics) select.append(Object.assign(element("option", "", text), { value, selected: value === chosen }));
  select.onchange = () => send("metric", select.value);
  const node = section("Over the sentences", "", select);
  markPicture(node, "Over the sentences");
  if (!metric) { node.append(element("p", "note", "This head has no such number.")); return node; }
  node.append(histogram(metric, data.kind));
  const mean = `Mean ${metric.value}${metric.unit ? ` ${metric.unit}` : ""}${metric.interval ? ` (${metric.interval})` : ""}, ${metric.sentences.toLocaleString("en")} sentences. `;
  node.append(element("p", "note", `${mean}${metric.others.length ? "Thin lines: the means of all heads." : ""}`));
  node.title = metric.meaning;
  return node;
}

function histogram({ counts, range, at, others, label, unit }, kind) {
  const { width, height, bottom, top } = HISTOGRAM, most = Math.max(...counts, 1), step = width / counts.length, floor = height - bottom;
  const across = (value) => Math.min(width, Math.max(0, ((value - range[0]) / (range[1] - range[0])) * width));
  const svg = svgElement("svg", { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Number of sentences by ${label}` });
  counts.forEach((count, n) => {
    const tall = ((floor - top) * count) / most;
    const bar = svgElement("rect", { x: n * step + 0.5, y: floor - tall, width: step - 1, height: tall, fill: `var(--lab-${kind})` });
    bar.append(svgElement("title", {}, `${count.toLocaleString("en")} sentences`));
    svg.append(bar);
  });
  for (const value of others) svg.append(svgElement("line", { class: "other", x1: across(value), x2: across(value), y1: floor - 7, y2: floor }));
  svg.append(svgElement("line", { x1: across(at), x2: across(at), y1: top, y2: floor }));
  const ends = range.map((value) => Number(value.toPrecision(3)));
  svg.append(svgElement("text", { x: 0, y: height - 4 }, String(ends[0])), svgElement("text", { x: width, y: height - 4, "text-anchor": "end" }, `${ends[1]}${unit ? ` ${unit}` : ""}`));
  return svg;
}

function wordsOf(data, send) {
  const node = section("Words that it links", "of how many occurrences in one sentence");
  markPicture(node, "Words that it links");
  if (data.rows) node.append(choice("Name a row after", [["written", "The word written"], ["read", "The word read"]], data.rows, "rows", send));
  if (data.alignment) node.append(element("p", "rate", `Alignment error rate of ${nameOf(data, [data.layer, data.head])} with the word ${data.rows}: ${data.alignment.rate}`));
  if (!data.pairs.length) { node.append(element("p", "note", "No two words are linked twice.")); return node; }
  const table = element("table"), head = element("tr");
  for (const text of ["from", "to", "linked"]) head.append(element("th", "", text));
  table.append(head);
  for (const [query, key, linked, possible] of data.large ? data.pairs.slice(0, LARGE_PAIRS) : data.pairs) {
    const row = element("tr");
    row.append(element("td", "word", query), element("td", "word", key), element("td", "", `${linked.toLocaleString("en")} of ${possible.toLocaleString("en")}`));
    table.append(row);
  }
  node.append(table);
  return node;
}

// The alignment error rates of each layer of cross-attention, for rows named after the word written or the word read.
function alignmentOf(data) {
  const { layers, sentences, reason, measured } = data.alignment, least = Math.min(...layers.flat()), table = element("table"), head = element("tr");
  for (const text of ["layer", "word written", "word read"]) head.append(element("th", "", text));
  table.append(head);
  layers.forEach(([written, read], n) => {
    const row = element("tr");
    row.append(element("td", "", String(n + 1)));
    for (const [value, name] of [[written, "written"], [read, "read"]]) {
      const cell = element("td", name === data.rows ? "shown" : "");
      cell.append(element(value === least ? "b" : "span", "", value.toFixed(2)));
      row.append(cell);
    }
    table.append(row);
  });
  const note = `Mean error rate of a layer’s heads over ${sentences.toLocaleString("en")} sentence pairs whose words people have linked. 0 is perfect.`;
  return markPicture(section("Alignment, by the word that names a row", "", table, element("p", "note", note), element("p", "note", reason), element("p", "note", measured)), "Alignment by layer");
}

function similarOf(data, send) {
  const box = element("div", "similar");
  for (const [layer, head, distance] of data.similar) {
    const node = button("link", `${nameOf(data, [layer, head])}, ${distance.toFixed(2)}`, () => send("choose", { kind: data.kind, layer, head }));
    node.dataset.focus = `similar ${layer}.${head}`;
    box.append(node);
  }
  return section("Similar heads", "mean Jensen-Shannon divergence, bits", box);
}

function rolesOf(data) {
  const node = section(nameOf(data, [data.layer, data.head]));
  for (const [name, sentence] of data.roles) {
    const line = element("p", "role");
    line.append(element("b", "", `${name[0].toUpperCase()}${name.slice(1)}. `), sentence);
    node.append(line);
  }
  if (!data.roles.length) node.append(element("p", "role", "No published role over these sentences."));
  if (data.rank) node.append(element("p", "role", `Effect without it: rank ${data.rank[0]} of ${data.rank[1]} heads by size; the output changes in ${data.changed} of the sentences.`));
  return node;
}

function strongestOf(data, send) {
  const box = element("div", "own-list"), table = element("table"), head = element("tr");
  for (const text of ["line", "sentence", "value"]) head.append(element("th", "", text));
  table.append(head);
  for (const [line, text, value] of data.strongest) {
    const row = element("tr"), open = button("link", text, () => send("open", line)), cell = element("td");
    open.dataset.focus = `open ${line}`;
    cell.append(open);
    row.append(element("td", "", String(line)), cell, element("td", "", value));
    table.append(row);
  }
  box.append(table);
  return section("Your sentences, ranked", `by ${data.metric?.label.toLowerCase() ?? ""}; each opens on this page`, box);
}
