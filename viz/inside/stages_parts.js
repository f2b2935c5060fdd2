// How the tables of a stage are drawn. Nothing here makes markup from text: textContent only.

import { boxOf, truncate, density, element, withMinusSign, nth, onKeys, zoomOf, probability, threeDigits, exactProbability } from "../kit/mount.js";
import { cellTable } from "../kit/cell_table.js";
import { floats } from "../kit/packed.js";
import { pen } from "../kit/pen.js";

const WRAP = 256; // cells in a line
const LARGEST = 56, TITLE = 28; // px in a lecture: a line of cells at most, and what stands above a table

export const exact = (value) => withMinusSign(Number(value.toPrecision(7)).toString());

// Text with _{below} and ^{above} the line.
export function formula(text) {
  const node = element("p", "formula");
  for (const part of text.split(/([_^]\{[^}]*\})/)) {
    if (/^[_^]\{/.test(part)) node.append(element(part[0] === "_" ? "sub" : "sup", "", part.slice(2, -1)));
    else node.append(part);
  }
  return node;
}

// From where to where the bars of a table reach: one scale for all its columns, so that they can be compared.
export const reach = (values, kind) => (kind === "weights" ? [0, 1] : [Math.min(0, ...values), Math.max(0, ...values)]);

// How many letters the names of rows take beside cells: tables that stand together have their columns in line.
export const rowLetters = (tables) => Math.max(0, ...tables.flatMap((table) => [...table.rows, table.footName ?? ""]).map((name) => Math.min(17, name.length)));

// How many lines of cells a table has: a single row of many numbers goes on below.
export const linesOf = (table) => (table.rows.length + (table.foot ? 1 : 0)) * (table.rows.length === 1 && !table.foot ? Math.ceil(table.columns / WRAP) : 1);

// Numbers that are read: a row a token, with a bar from zero for each column. In a lecture the rows of many tokens stand in
// columns beside one another, so many that all are there; a row is known as `name` and its number.
export function bars(table, name = "", large = false) {
  const most = large ? 14 : Infinity, beside = Math.ceil(table.rows.length / most), each = Math.ceil(table.rows.length / beside);
  const node = barred(table, name, 0, beside > 1 ? each : Infinity);
  if (!large) return node;
  const whole = element("div", beside > 2 && table.columns > 1 ? "columns tight" : "columns");
  whole.append(node, ...Array.from({ length: beside - 1 }, (_, n) => barred(table, name, (n + 1) * each, (n + 2) * each)));
  return whole;
}

function barred(table, name, from, to) {
  const names = table.bars, values = floats(table.values), n = table.columns, node = element("table", "bars"), body = element("tbody");
  const [low, high] = reach(values, table.kind), span = high - low || 1;
  if (names.some(Boolean)) {
    const head = element("tr");
    head.append(element("td"), ...names.map((name) => { const th = element("th", "", name); th.scope = "col"; return th; }));
    const top = element("thead");
    top.append(head);
    node.append(top);
  }
  table.rows.forEach((label, i) => {
    if (i < from || i >= to) return;
    const hidden = table.allowed && !table.allowed[i], row = element("tr", hidden ? "hidden" : i === table.marked ? "marked" : "");
    const th = element("th", "token", label);
    th.scope = "row";
    row.append(th);
    if (name) row.dataset.point = `${name} row ${i}`;
    for (let j = 0; j < n; j++) {
      const cell = element("td"), line = element("div", "bar"), fill = element("i"), value = values[i * n + j];
      fill.style.left = `${((Math.min(0, value) - low) / span) * 100}%`;
      fill.style.width = `${(Math.abs(value) / span) * 100}%`;
      fill.style.background = table.kind === "weights" ? "var(--hue)" : `var(--lab-${value < 0 ? "loss" : "gain"})`;
      const zero = element("span", "zero");
      zero.style.left = `${(-low / span) * 100}%`;
      line.append(zero, fill);
      const said = element("b", "", hidden && table.kind !== "weights" ? "hidden" : table.kind === "weights" ? probability(value) : threeDigits(value));
      if (!hidden) said.title = table.kind === "weights" ? exactProbability(value) : exact(value);
      cell.append(line, said);
      row.append(cell);
    }
    body.append(row);
  });
  for (let i = table.rows.length; to !== Infinity && i < to; i++) { // as high as those beside it
    const row = element("tr"), th = element("th", "token", " ");
    row.append(th);
    body.append(row);
  }
  node.append(body);
  return node;
}

// Many numbers as coloured cells, symmetric about 0; pointing at one, or walking with the arrow keys, tells it exactly.
// `large`: in a lecture, the node whose height `lines` of cells in `tables` below one another may fill. `name`: by which a
// cell is pointed at.
export function cells(table, data, repaint, letters, { name = "", large = null, lines: shared = 1, tables = 1 } = {}) {
  const values = floats(table.values), totals = table.totals && floats(table.totals), foot = table.foot && floats(table.foot);
  const box = element("section", "cells"), top = element("div", "top"), canvas = element("canvas"), said = element("p", "told");
  const lines = foot ? [...table.rows, table.footName] : table.rows, n = table.columns, chunks = lines.length === 1 ? Math.ceil(n / WRAP) : 1;
  const sizes = Float32Array.from([...values, ...(foot || [])], Math.abs).sort(), largest = sizes[sizes.length - 1];
  const usual = sizes[Math.floor(sizes.length * 0.99)], deepest = largest > 2.5 * usual && usual > 0 ? usual : largest; // a few that stick out do not pale all others
  const rows = lines.length * chunks, gap = foot ? 6 : 0, sign = large ? 8.6 : 7.3, sized = large ? 14 : 12;
  let high = rows <= 18 ? 17 : rows <= 30 ? 13 : 10;
  const value = (i, j) => (i < table.rows.length ? values[i * n + j] : foot[j]);
  const legend = element("span", "legend"), ramp = element("i");
  ramp.style.background = `linear-gradient(90deg,${data.signed.join(",")})`;
  const beyond = largest > deepest ? ["≤ ", "≥ "] : ["", ""];
  legend.append(beyond[0] + threeDigits(-deepest || 0), ramp, beyond[1] + threeDigits(deepest));
  top.append(element("h3", "", table.name), legend);
  const scroll = element("div", "scroll"), isNamed = lines.length > 1 || lines[0];
  scroll.append(canvas);
  if (large) top.insertBefore(said, legend);
  const listed = cellTable({ owner: document, name: `cells ${name} ${table.name}`, label: table.name, read: () => [{
    cells: lines.flatMap((_, i) => Array.from({ length: n }, (__, j) => ({ value: value(i, j), i, j }))), unit: "cells", columns: [...(isNamed ? ["Row"] : []), "Column", "Value"],
    texts: ({ value: number, i, j }) => [...(isNamed ? [nth(lines, i)] : []), `${table.unit} ${j + 1}`, exact(number)],
  }] });
  box.append(top, scroll, listed, ...(large ? [] : [said]));
  let left = 0, width = 0, mark = null;
  const right = totals ? (large ? 76 : 64) : 0;
  let head = totals ? (large ? 20 : 16) : 0;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${table.name}: ${lines.length} rows of ${n} numbers, the largest of them ${threeDigits(largest)} in size. Arrow keys read single numbers.`);
  said.setAttribute("aria-live", "polite");

  const y = (i, chunk = 0) => head + (i * chunks + chunk) * high + (foot && i === table.rows.length ? gap : 0);
  repaint.push(() => {
    const ratio = density(box), whole = box.clientWidth || 700;
    const x = pen(canvas), style = getComputedStyle(box);
    const mono = `${sized}px "Source Code Pro", ui-monospace, Menlo, monospace`, sans = `${large ? 14 : 11}px ${style.fontFamily}`;
    if (large) {
      high = Math.max(6, Math.min(LARGEST, Math.floor((large.clientHeight - tables * TITLE - head - gap - 4) / shared)));
      head = Math.max(totals ? 20 : 0, Math.ceil((sized + 2 - high) / 2)); // the first name is higher than its cells
    }
    const height = rows * high + gap + head, every = high >= sized ? 1 : Math.ceil((sized + 1) / high);
    left = lines.length === 1 && !lines[0] ? 0 : Math.min(large ? Math.max(92, whole * 0.2) : whole < 420 ? 84 : 132, 10 + letters * sign);
    const most = large ? Math.floor((left - 8) / sign) : whole < 420 ? 10 : 17;
    width = Math.max(0.5, Math.min(large ? 40 : 22, (whole - left - right - 12) / Math.min(n, WRAP)));
    const across = left + width * Math.min(n, WRAP) + right;
    Object.assign(canvas, { width: across * ratio, height: height * ratio });
    Object.assign(canvas.style, { width: `${across}px`, height: `${height}px` });
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    const count = data.signed.length - 1, colour = (name) => data.style[`--lab-${name}`];
    lines.forEach((line, i) => {
      const marked = i === table.marked || (foot && i === table.rows.length);
      x.font = marked ? `650 ${mono}` : mono;
      x.textBaseline = "middle";
      x.textAlign = "right";
      x.fillStyle = colour(marked || large ? "ink" : "ink2");
      const written = marked || (large ? i % every === 0 && !(every > 1 && table.marked != null && Math.abs(i - table.marked) < every) : high >= 12);
      if (written) x.fillText(truncate(line, most), left - 6, y(i) + (high * chunks) / 2);
      for (let j = 0; j < n; j++) {
        const share = deepest ? Math.max(-1, Math.min(1, value(i, j) / deepest)) : 0;
        x.fillStyle = data.signed[Math.round(((share + 1) / 2) * count)];
        x.fillRect(left + (j % WRAP) * width, y(i, Math.floor(j / WRAP)), width + (width < 4 ? 0.3 : -0.5), high - 1);
      }
      if (marked) { x.strokeStyle = colour("ink"); x.lineWidth = 1.5; x.strokeRect(left - 0.5, y(i) - 0.5, width * Math.min(n, WRAP) + 1, high * chunks); }
      if (totals && i < totals.length) {
        x.textAlign = "right";
        x.fillStyle = colour("ink");
        x.font = `${marked ? "650 " : ""}${sans}`;
        if (written) x.fillText((table.totalName ? threeDigits : probability)(totals[i]), left + width * n + right - 4, y(i) + high / 2);
      }
    });
    if (totals) { x.font = sans; x.textAlign = "right"; x.fillStyle = colour(large ? "ink" : "ink2"); x.fillText(table.totalName || "weight", left + width * n + right - 4, head / 2 - 1); }
    if (mark) { x.strokeStyle = colour("ink"); x.lineWidth = 2; x.strokeRect(left + (mark[1] % WRAP) * width - 1, y(mark[0], Math.floor(mark[1] / WRAP)) - 1, width + 2, high + 1); }
  });
  const paint = repaint[repaint.length - 1];
  const point = (at) => {
    mark = at;
    const total = at && totals && at[0] < totals.length ? `; ${table.totalName || "weight"} ${exact(totals[at[0]])}` : "";
    said.textContent = at ? `${nth(lines, at[0])}, ${table.unit} ${at[1] + 1}: ${exact(value(...at))}${total}` : "";
    paint();
  };
  const at = (dx, dy) => { // the cell, in the canvas's own pixels
    const column = Math.floor((dx - left) / width), line = lines.findIndex((_, i) => dy >= y(i) && dy < y(i) + high * chunks);
    const chunk = line < 0 ? 0 : Math.floor((dy - y(line)) / high), j = chunk * WRAP + column;
    return line >= 0 && column >= 0 && column < Math.min(n, WRAP) && j < n ? [line, j] : null;
  };
  const under = (clientX, clientY) => { // what of the window is under the pointer
    const box = boxOf(canvas), zoom = zoomOf(canvas);
    return at(clientX / zoom - box.left, clientY / zoom - box.top);
  };
  canvas.onmousemove = ({ clientX, clientY }) => point(under(clientX, clientY));
  canvas.labPoints = {
    at(clientX, clientY) {
      const found = under(clientX, clientY);
      return found && `${name} cell ${found.join(" ")}`;
    },
    rect(what) {
      const found = what.startsWith(`${name} cell `) && what.slice(name.length + 6).split(" ").map(Number);
      if (!found || !(found[0] < lines.length && found[1] < n)) return null;
      const { left: x0, top: y0, width: across } = canvas.getBoundingClientRect(), zoom = across / (parseFloat(canvas.style.width) || across);
      return new DOMRect(x0 + zoom * (left + (found[1] % WRAP) * width), y0 + zoom * y(found[0], Math.floor(found[1] / WRAP)), zoom * width, zoom * high);
    },
  };
  canvas.onmouseleave = () => point(null);
  canvas.onblur = () => point(null);
  onKeys(canvas, (_, move) => {
    if (!move) return false;
    const [i, j] = mark ? [mark[0] + move[0], mark[1] + move[1]] : [table.marked ?? 0, 0];
    if (!(i >= 0 && i < lines.length && j >= 0 && j < n)) return true;
    point([i, j]);
    const top = y(i, Math.floor(j / WRAP)); // in view
    scroll.scrollTop = Math.max(top + high + 4 - scroll.clientHeight, Math.min(scroll.scrollTop, top - head));
    return true;
  });
  return box;
}
