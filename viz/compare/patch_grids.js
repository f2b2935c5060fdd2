// What each patch does, cell by cell. Nothing here makes markup from text.

import { button, element, focusOf, mountComponent, onKeys, refocus, unmountComponent, headName, signed } from "../kit/mount.js";
import { cellTable } from "../kit/cell_table.js";

const LEAST = 0.005; // below this a cell has no number
const WIDE = 24; // columns: beyond it they have no room for numbers
const FAR = 14; // the same for their labels in large type
const LINE = 84, KEPT = 24; // characters: of a line in large type; before the first that differs, of a text that is longer

const percent_of = (share) => `${Math.round(100 * share)}%`.replace("-", "−").replace("−0%", "0%");

// How many characters at their beginning are left away of texts that are too long for a line: most of what they have in common.
export function leftAway(texts) {
  const [first] = texts, differs = (n) => texts.some((text) => text[n] !== first[n]);
  let same = 0;
  while (same < first.length && !differs(same)) same++;
  return Math.max(...texts.map((text) => text.length)) <= LINE || same <= KEPT ? 0 : first.lastIndexOf(" ", same - KEPT) + 1;
}

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root } = mountComponent({ data, parentElement }, ".patch-grids"), focused = focusOf(parentElement);
  const share = data.unit === "share", top = share ? 1 : data.most;
  const said = element("p", "readout"), heads = element("div", "heads"), stacks = data.grids.slice(0, 2);
  said.setAttribute("aria-live", "polite");
  quiet();
  const { large } = data;
  for (const grid of data.grids.slice(2)) heads.append(section(grid));
  heads.style.setProperty("--least", `${Math.max(260, ...data.grids.slice(2).map((grid) => 30 + 32 * grid.columns.length))}px`); // all heads stand side by side
  root.classList.toggle("large", Boolean(large));
  root.replaceChildren(...(large ? filling() : [said, ...stacks.map(section), heads]));
  for (const scroll of root.querySelectorAll(".scroll")) inSight(scroll);
  refocus(root, focused);
  return () => unmountComponent(root);

  function filling() { // one picture, the three translations above it, what is put in below
    const rows = element("dl", "translations"), told = element("p", "put-in", large.told);
    told.setAttribute("role", "status");
    const away = leftAway(large.rows.map(([, segments]) => segments.map(([text]) => text).join("")));
    for (const [name, segments] of large.rows) {
      const line = element("dd", "", away ? "…" : "");
      let left = away;
      for (const [whole, changed] of segments) {
        const text = whole.slice(left);
        left = Math.max(0, left - whole.length);
        if (text) line.append(text.match(/^\s*/)[0], changed ? element("mark", "", text.trimStart()) : text.trimStart());
      }
      rows.append(element("dt", "", name), line);
    }
    return [element("h1", "", large.asked), rows, large.picture === "heads" ? heads : section(stacks.find(({ hue }) => hue === large.picture)), told];
  }

  function quiet() {
    said.textContent = share
      ? "Each cell: how much of the way to the other sentence one piece of it brings. Point at a cell to read it"
      : "Each cell: by how much one piece of the other sentence changes the difference, in nats. Point at a cell to read it";
    said.textContent += offline ? "." : ", click it to see the translation.";
  }

  function inSight(scroll) { // a wide grid begins where the most is, not at its first column
    const wide = scroll.scrollWidth > scroll.clientWidth, cells = wide ? [...scroll.querySelectorAll("button.cell")] : [];
    const size = (node) => (node.getAttribute("aria-pressed") === "true" ? Infinity : Number(node.dataset.size));
    const most = cells.reduce((best, node) => (best && size(best) >= size(node) ? best : node), null);
    if (most) scroll.scrollLeft = most.offsetLeft - scroll.offsetLeft + (most.offsetWidth - scroll.clientWidth) / 2;
  }

  function section(grid) {
    const part = element("section"), title = element("h2", "", data.large ? grid.title.replace(", all positions", "") : grid.title), hue = element("i"), scroll = element("div", "scroll"), cells = element("div", "cells");
    hue.style.background = `var(--lab-${grid.hue})`;
    title.prepend(hue);
    const narrow = grid.columns.length > (data.large && !grid.title.startsWith("Heads") ? FAR : WIDE), least = narrow ? 18 : data.large ? 22 : 30;
    cells.classList.toggle("narrow", narrow);
    cells.style.gridTemplateColumns = `${grid.title.startsWith("Heads") ? 26 : 76}px repeat(${grid.columns.length}, minmax(${least}px, 1fr))`;
    cells.append(element("span"), ...grid.columns.map((label, column) => heading(grid, label, column)));
    const first = data.chosen.find((code) => grid.codes.flat().includes(code)) ?? grid.codes.flat()[grid.values.flat().findIndex((value) => value != null)];
    grid.values.forEach((row, line) => cells.append(element("span", "of", grid.rows[line]), ...row.map((value, column) => cell(grid, line, column, value, first))));
    onKeys(cells, (key, arrow) => arrow && move(cells, grid, arrow));
    cells.onmouseleave = quiet;
    scroll.append(cells);
    const listed = grid.values.flatMap((row, line) => row.flatMap((value, column) => (value == null ? [] : [{ value, line, column }])));
    const texts = ({ value, line, column }) => [grid.rows[line], columnOf(grid, column), valueText(value)];
    part.append(title, scroll, cellTable({ owner: root, name: grid.title, label: grid.title, read: () => [{ cells: listed, unit: "cells", columns: ["Row", "Column", "Value"], texts }] }));
    return part;
  }

  function heading(grid, label, column) {
    const node = element("span", "column", label);
    node.title = grid.values.every((row) => row[column] == null) ? `${label}: no partner in the other sentence` : label;
    return node;
  }

  function columnOf(grid, column) { return grid.title.startsWith("Heads") ? `head ${grid.columns[column]}` : `at “${grid.columns[column]}”`; }

  function valueText(value) { return share ? `${percent_of(value)} of the way` : `${signed(value)} nats`; }

  function told(grid, line, column, value) {
    const place = grid.title.startsWith("Heads") ? headName(grid.hue, line + 1, column + 1) : `${grid.title}, ${grid.rows[line]}, at “${grid.columns[column]}”`;
    return `${place}: ${value == null ? "no partner in the other sentence, so nothing to put in" : share ? `${percent_of(value)} of the way` : `${signed(value)} nats`}`;
  }

  function cell(grid, line, column, value, first) {
    const text = told(grid, line, column, value);
    if (value == null) return Object.assign(element("span", "cell none"), { title: text });
    const code = grid.codes[line][column], size = Math.abs(value), last = data.scale.length - 1;
    const node = button("cell", size < LEAST || grid.columns.length > WIDE ? "" : share ? String(Math.round(100 * value)).replace("-", "−") : signed(value), () => { if (!offline) setTriggerValue("piece", code); });
    node.style.background = data.scale[Math.round(((0.55 * Math.max(-1, Math.min(1, value / top)) + 1) / 2) * last)];
    node.setAttribute("aria-label", text);
    node.setAttribute("aria-pressed", String(data.chosen.includes(code)));
    node.dataset.focus = code;
    node.dataset.at = `${line} ${column}`;
    node.dataset.size = size;
    node.tabIndex = code === first ? 0 : -1;
    node.onmouseenter = node.onfocus = () => (said.textContent = text);
    node.onblur = quiet;
    return node;
  }

  function move(cells, grid, [down, right]) {
    const at = cells.getRootNode().activeElement?.dataset?.at;
    if (!at) return false;
    let [line, column] = at.split(" ").map(Number);
    for (;;) {
      line += down;
      column += right;
      if (!(line in grid.values) || !(column in grid.columns)) return true;
      const next = cells.querySelector(`[data-at="${line} ${column}"]`);
      if (!next) continue;
      for (const each of cells.querySelectorAll('[tabindex="0"]')) each.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return true;
    }
  }
}
