// Draws one chart on a canvas: the part of Plotly's format that `chart_figures.py` uses. The card shows the point next to the pointer.

import { cellTable } from "./cell_table.js";
import { paintCells } from "./heatmap.js";
import { density, element, pointerPosition } from "./mount.js";
import { floats, rowsOf } from "./packed.js";
import { excludeFromPicture, pen } from "./pen.js";

export const DASHES = { dot: [2, 3], dash: [7, 5], dashdot: [7, 4, 2, 4], longdash: [11, 5] }; // px at a line width of 1.4
const TICK_ROOM = { x: 56, y: 34 }; // px between two ticks at least
const NEAR = 20; // px between the pointer and a point at most
const PAD = 0.06; // of the range of the points, on either side
const GAP = 10; // px between a point and its card
const BAR_WIDTH = 0.8; // of a bar, in units of its axis
const TAG = /<[^>]*>/g, ENTITIES = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&" };

const plain = (text) => text.replace(TAG, "").replace(/&(lt|gt|quot|#x27|amp);/g, (entity) => ENTITIES[entity]);
const fontWeightOf = (text) => (String(text).startsWith("<b>") ? 650 : 400);
const linesOf = (text) => text.replace(/<extra>.*<\/extra>/, "").split("<br>").map(plain);
const withMinus = (text) => text.replace(/^-/, "−");

// Returns an axis: `at(value)` in px, and `value(px)`. The range of a logarithmic axis has exponents.
function axisOf({ range: [low, high], type }, start, length) {
  const isLog = type === "log", scale = length / (high - low);
  return { low, high, start, length, isLog, at: (value) => start + ((isLog ? Math.log10(value) : value) - low) * scale, value: (px) => low + (px - start) / scale };
}

// Returns the ticks of an axis as [value, text]: the given ones, or round numbers.
function ticksOf(settings, axis, room) {
  if (settings.tickvals) return settings.tickvals.map((value, n) => [value, plain(settings.ticktext[n]), fontWeightOf(settings.ticktext[n])]);
  const span = Math.abs(axis.high - axis.low), most = Math.min(settings.nticks ?? Infinity, Math.max(2, Math.floor(Math.abs(axis.length) / room)));
  const power = 10 ** Math.floor(Math.log10(span / most)), step = power * ([1, 2, 5, 10].find((each) => span / (power * each) <= most) ?? 10), ticks = [];
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), [from, to] = [Math.min(axis.low, axis.high), Math.max(axis.low, axis.high)];
  for (let n = Math.ceil(from / step - 1e-9); n * step <= to + 1e-9 * step; n++) ticks.push([n * step, withMinus((n * step || 0).toFixed(digits))]);
  return ticks;
}

const barWidth = ({ width }) => width ?? BAR_WIDTH;

// Returns the range of an axis: the given one, or that of the points with a margin.
function limitsOf({ range }, traces, name) {
  if (range) return range;
  const edges = (trace) => (name === "y" ? [0, ...trace.y] : [...trace.x].flatMap((value) => [value - barWidth(trace) / 2, value + barWidth(trace) / 2]));
  const values = traces.flatMap((trace) => (trace.type === "bar" ? edges(trace) : trace[name])).filter((value) => value !== null), [low, high] = [Math.min(...values), Math.max(...values)], pad = PAD * (high - low || Math.abs(high) || 1);
  return [low - pad, high + pad];
}

// Returns the ranges of both axes. If the figure asks for units of one length, the longer axis shows more.
function rangesOf({ xaxis, yaxis }, traces, width, height) {
  if (!yaxis.scaleanchor) return [limitsOf(xaxis, traces, "x"), limitsOf(yaxis, traces, "y")];
  const spans = [xaxis, yaxis].map(({ range: [low, high] }) => high - low), unit = Math.min(width / spans[0], height / spans[1]);
  return [[xaxis, width], [yaxis, height]].map(([{ range: [low, high] }, length]) => [(low + high) / 2 - length / unit / 2, (low + high) / 2 + length / unit / 2]);
}

// Returns the text of a point: its own, or its template with the numbers.
function textOf(trace, n, values) {
  if (trace.hovertext) return Array.isArray(trace.hovertext) ? trace.hovertext[n] : trace.hovertext;
  const formatted = (value, digits, type) => (type === "f" ? value.toFixed(digits) : type === "g" ? String(Number(value.toPrecision(digits))) : value.toLocaleString("en-US"));
  return (trace.hovertemplate ?? "%{y}").replace(/%\{(\w+)(:(?:\.(\d+)([fg])|,))?\}/g, (_, name, format, digits, type) => (format ? withMinus(formatted(values[name], digits, type)) : values[name]));
}

// Returns the node of a chart of a `width` and a `height` in px, enlarged by `zoom`. `alt` describes it. `moveLine` of the node moves
// the lines of a name to a place on the horizontal axis. `onColumn` gets the column of a clicked cell of a map.
// `markedAt` of the node is the middle of the first shape, in px.
export function chartNode({ data, layout }, { root, width, height, zoom = 1, alt, onColumn = null }) {
  const node = element("div", "chart-canvas"), canvas = element("canvas"), card = excludeFromPicture(element("div", "card"), true), { margin, font } = layout;
  const ratio = density(root) * zoom, inner = [width - margin.l - margin.r, height - margin.t - margin.b], ranges = rangesOf(layout, data, ...inner);
  const x = axisOf({ ...layout.xaxis, range: ranges[0] }, margin.l, inner[0]), y = axisOf({ ...layout.yaxis, range: ranges[1] }, margin.t + inner[1], -inner[1]);
  const [left, top, right, bottom] = [margin.l, margin.t, width - margin.r, height - margin.b], points = []; // points: [x, y, text] in px
  Object.assign(canvas, { width: width * ratio, height: height * ratio });
  Object.assign(canvas.style, { width: `${width * zoom}px`, height: `${height * zoom}px` });
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", alt);
  card.hidden = true;
  node.append(canvas, card);
  draw(pen(canvas));
  node.append(...data.filter(({ type, hovertemplate, hovertext }) => type === "heatmap" && (hovertemplate || hovertext)).map(tableOf));
  const lines = (layout.shapes ?? []).filter(({ name }) => name).map(({ name, line: { color } }) => ({ name, node: movableLine(color) }));
  node.moveLine = (name, value) => {
    const px = x.at(x.isLog ? Math.max(value, 10 ** x.low) : value), isInside = px >= left - 0.5 && px <= right + 0.5;
    for (const each of lines.filter((own) => own.name === name)) {
      each.node.hidden = !isInside;
      each.node.style.left = `${px * zoom}px`;
      node.dataset.step = isInside ? value : "";
    }
  };
  node.markedAt = x.at(((layout.shapes?.[0]?.x0 ?? x.low) + (layout.shapes?.[0]?.x1 ?? x.low)) / 2);
  node.onpointermove = (event) => show(event);
  node.onpointerleave = () => { card.hidden = true; };
  if (onColumn) {
    canvas.style.cursor = "pointer";
    canvas.onclick = (event) => { const found = hit(...placeOf(event)); if (found) onColumn(found[3]); };
  }
  return node;

  function tableOf(map) { // as the card tells each cell
    const cells = map.rows.flatMap((row, i) => Array.from(row, (value, j) => ({ value, i, j }))).filter(({ value }) => !Number.isNaN(value));
    const texts = ({ value, i, j }) => { const [first, ...rest] = linesOf(cellText(map, i, j, value)); return [first, rest.join(", ")]; };
    return cellTable({ owner: root, name: alt, label: alt, read: () => [{ cells, unit: "cells", columns: ["Cell", "Value"], texts }] });
  }

  function cellText(map, i, j, value) { return textOf(map, i * map.z.shape[1] + j, { x: j + map.x0, y: i, z: value }); }

  function movableLine(color) {
    const mark = element("i", "movable");
    mark.hidden = true;
    Object.assign(mark.style, { background: color, top: `${top * zoom}px`, height: `${(bottom - top) * zoom}px` });
    node.append(mark);
    return mark;
  }

  function draw(c) {
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.lineJoin = "round";
    drawGrid(c);
    for (const shape of layout.shapes ?? []) if (shape.layer === "below") drawShape(c, shape);
    for (const trace of data) ({ heatmap: drawCells, bar: drawBars }[trace.type] ?? drawPoints)(c, trace);
    for (const shape of layout.shapes ?? []) if (shape.layer !== "below" && !shape.name) drawShape(c, shape);
    drawLabels(c);
    for (const each of layout.annotations ?? []) drawAnnotation(c, each);
  }

  function line(c, ends, { color, width: lineWidth = 1, dash }) {
    Object.assign(c, { strokeStyle: color, lineWidth });
    c.setLineDash(DASHES[dash] ?? []);
    c.beginPath();
    let isBroken = true;
    for (const [px, py] of ends) {
      if (px === null || py === null) { isBroken = true; continue; }
      if (isBroken) c.moveTo(px, py); else c.lineTo(px, py);
      isBroken = false;
    }
    c.stroke();
    c.setLineDash([]);
  }

  function drawGrid(c) {
    for (const [settings, axis, room, ends] of [[layout.xaxis, x, TICK_ROOM.x, (at) => [[at, top], [at, bottom]]], [layout.yaxis, y, TICK_ROOM.y, (at) => [[left, at], [right, at]]]]) {
      if (settings.showgrid) for (const [value] of ticksOf(settings, axis, room)) line(c, ends(axis.at(value)), { color: settings.gridcolor });
      if (settings.zeroline) line(c, ends(axis.at(0)), { color: settings.zerolinecolor });
    }
  }

  function drawCells(c, trace) {
    const [rows, columns] = trace.z.shape, values = (trace.rows ??= rowsOf(floats(trace.z.values), trace.z.shape)), last = trace.colorscale.length - 1, span = trace.zmax - trace.zmin || 1;
    const tint = (i, j) => (Number.isNaN(values[i][j]) ? null : trace.colorscale[Math.round(Math.max(0, Math.min(1, (values[i][j] - trace.zmin) / span)) * last)][1]);
    const cells = paintCells(element("canvas"), rows, columns, tint), [fromX, toX, fromY, toY] = [x.at(trace.x0 - 0.5), x.at(trace.x0 + columns - 0.5), y.at(-0.5), y.at(rows - 0.5)];
    c.imageSmoothingEnabled = false;
    c.drawImage(cells, fromX, fromY, toX - fromX, toY - fromY);
    if (!trace.xgap) return;
    const gap = { color: layout.paper_bgcolor, width: trace.xgap };
    for (let j = 0; j <= columns; j++) line(c, [[x.at(trace.x0 + j - 0.5), fromY], [x.at(trace.x0 + j - 0.5), toY]], gap);
    for (let i = 0; i <= rows; i++) line(c, [[fromX, y.at(i - 0.5)], [toX, y.at(i - 0.5)]], gap);
  }

  function drawPoints(c, trace) {
    const isInCells = data.some(({ type }) => type === "heatmap"); // texts then keep within a column
    const all = trace.x.map((value, n) => (value === null || trace.y[n] === null ? [null, null] : [x.at(value), y.at(trace.y[n])]));
    if (trace.fill) {
      c.fillStyle = trace.fillcolor;
      c.beginPath();
      all.forEach(([px, py], n) => (n ? c.lineTo(px, py) : c.moveTo(px, py)));
      c.closePath();
      c.fill();
    }
    c.globalAlpha = trace.opacity ?? 1;
    if (trace.mode.includes("lines")) line(c, all, trace.line);
    if (trace.mode.includes("markers")) all.forEach(([px, py], n) => px !== null && dot(c, px, py, trace.marker, n));
    if (trace.mode.includes("text")) all.forEach(([px, py], n) => px !== null && write(c, isInCells ? fitted(c, trace.text[n], trace.textfont) : trace.text[n], px, py + 1, trace.textfont, "center", "middle", fontWeightOf(trace.text[n])));
    c.globalAlpha = 1;
    if (trace.hoverinfo !== "skip") all.forEach(([px, py], n) => px !== null && points.push([px, py, textOf(trace, n, { x: trace.x[n], y: trace.y[n], customdata: trace.customdata?.[n] })]));
  }

  function drawBars(c, trace) {
    const zero = y.at(y.isLog ? 10 ** y.low : 0), half = barWidth(trace) / 2, { color = font.color } = trace.marker ?? {};
    trace.x.forEach((value, n) => {
      if (value === null || trace.y[n] === null) return;
      const [from, to, middle, end] = [x.at(value - half), x.at(value + half), x.at(value), y.at(trace.y[n])], text = trace.text?.[n];
      c.fillStyle = Array.isArray(color) ? color[n] : color;
      c.fillRect(from, Math.min(zero, end), to - from, Math.abs(end - zero));
      if (text) write(c, plain(text), middle, end + (end > zero ? 3 : -3), trace.textfont ?? {}, "center", end > zero ? "top" : "bottom");
      if (trace.hoverinfo === "skip") return;
      for (const py of [end, (end + zero) / 2]) points.push([middle, py, textOf(trace, n, { x: value, y: trace.y[n], customdata: trace.customdata?.[n] })]);
    });
  }

  function dot(c, px, py, { size, color, line: edge }, n) {
    c.beginPath();
    c.arc(px, py, size / 2, 0, 2 * Math.PI);
    c.fillStyle = Array.isArray(color) ? color[n] : color;
    c.fill();
    if (!edge) return;
    Object.assign(c, { strokeStyle: edge.color, lineWidth: edge.width });
    c.stroke();
  }

  function drawShape(c, shape) {
    const place = (axis, ref, value, [from, to]) => (ref?.endsWith("domain") ? from + value * (to - from) : axis.at(value));
    const [x0, x1] = [shape.x0, shape.x1].map((value) => place(x, shape.xref, value, [left, right])), [y0, y1] = [shape.y0, shape.y1].map((value) => place(y, shape.yref, value, [bottom, top]));
    if (shape.type === "line") { line(c, [[x0, y0], [x1, y1]], shape.line); return; }
    if (shape.fillcolor) { c.fillStyle = shape.fillcolor; c.fillRect(x0, y0, x1 - x0, y1 - y0); }
    if (shape.line?.width) { Object.assign(c, { strokeStyle: shape.line.color, lineWidth: shape.line.width }); c.strokeRect(x0, y0, x1 - x0, y1 - y0); }
  }

  function drawLabels(c) {
    for (const [settings, axis, room, at, align] of [[layout.xaxis, x, TICK_ROOM.x, (px) => [px, bottom + 5], ["center", "top"]], [layout.yaxis, y, TICK_ROOM.y, (px) => [left - 5, px], ["right", "middle"]]]) {
      if (settings.showticklabels === false) continue;
      const ticks = ticksOf(settings, axis, room), leans = settings.tickangle && isCrowded(c, ticks, axis, settings.tickfont);
      for (const [value, text, weight] of ticks) {
        if (leans) leaning(c, text, axis.at(value), settings, weight);
        else write(c, text, ...at(axis.at(value)), settings.tickfont, ...align, weight);
      }
    }
    const { xaxis: { title: across }, yaxis: { title: down } } = layout;
    if (across?.text) write(c, plain(across.text), (left + right) / 2, bottom + 8 + 1.1 * layout.xaxis.tickfont.size, across.font, "center", "top");
    if (!down?.text) return;
    c.save();
    c.translate(across?.font.size ?? font.size, (top + bottom) / 2);
    c.rotate(-Math.PI / 2);
    write(c, plain(down.text), 0, -3, down.font, "center", "middle");
    c.restore();
  }

  function isCrowded(c, ticks, axis, { size }) {
    c.font = `${size}px ${font.family}`;
    return ticks.length > 1 && Math.max(...ticks.map(([, text]) => c.measureText(text).width)) > Math.abs(axis.at(ticks[1][0]) - axis.at(ticks[0][0])) - 2;
  }

  function leaning(c, text, px, { tickfont, tickangle }, weight) {
    c.save();
    c.translate(px, bottom + 5);
    c.rotate((tickangle * Math.PI) / 180);
    write(c, text, 0, 0, tickfont, "right", "middle", weight);
    c.restore();
  }

  // Returns a text cut to the width of a column; nothing if the column has no room for two letters.
  function fitted(c, text, { size }) {
    const whole = plain(text), room = x.at(x.low + 1) - x.at(x.low) - 4;
    c.font = `${fontWeightOf(text)} ${size}px ${font.family}`;
    if (c.measureText(whole).width <= room) return whole;
    for (let length = whole.length - 1; length > 1; length--) {
      const cut = `${whole.slice(0, length)}…`;
      if (c.measureText(cut).width <= room) return cut;
    }
    return "";
  }

  function write(c, text, px, py, { size = font.size, color = font.color }, textAlign, textBaseline, weight = 400) {
    Object.assign(c, { font: `${weight} ${size}px ${font.family}`, fillStyle: zoom > 1 ? font.color : color, textAlign, textBaseline });
    c.fillText(text, px, py);
  }

  function drawAnnotation(c, { x: ax, y: ay, xref, xanchor = "center", yanchor = "middle", xshift = 0, text, font: own, bgcolor }) {
    const px = xshift + (xref === "paper" ? left + ax * (right - left) : x.at(ax)), py = y.at(ay), weight = fontWeightOf(text), said = plain(text);
    if (bgcolor) {
      c.font = `${weight} ${own.size}px ${font.family}`;
      const { width: w } = c.measureText(said), h = 1.3 * own.size;
      c.fillStyle = bgcolor;
      c.fillRect(px - { left: 0, center: w / 2, right: w + 1 }[xanchor] - 1, py - { top: -1, middle: h / 2, bottom: h }[yanchor], w + 2, h);
    }
    write(c, said, px, py + (yanchor === "top" ? 2 : 0), own, xanchor, yanchor, weight);
  }

  // Returns the text under the pointer after its place in px, and for a map the column of the cell, or null.
  function hit(px, py) {
    const map = data.find(({ type }) => type === "heatmap");
    if (map) {
      const [i, column] = [Math.round(y.value(py)), Math.round(x.value(px))], j = column - map.x0;
      return i < 0 || j < 0 || i >= map.rows.length || j >= map.rows[0].length ? null : [x.at(column), y.at(i), cellText(map, i, j, map.rows[i][j]), column];
    }
    const distance = ([ax, ay]) => Math.hypot(ax - px, ay - py), best = points.reduce((near, each) => (near && distance(near) <= distance(each) ? near : each), null);
    return best && distance(best) <= NEAR ? best : null;
  }

  function placeOf(event) { return pointerPosition(event, canvas).map((each) => each / zoom); }

  function show(event) {
    const found = hit(...placeOf(event));
    card.hidden = !found;
    if (!found) return;
    card.replaceChildren(...linesOf(found[2]).map((text) => element("div", "", text)));
    const [ax, ay] = [found[0] * zoom, found[1] * zoom], isRight = ax > (width * zoom) / 2;
    Object.assign(card.style, { left: isRight ? "" : `${ax + GAP}px`, right: isRight ? `${width * zoom - ax + GAP}px` : "", top: `${Math.max(0, ay - GAP)}px` });
  }
}
