// How the tables of a stage are drawn. Nothing here makes markup from text: textContent only.

import { cut, element, minus, nth, onKeys } from "../shared/mount.js";
import { floats } from "../shared/packed.js";
import { pen } from "../shared/save/pen.js";

const WRAP = 256; // cells in a line

export const exact = (value) => minus(Number(value.toPrecision(7)).toString());
export const short = (value) => minus(Math.abs(value) >= 1000 || (value && Math.abs(value) < 0.001) ? value.toPrecision(2) : value.toFixed(3));

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

// Numbers that are read: a row a token, with a bar from zero for each column.
export function bars(table) {
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
    const hidden = table.allowed && !table.allowed[i], row = element("tr", hidden ? "hidden" : i === table.marked ? "marked" : "");
    const th = element("th", "token", label);
    th.scope = "row";
    row.append(th);
    for (let j = 0; j < n; j++) {
      const cell = element("td"), line = element("div", "bar"), fill = element("i"), value = values[i * n + j];
      fill.style.left = `${((Math.min(0, value) - low) / span) * 100}%`;
      fill.style.width = `${(Math.abs(value) / span) * 100}%`;
      fill.style.background = table.kind === "weights" ? "var(--hue)" : `var(--lab-${value < 0 ? "loss" : "gain"})`;
      const zero = element("span", "zero");
      zero.style.left = `${(-low / span) * 100}%`;
      line.append(zero, fill);
      const said = element("b", "", hidden && table.kind !== "weights" ? "hidden" : table.kind === "weights" && value > 0 && value < 0.0005 ? "< 0.001" : short(value));
      if (!hidden) said.title = exact(value);
      cell.append(line, said);
      row.append(cell);
    }
    body.append(row);
  });
  node.append(body);
  return node;
}

// Many numbers as coloured cells, symmetric about 0; pointing at one, or walking with the arrow keys, tells it exactly.
export function cells(table, data, repaint, letters) {
  const values = floats(table.values), totals = table.totals && floats(table.totals), foot = table.foot && floats(table.foot);
  const box = element("section", "cells"), top = element("div", "top"), canvas = element("canvas"), said = element("p", "told");
  const lines = foot ? [...table.rows, table.footName] : table.rows, n = table.columns, chunks = lines.length === 1 ? Math.ceil(n / WRAP) : 1;
  const sizes = Float32Array.from([...values, ...(foot || [])], Math.abs).sort(), largest = sizes[sizes.length - 1];
  const usual = sizes[Math.floor(sizes.length * 0.99)], deepest = largest > 2.5 * usual && usual > 0 ? usual : largest; // a few that stick out do not pale all others
  const rows = lines.length * chunks, high = rows <= 18 ? 17 : rows <= 30 ? 13 : 10, gap = foot ? 6 : 0;
  const value = (i, j) => (i < table.rows.length ? values[i * n + j] : foot[j]);
  const legend = element("span", "legend"), ramp = element("i");
  ramp.style.background = `linear-gradient(90deg,${data.signed.join(",")})`;
  const beyond = largest > deepest ? ["≤ ", "≥ "] : ["", ""];
  legend.append(beyond[0] + short(-deepest || 0), ramp, beyond[1] + short(deepest));
  top.append(element("h3", "", table.name), legend);
  const scroll = element("div", "scroll");
  scroll.append(canvas);
  box.append(top, scroll, said);
  let left = 0, width = 0, mark = null;
  const right = totals ? 64 : 0, height = rows * high + gap + (totals ? 16 : 0), head = totals ? 16 : 0;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  canvas.setAttribute("aria-label", `${table.name}: ${lines.length} rows of ${n} numbers, the largest of them ${short(largest)} in size. Arrow keys read single numbers.`);
  said.setAttribute("aria-live", "polite");
  const rest = "Point at or tap a cell for its exact value.";
  said.textContent = rest;

  const y = (i, chunk = 0) => head + (i * chunks + chunk) * high + (foot && i === table.rows.length ? gap : 0);
  repaint.push(() => {
    const ratio = Math.max(2, devicePixelRatio || 1), whole = box.clientWidth || 700;
    const x = pen(canvas), style = getComputedStyle(box);
    const mono = `12px "Source Code Pro", ui-monospace, Menlo, monospace`, sans = `11px ${style.fontFamily}`;
    left = lines.length === 1 && !lines[0] ? 0 : Math.min(whole < 420 ? 84 : 132, 10 + letters * 7.3);
    width = Math.max(0.5, Math.min(22, (whole - left - right - 12) / Math.min(n, WRAP)));
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
      x.fillStyle = colour(marked ? "ink" : "ink2");
      if (high >= 12 || marked) x.fillText(cut(line, whole < 420 ? 10 : 17), left - 6, y(i) + high / 2);
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
        if (high >= 12) x.fillText(short(totals[i]), left + width * n + right - 4, y(i) + high / 2);
      }
    });
    if (totals) { x.font = sans; x.textAlign = "right"; x.fillStyle = colour("ink2"); x.fillText(table.totalName || "weight", left + width * n + right - 4, 7); }
    if (mark) { x.strokeStyle = colour("ink"); x.lineWidth = 2; x.strokeRect(left + (mark[1] % WRAP) * width - 1, y(mark[0], Math.floor(mark[1] / WRAP)) - 1, width + 2, high + 1); }
  });
  const paint = repaint[repaint.length - 1];
  const point = (at) => {
    mark = at;
    const total = at && totals && at[0] < totals.length ? `; ${table.totalName || "weight"} ${exact(totals[at[0]])}` : "";
    said.textContent = at ? `${nth(lines, at[0])}, ${table.unit} ${at[1] + 1}: ${exact(value(...at))}${total}` : rest;
    paint();
  };
  canvas.onmousemove = (event) => {
    const column = Math.floor((event.offsetX - left) / width), line = lines.findIndex((_, i) => event.offsetY >= y(i) && event.offsetY < y(i) + high * chunks);
    const chunk = line < 0 ? 0 : Math.floor((event.offsetY - y(line)) / high), j = chunk * WRAP + column;
    point(line >= 0 && column >= 0 && column < Math.min(n, WRAP) && j < n ? [line, j] : null);
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
