// A table of the largest cells of a map or a grid, for the keyboard and for screen readers. Its button is visible while it has the
// focus or its table is open. The rows exist only while the table is open. In lecture mode the table lies over the stage, which does
// not scroll.

import { button, element, headName, onKeys } from "./mount.js";
import { excludeFromPicture } from "./pen.js";

const MOST = 15; // rows of a table
export const HEADS = "Table of the largest heads"; // the button of a grid of heads
const states = new WeakMap(); // owner -> by name, whether its table is open, and the button: both survive when the owner draws again

// Returns the cells of a table, the largest absolute value first, and its caption. `cells` have a `value` each, without the masked ones.
// A cell with the value 0 counts but is not listed.
export function largestCells(cells, unit, most = MOST) {
  const units = `${cells.length.toLocaleString("en-US")} ${cells.length === 1 ? unit.replace(/^(cell|head)s/, "$1") : unit}`, by = cells.some(({ value }) => value < 0) ? ", by absolute value" : "";
  const listed = cells.filter(({ value }) => value).sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, most), n = listed.length;
  if (!n) return { listed, caption: `No value other than 0 in ${units}` };
  if (n === cells.length) return { listed, caption: n === 1 ? units : `All ${units}, largest first${by}` };
  return { listed, caption: `The ${n === 1 ? "" : `${n} `}largest of ${units}${by}` };
}

function tableNode({ caption, columns, headers, rows }) {
  const table = element("table"), head = element("thead"), body = element("tbody"), row = (cells) => { const line = element("tr"); line.append(...cells); return line; };
  const header = (text, scope) => Object.assign(element("th", "", text), { scope });
  head.append(row(columns.map((text) => header(text, "col"))));
  body.append(...rows.map((texts) => row(texts.map((text, n) => (n < headers ? header(text, "row") : element("td", "", text))))));
  table.append(element("caption", "", caption), head, body);
  return table;
}

// Returns a button with its tables. Call `refresh()` of the node after each change of the cells.
//   owner: an object that outlives the drawings, such as the root. name: unique for this owner. label: names the map.
//   read(): the tables as { cells, unit, columns, texts(cell), headers, most }. `unit` is the plural that the caption counts; the first
//   `headers` columns name a cell, by default all but the last.
export function cellTable({ owner, name, label = "", text = "Table of the largest cells", read }) {
  const node = excludeFromPicture(element("div", "cell-table"), true), opener = button("", text, toggle);
  if (!states.has(owner)) states.set(owner, {});
  const state = (states.get(owner)[name] ??= { isOpen: false, opener }), hadFocus = state.opener.matches(":focus");
  let content = "[]";
  state.opener = opener;
  if (hadFocus) queueMicrotask(() => opener.focus({ preventScroll: true })); // the new button is in its place
  opener.dataset.focus = `table ${name}`;
  if (label) opener.setAttribute("aria-label", `${text}: ${label}`);
  node.append(opener);
  onKeys(node, (key) => {
    if (key !== "Escape" || !state.isOpen) return false;
    toggle();
    opener.focus();
    return true;
  });
  node.refresh = refresh;
  refresh();
  return node;

  function toggle() {
    state.isOpen = !state.isOpen;
    refresh();
  }

  function refresh() {
    const tables = state.isOpen ? read().map(describe) : [], latest = JSON.stringify(tables);
    opener.setAttribute("aria-expanded", String(state.isOpen));
    node.classList.toggle("over", state.isOpen && document.documentElement.hasAttribute("data-lab-lecture"));
    if (latest === content) return; // a screen reader keeps its place
    content = latest;
    while (opener.nextSibling) opener.nextSibling.remove();
    opener.after(...tables.map(tableNode));
  }

  function describe({ cells, unit, columns, texts, headers = columns.length - 1, most }) {
    const { listed, caption } = largestCells(cells, unit, most);
    return { caption, columns, headers, rows: listed.map(texts) };
  }
}

// Returns the node of the table of a grid of heads, from [{ kind, values }], one for each kind of attention. `values` of each layer
// have null for a head without a value.
export function headTable(owner, name, grids, { label, valueName = "Value", valueText }) {
  const cells = grids.flatMap(({ kind, values }) => values.flatMap((row, layer) => row.map((value, head) => ({ value, kind, layer, head })))).filter(({ value }) => value !== null);
  const texts = ({ value, kind, layer, head }) => [headName(kind, layer + 1, head + 1), valueText(value)];
  return cellTable({ owner, name, label, text: HEADS, read: () => [{ cells, unit: "heads", columns: ["Head", valueName], texts }] });
}
