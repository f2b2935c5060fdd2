// Two passes beside each other: chips of both translations, the distance of every head, two maps and their difference.
// Nothing here makes markup from text: textContent only.

import { fadeEnds } from "../kit/chip_row.js";
import { button, element, focusOf, isNewValue, mountComponent, nth, onResize, probability, pointAt, refocus, REST_MS, term, unmountComponent, stepForKey, headName, exactProbability, probabilityElement } from "../kit/mount.js";
import { headTable } from "../kit/cell_table.js";
import { commonSize, describeCell, describePattern, formatValue, heatmap, rangeOf, tintOf } from "../kit/heatmap.js";
import { readPattern } from "../kit/patterns.js";
import { markPicture } from "../kit/pen.js";
import { onPageKeys } from "../kit/page_keys.js";
import { fitFont } from "../kit/stage.js";
import { abreast, cellLines, gathered, partnerCell, stepRows } from "./side_by_side_parts.js";

const NARROW = 760; // px: below it the maps stand one under the other
const GAP = 24;
const ABOVE = 484; // px that stand above the first row of the maps
const MIN_CELL = 12, MAX_CELL = 26; // px of a cell of the page's maps, which fit into the window if they can
const TITLE_HEIGHT = 26; // px of a map's title in lecture mode
const TOKEN_FONTS = [17, 16, 15, 14]; // px in lecture mode: the first with which the translations fit, else the first
const PRINTED = 8, TINTED = 0.5; // heads side by side whose numbers have room; how far up the scale the ground of a number goes

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".side-by-side", { memory: { pending: [] } }), focused = focusOf(parentElement);
  const news = isNewValue(state.memory, data.step);
  if (news || state.id !== data.id) { clearTimeout(state.rest); state.step = data.step; }
  state.id = data.id;
  const maps = data.maps.map(readPattern), difference = data.difference && readPattern(data.difference);
  const { names, large } = data, chips = [], drawn = [], said = element("p", "told"), line = fadeEnds(element("div", "line"));
  const colour = (name) => data.style[`--lab-${name}`];
  let mark = null; // the map and the cell that are pointed at
  said.setAttribute("aria-live", "polite");
  const places = markPicture(element("div", "maps"), "Maps side by side", { colours: data.scale, low: 0, high: 1 });
  root.classList.toggle("large", Boolean(large));
  root.replaceChildren(...(large ? filling() : [translations(), where(), head(), places, ...(data.note ? [element("p", "note", data.note)] : [])]));
  build();
  show();
  refocus(root, focused);
  onResize(state, root, () => { if (root.clientWidth !== state.width || (large && places.clientHeight !== state.height)) { build(); show(); } });
  document.fonts?.ready.then(() => { state.width = 0; state.draw(); });
  state.go = (key) => {
    const to = stepForKey(key, state.step, data.steps);
    if (to === null) return false;
    go(to);
    return true;
  };
  if (first) state.deaf = onPageKeys(".none", (key) => state.go(key));
  return () => { state.deaf(); clearTimeout(state.rest); unmountComponent(root); };

  // -- on the whole screen: both translations, and one picture -------------------------------------------------------

  function filling() {
    const answer = element("h2", "answer", large.answer), grids = large.picture === "heads";
    const most = element("p", "most", large.most);
    return [answer, translations(), ...(grids ? [most, where()] : [head(), places])];
  }

  // -- the head that differs most ------------------------------------------------------------------------------------

  function furthest() {
    const { lead, name, measured, exact, place } = data.most, line = element("span", "furthest", `${lead} `);
    if (!place) return line;
    const link = button("link", name, () => setTriggerValue("place", place)), [number] = measured.split(" ");
    link.disabled = Boolean(offline);
    link.dataset.focus = "furthest";
    link.title = `Shows the maps of this head: ${measured}`;
    const distance = "total variation distance";
    line.append(link, " ", term({ [distance]: `${exactProbability(exact)}. ${data.terms[distance]}` }, distance, number));
    return line;
  }

  // -- both translations ---------------------------------------------------------------------------------------------

  function translations() {
    const part = markPicture(element("section", "chips"), `Both ${data.noun}s`), label = element("div", "names");
    for (const name of data.single ? [`${data.noun[0].toUpperCase()}${data.noun.slice(1)}`] : names) label.append(Object.assign(element("span", "", name), { title: name }));
    for (const group of gathered(data.tokens)) {
      const kind = `column${group.every((each) => each.same) ? "" : " apart"}`, alone = group.length > 1;
      for (const both of data.single ? group.map((each) => each.chips) : abreast(group)) {
        const column = element("div", kind);
        column.append(...both.map((chip, side) => (chip ? token(chip, side, alone ? null : column) : element("span", "none", "·"))));
        line.append(column);
      }
    }
    part.append(label, line);
    return part;
  }

  function token(chip, side, column) { // in a column of its own the step is marked in both rows
    const step = side === 0 ? chip.step : null, node = step ? button("token", null, () => go(step)) : element("span", "token");
    const there = chip.there === null ? null : `, there ${probability(chip.there)}`;
    node.append(element("span", "", chip.t), probabilityElement("small", "", chip.p));
    if (there) node.lastChild.append(element("i", "", there));
    const told = [`${chip.t}: ${exactProbability(chip.p)}`];
    if (chip.there !== null) told.push(`${exactProbability(chip.there)} on the other side`);
    if (chip.rival) { node.classList.add("tie"); told.push(`a near-tie with ${chip.rival}`); }
    node.title = told.join("; ");
    if (step) { node.dataset.focus = `step ${step}`; chips.push([node, step, column || node]); }
    return node;
  }

  function go(step) {
    state.step = Math.max(1, Math.min(data.steps, step));
    show();
    clearTimeout(state.rest);
    state.rest = setTimeout(() => {
      if (state.step === (state.memory.pending.at(-1) ?? state.memory.lastValue)) return;
      state.memory.pending.push(state.step);
      setTriggerValue("step", state.step);
    }, REST_MS);
  }

  function inSight(node) { // a long translation goes on beside what is seen of it
    const [from, to] = [node.offsetLeft - line.offsetLeft, node.offsetLeft - line.offsetLeft + node.offsetWidth];
    if (from < line.scrollLeft || to > line.scrollLeft + line.clientWidth) line.scrollLeft = (from + to - line.clientWidth) / 2;
  }

  // -- where they differ ---------------------------------------------------------------------------------------------

  function where() {
    const all = element("section", "grids"), top = Math.max(1e-9, ...data.grids.flatMap((grid) => grid.values.flat().map((value) => value ?? 0)));
    for (const grid of data.grids) {
      const box = element("div", "grid"), cells = element("div", "cells");
      cells.style.gridTemplateColumns = `24px repeat(${grid.values[0].length}, minmax(0, 1fr)) 44px`;
      cells.append(element("span"), ...grid.values[0].map((_, h) => element("span", "of", String(h + 1))), element("span", "of", "mean"));
      grid.values.forEach((row, l) => {
        cells.append(element("span", "of", `L${l + 1}`), ...row.map((value, h) => cell(grid, l + 1, h + 1, value, top)), cell(grid, l + 1, null, grid.means[l], top));
      });
      const title = element("h2", "kind", grid.title), hue = element("i", "hue");
      hue.style.background = `var(--lab-${grid.kind})`;
      title.prepend(hue);
      box.append(title, cells);
      box.append(headTable(root, `heads ${grid.kind}`, [{ kind: grid.kind, values: grid.values }], { label: grid.title, valueName: "Total variation distance", valueText: exactProbability }));
      all.append(box);
    }
    return all;
  }

  function cell(grid, layer, head, value, top) {
    const node = button(head ? "cell" : "cell mean", head ? "" : value === null ? "–" : probability(value), () => setTriggerValue("place", { kind: grid.kind, layer, head }));
    const last = grid.scale.length - 1, printed = large && head && value !== null && grid.values[0].length <= PRINTED;
    if (printed && value >= 0.005) node.textContent = value.toFixed(2).replace(/^0/, "");
    if (head && value !== null) node.style.background = grid.scale[Math.round((value / top) * (printed ? TINTED : 1) * last)];
    node.disabled = Boolean(offline);
    node.title = `${headName(grid.kind, layer, head)}: ${value === null ? "not to be compared" : exactProbability(value)}`;
    node.setAttribute("aria-label", node.title);
    node.setAttribute("aria-pressed", String(data.chosen.join() === [grid.kind, layer, head].join()));
    node.dataset.focus = `cell ${grid.kind} ${layer} ${head}`;
    return node;
  }

  // -- the maps ------------------------------------------------------------------------------------------------------

  function head() {
    const line = element("div", "head"), bar = element("span", "bar"), title = element("h2", "", data.title), hue = element("i", "hue");
    hue.style.background = `var(--lab-${data.kind})`;
    title.prepend(hue);
    bar.style.background = `linear-gradient(90deg, ${data.scale.join()})`;
    const legend = element("span", "legend");
    legend.append("0", bar, "1 in both maps");
    title.title = `${pointAt()} a cell: the same cell is ringed in the other map.`;
    line.append(title, ...(large ? [] : [furthest()]), said, legend);
    return line;
  }

  function build() {
    state.width = root.clientWidth;
    const narrow = state.width < NARROW, columns = narrow ? 1 : 3, width = (state.width - (columns - 1) * GAP) / columns, alone = large?.picture === "difference";
    drawn.length = 0;
    root.classList.toggle("narrow", narrow && !large);
    if (large) fitFont(line, TOKEN_FONTS);
    if (large?.picture === "heads") return;
    state.height = places.clientHeight;
    const room = large ? { width: alone ? state.width : (state.width - GAP) / 2, height: state.height - TITLE_HEIGHT, large: true } : pageRoom(width, narrow);
    const boxes = alone ? [] : maps.map((map, n) => box(n, map.title, map, tintOf(map, data.scale), describePattern(map)));
    if (!large || alone) boxes.push(difference ? differenceBox() : none());
    places.replaceChildren(...boxes);

    function differenceBox() {
      const tint = tintOf(difference, data.diverging), [first] = maps, mute = colour("mute");
      const part = box(2, `${names[1]} − ${names[0]}`, { ...difference, allowed: first.allowed }, (i, j) => tint(i, j) ?? (first.allowed[i][j] ? mute : null), "the difference of the two maps", (cell) => [formatValue(difference, difference.values[cell[0]][cell[1]]), ...cellLines(maps, names, 2, cell, nth).slice(1)].join(", "), difference.allowed);
      const range = element("small", "", rangeOf(difference));
      if (!difference.whole && !large) Object.assign(range, { textContent: `${rangeOf(difference)}; grey: tokens differ`, title: differenceNote(difference) });
      part.firstChild.append(range);
      return part;
    }

    function box(n, title, map, tint, label, valueText = (cell) => cellLines(maps, names, n, cell, nth).slice(1).join(", "), listed = map.allowed) {
      const part = element("div", "map"), made = heatmap(map, {
        root, room, colour, style: data.style, tint, label: `${title}: ${label}. Arrow keys go from cell to cell.`, focus: `map ${n}`,
        points: { cell: `map${n + 1}`, row: `map${n + 1} row`, column: `map${n + 1} column` },
        ring: () => mark && partnerCell(maps, mark.map, n, mark.cell),
        row: () => rowOf(n),
        table: { label: title, valueName: n === 2 ? "Difference" : "Weight", valueText, listed },
        describe: (cell) => (cell.includes(null) ? describeCell(map, cell) : cellLines(maps, names, n, cell, nth)),
        onPoint: (cell) => point(n, cell), onChoose: data.follows ? (cell) => take(n, cell) : null,
      });
      drawn.push(made);
      part.append(element("h3", "", title), made.node);
      return part;
    }
  }

  function pageRoom(width, narrow) { // one cell size for all maps
    const rows = Math.max(...maps.map(({ queries }) => queries.length)), maxSize = narrow ? MAX_CELL : Math.max(MIN_CELL, Math.min(MAX_CELL, Math.floor((innerHeight - ABOVE) / rows)));
    return { width, maxSize: commonSize(maps, root, { width, maxSize }) };
  }

  function none() {
    const part = element("div", "map");
    part.append(element("h3", "", "Difference"), element("p", "note", "No row and column hold the same tokens on both sides, so there is no difference to show."));
    return part;
  }

  function differenceNote({ rows, columns }) {
    return `Coloured where both sides read the same token and look at the same token: in ${rows[0]} of ${rows[1]} rows and ${columns[0]} of ${columns[1]} columns.`;
  }

  function rowOf(n) {
    const fixed = maps[n === 2 ? 0 : n].row;
    if (fixed !== null) return fixed;
    return data.follows ? stepRows(maps, state.step)[n === 1 ? 1 : 0] : -1;
  }

  function point(map, cell) {
    mark = cell && { map, cell };
    for (const each of drawn) each.draw();
  }

  function take(map, [i]) {
    const row = partnerCell(maps, map, 0, [i, 0])[0];
    if (data.follows && row >= 0) go(row + 1);
  }

  function tell() {
    const grey = large?.picture === "difference" && difference && !difference.whole ? "Grey: tokens differ. " : "";
    const rest = large ? grey + large.most : "";
    const lost = data.follows && stepRows(maps, state.step)[1] < 0 ? ` This step has no partner in “${names[1]}”.` : "";
    said.textContent = rest + lost;
  }

  function show() {
    for (const [node, step, marked] of chips) {
      node.setAttribute("aria-pressed", String(step === state.step));
      marked.classList.toggle("current", step === state.step);
      marked.classList.toggle("second", step === data.second);
      if (step === state.step) inSight(node);
    }
    for (const each of drawn) each.draw();
    tell();
  }
}
