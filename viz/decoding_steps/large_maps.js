// The maps of a layer and head, large, for a hall. The step is told by the timeline of their trace; where none stands beside them,
// by the server. Nothing here makes markup from text.

import { truncate, density, element, followStep, mountComponent, nth, onResize, pointerPosition, publishedStep, unmountComponent } from "../kit/mount.js";
import { cellPoints } from "../kit/cell_points.js";
import { textWidths, visibleLabels } from "../kit/map_labels.js";
import { floats, rowsOf } from "../kit/packed.js";
import { pen } from "../kit/pen.js";
import { boxOfCell, cellAt, FONT, placed } from "./large_maps_parts.js";

const LONGEST = 14; // characters of a column's label

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data: { ...data, component: "file_maps" }, parentElement }, ".large"); // the same cells as in a file
  const maps = data.maps.map((map) => ({ ...map, values: rowsOf(floats(map.values), map.shape), allowed: rowsOf(map.allowed, map.shape) }));
  const canvas = element("canvas"), said = element("p", "told"), colour = (name) => getComputedStyle(root).getPropertyValue(`--lab-${name}`), now = publishedStep();
  state.step = data.trace && now?.trace === data.trace ? now.step : data.step;
  state.trace = data.trace;
  const [map, row, column] = state.at || []; // what is pointed at
  if (!maps[map] || row >= maps[map].queries.length || column >= maps[map].keys.length) state.at = null;
  root.style.setProperty("--above", `${data.above}px`);
  said.setAttribute("aria-live", "polite");
  root.replaceChildren(canvas, said);
  Object.assign(state, { build, paint: draw });
  build();
  onResize(state, root, () => state.build());
  if (first) state.unfollow = followStep(({ trace, step }) => {
    if (trace !== state.trace) return;
    state.step = step;
    state.paint();
  });
  return () => { state.unfollow(); unmountComponent(root); };

  function build() {
    const sans = getComputedStyle(root).fontFamily, lengths = (texts) => textWidths(texts, `650 ${FONT}px ${sans}`), ratio = density(root);
    const width = root.clientWidth, height = root.clientHeight - said.offsetHeight;
    if (!width || height <= 0) return;
    const same = (n) => n > 0 && String(maps[n].queries) === String(maps[n - 1].queries);
    state.places = placed(maps.map((map, n) => ({ rows: lengths(map.queries), columns: lengths(map.keys.map((key) => truncate(key, LONGEST))), same: same(n) })), width, height);
    Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    canvas.setAttribute("role", "img");
    canvas.onmousemove = (event) => point(...pointerPosition(event, canvas));
    canvas.onmouseleave = () => point(-1, -1);
    const points = maps.map((map, n) => cellPoints(canvas, map.kind, (x, y) => cellAt(state.places[n], x, y), (cell) => boxOfCell(state.places[n], cell)));
    canvas.labPoints = { at: (x, y) => points.map((each) => each.at(x, y)).find(Boolean) ?? null, rect: (name) => points.map((each) => each.rect(name)).find(Boolean) ?? null };
    state.sans = sans;
    state.ratio = ratio;
    draw();
  }

  function point(x, y) {
    const at = state.places.map((place, n) => [n, cellAt(place, x, y)]).find(([, cell]) => cell), now = at ? [at[0], ...at[1]] : null;
    if (String(now) === String(state.at)) return;
    state.at = now;
    draw();
  }

  function draw() {
    if (!state.places) return;
    const x = pen(canvas), { ratio } = state;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, canvas.width, canvas.height);
    maps.forEach((map, n) => one(x, map, state.places[n], state.at?.[0] === n ? state.at.slice(1) : null));
    said.textContent = state.at ? told(maps[state.at[0]], state.at.slice(1)) : ofStep();
    canvas.setAttribute("aria-label", `${maps.map((map) => map.title).join(", ")}. ${said.textContent}`);
  }

  function one(x, map, place, marked) {
    const { left, top, wide, high } = place, scale = data.scales[map.scale], rows = map.queries.length, columns = map.keys.length;
    const at = map.follows && state.step <= rows ? state.step - 1 : -1;
    x.textAlign = "left";
    x.textBaseline = "middle";
    x.fillStyle = colour(map.kind);
    x.fillRect(left, 4, 12, 12);
    x.fillStyle = colour("ink");
    x.font = `650 ${FONT + 2}px ${state.sans}`;
    x.fillText(map.title, left + 18, 11);
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
      if (!map.allowed[i][j]) continue;
      x.fillStyle = scale[Math.round(Math.min(1, map.values[i][j]) * (scale.length - 1))];
      x.fillRect(left + j * wide, top + i * high, wide + 0.3, high + 0.3);
    }
    x.strokeStyle = colour("border");
    x.lineWidth = 1;
    x.strokeRect(left - 0.5, top - 0.5, columns * wide + 1, rows * high + 1);
    labels(x, map, place, [marked?.[0], at].filter((i) => i >= 0), marked?.[1]);
    x.strokeStyle = colour("ink");
    x.lineWidth = 2.5;
    if (at >= 0) around(x, left, top + at * high, columns * wide, high);
    if (marked) around(x, left + marked[1] * wide, top + marked[0] * high, wide, high);
  }

  function around(x, left, top, width, height) { // outside of what it stands around, which may be small
    const half = x.lineWidth / 2;
    x.strokeRect(left - half, top - half, width + 2 * half, height + 2 * half);
  }

  function labels(x, map, { left, top, wide, high, flat, every, labels, labelled }, strongRows, strongColumn) {
    const font = (strong) => { x.font = `${strong ? "650 " : ""}${FONT}px ${state.sans}`; };
    x.fillStyle = colour("ink");
    x.textAlign = "right";
    if (labelled) for (const i of visibleLabels(map.queries.length, every.rows, strongRows)) {
      font(strongRows.includes(i));
      x.fillText(fits(x, map.queries[i], labels), left - 5, top + (i + 0.5) * high);
    }
    for (const j of visibleLabels(map.keys.length, every.columns, strongColumn >= 0 ? [strongColumn] : [])) {
      font(j === strongColumn);
      x.save();
      x.translate(left + (j + 0.5) * wide, top - 5);
      if (flat) x.textAlign = "center";
      else { x.rotate(-Math.PI / 2); x.textAlign = "left"; }
      x.fillText(truncate(map.keys[j], LONGEST), 0, flat ? -5 : 0);
      x.restore();
    }
  }

  // The end of a label says more than its beginning: `le → chat` predicts the cat.
  function fits(x, text, most) {
    let shown = text;
    for (let n = 1; n < text.length && x.measureText(shown).width > most; n++) shown = `…${text.slice(n)}`;
    return shown;
  }

  function told(map, [i, j]) {
    const what = `${map.title}: “${nth(map.queries, i)}” on “${nth(map.keys, j)}”`;
    return map.allowed[i][j] ? `${what}: ${map.values[i][j].toFixed(4)}` : `${what}: not seen`;
  }

  function ofStep() { // where the row of the step looks most
    const found = maps.filter((map) => map.follows && map.scale === map.kind && state.step <= map.queries.length).map((map) => {
      const row = map.values[state.step - 1], j = row.indexOf(Math.max(...row));
      return `“${nth(map.keys, j)}” ${row[j].toFixed(2)} (${map.title.toLowerCase()})`;
    });
    const row = maps.find((map) => map.follows)?.queries[state.step - 1];
    return found.length ? `“${row}” looks most at ${found.join(", ")}` : "Each row shows where one token looks. Blank cells are masked.";
  }
}
