// Plotly's charts, drawn on a sheet: the cells of a map as rectangles, its labels whole, its scale with numbers; all else as it stands.

import { drawing } from "../kit/mount.js";
import { across } from "../kit/chart_labels_parts.js";
import { parsed } from "./colours.js";
import { inline } from "./inline.js";
import { X, Y, measured, paint, put, putRect, putText, reach, round } from "./sheet.js";

const CELL = 20; // px: so large is a cell of a map that is a picture of its own, at least
const WIDEST = 1100; // px: a map of many cells stays within
const FONT = 12, LEAST = 6; // px
const STEPS = 32; // of a scale
const APART = ".hoverlayer, .zoomlayer, .menulayer, .draglayer, .selectionlayer, .infolayer .modebar, .modebar-container";

export const mapsOf = (gd) => (gd.calcdata || []).map(([first], n) => ({ cells: first, trace: gd._fullData[n] })).filter(({ trace, cells }) => trace?.type === "heatmap" && trace.visible === true && cells?.z);

// How much larger than on the page a chart is drawn that is a picture of its own.
export function grown(gd) {
  const maps = mapsOf(gd), { xaxis, yaxis } = gd._fullLayout || {};
  if (!maps.length || !xaxis || !namesOf(gd, "xaxis")) return 1;
  const { z } = maps[0].cells, cell = Math.min(xaxis._length / z[0].length, yaxis._length / z.length);
  return Math.max(1, Math.min(CELL / cell, WIDEST / xaxis._length, 4));
}

const bare = (text) => String(text).replace(/<\/?[a-z][^>]*>/gi, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

// What stands at the places 0, 1, 2 ... of an axis of cells; null for another axis.
function namesOf(gd, name) {
  const texts = gd.layout.meta?.born?.axes?.[name]?.texts;
  return texts ? texts.map(bare) : null;
}

export function chart(sheet, gd) {
  const full = gd._fullLayout;
  if (!full) return;
  const named = (name) => full[name] && (sheet.alone || full[name].showticklabels) && namesOf(gd, name); // a small map has no room for them in its place
  const names = { x: named("xaxis"), y: named("yaxis") }, [svg] = gd.querySelectorAll(".main-svg");
  const skip = (node) => node.matches(APART) || (names.x && node.matches(".xtick")) || (names.y && node.matches(".ytick"));
  const rect = svg.getBoundingClientRect(), place = { x: (x) => X(sheet, rect.left + x), y: (y) => Y(sheet, rect.top + y) };
  const maps = mapsOf(gd);
  const instead = (node) => {
    if (!node.classList.contains("heatmaplayer")) return false;
    for (const map of maps) cellsOf(sheet, gd, map, place);
    return true;
  };
  for (const part of gd.querySelectorAll(".main-svg")) inline(sheet, part, { skip, instead });
  if (names.x || names.y) axisNames(sheet, gd, names, place);
  if (maps.length && sheet.alone) scaleOf(sheet, gd, maps[0].trace, place);
}

// -- maps ----------------------------------------------------------------------------------------------------------

const mixed = (a, b, share) => `rgb(${a.match(/[\d.]+/g).slice(0, 3).map((part, n) => round(Number(part) + (Number(b.match(/[\d.]+/g)[n]) - Number(part)) * share)).join(", ")})`;
const asRgb = (css) => (css.startsWith("#") ? `rgb(${[1, 3, 5].map((at) => parseInt(css.slice(at, at + 2), 16)).join(", ")})` : css);

// The colour of a value, by a trace's scale; null for none.
function colourOf({ colorscale, zmin, zmax }, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return null;
  const share = Math.max(0, Math.min(1, zmax === zmin ? 0 : (value - zmin) / (zmax - zmin)));
  const end = Math.max(1, colorscale.findIndex(([at]) => at >= share)), [low, high] = [colorscale[end - 1], colorscale[end]];
  return mixed(asRgb(low[1]), asRgb(high[1]), high[0] === low[0] ? 0 : (share - low[0]) / (high[0] - low[0]));
}

const kindOf = (sheet, { colorscale }) => (colorscale.some(([, css]) => sheet.recolour.isLoss(parsed(css))) ? "signed" : true);

function cellsOf(sheet, gd, { cells, trace }, place) {
  const { xaxis, yaxis } = gd._fullLayout, { z } = cells, found = new Map();
  const edges = (axis, at, side) => Array.from(at, (value) => place[side](axis._offset + axis.l2p(axis.type === "linear" || typeof value === "number" ? value : axis.d2l(value))));
  const [xs, ys] = [edges(xaxis, edged(cells.x, z[0].length), "x"), edges(yaxis, edged(cells.y, z.length), "y")];
  const data = kindOf(sheet, trace), gap = [((trace.xgap || 0) / 2) * sheet.scale, ((trace.ygap || 0) / 2) * sheet.scale], many = z.length * z[0].length > 6000;
  for (let i = 0; i < z.length; i++) for (let j = 0; j < z[i].length; j++) {
    const css = colourOf(trace, z[i][j]), fill = css && paint(sheet, "fill", css, { data, ground: true });
    if (!fill || fill.fill === "none") continue;
    const [left, right] = [Math.min(xs[j], xs[j + 1]) + gap[0], Math.max(xs[j], xs[j + 1]) - gap[0]], [top, bottom] = [Math.min(ys[i], ys[i + 1]) + gap[1], Math.max(ys[i], ys[i + 1]) - gap[1]];
    if (!found.has(fill.fill)) found.set(fill.fill, []);
    if (many) found.get(fill.fill).push(`M${round(left)} ${round(top)}H${round(right)}V${round(bottom)}H${round(left)}Z`);
    else putRect(sheet, left, top, right - left, bottom - top, { ...fill, "shape-rendering": "crispEdges" });
  }
  reach(sheet, Math.min(xs[0], xs.at(-1)), Math.min(ys[0], ys.at(-1)), Math.max(xs[0], xs.at(-1)), Math.max(ys[0], ys.at(-1)));
  if (many) for (const [fill, parts] of found) put(sheet, "path", { d: parts.join(""), fill, "shape-rendering": "crispEdges" });
}

// The edges of cells, where their middles or their edges are known.
function edged(at, count) {
  if (at.length > count) return at;
  const half = count > 1 ? (at[1] - at[0]) / 2 : 0.5;
  return [...Array.from(at, (middle) => middle - half), at[count - 1] + half];
}

// -- labels and scale ----------------------------------------------------------------------------------------------

function axisNames(sheet, gd, names, place) {
  const { xaxis, yaxis, font } = gd._fullLayout, css = font.family;
  const fontOf = (axis) => axis.tickfont ?? font; // an axis without labels on the page has none of its own
  const size = (axis, pitch) => Math.max(LEAST, Math.min(sheet.alone ? FONT : fontOf(axis).size, (sheet.alone ? 0.9 : 0.94) * pitch));
  const pitchOf = (axis) => Math.abs(axis.l2p(1) - axis.l2p(0)) * sheet.scale;
  if (names.x) {
    const high = size(xaxis, pitchOf(xaxis)), above = xaxis.side === "top", look = { size: high, css, ...paint(sheet, "fill", fontOf(xaxis).color) };
    const longest = Math.max(...names.x.map((text) => measured(text, look).width)), { angle } = across(pitchOf(xaxis), longest, high);
    const line = place.y(above ? yaxis._offset : yaxis._offset + yaxis._length) + (above ? -5 : angle ? 6 : 1.1 * high);
    names.x.forEach((text, i) => {
      const x = place.x(xaxis._offset + xaxis.l2p(i)), lean = angle === -90 ? 0.34 * high : angle ? 0.2 * high : 0;
      putText(sheet, x + lean, line, text, { ...look, turn: angle, anchor: angle === 0 ? "middle" : above ? "start" : "end" });
    });
  }
  if (names.y) {
    const high = size(yaxis, pitchOf(yaxis)), look = { size: high, css, ...paint(sheet, "fill", fontOf(yaxis).color) }, right = yaxis.side === "right";
    const x = place.x(right ? xaxis._offset + xaxis._length : xaxis._offset) + (right ? 6 : -6);
    names.y.forEach((text, i) => putText(sheet, x, place.y(yaxis._offset + yaxis.l2p(i)) + 0.34 * high, text, { ...look, anchor: right ? "start" : "end" }));
  }
}

const said = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

// The colours with the numbers that they stand for, right of the map.
function scaleOf(sheet, gd, trace, place) {
  const { colorscale, zmin, zmax } = trace, { xaxis, yaxis, font } = gd._fullLayout;
  if (!Number.isFinite(zmin + zmax) || zmin === zmax || new Set(colorscale.map(([, css]) => css)).size < 2) return;
  const id = `scale${sheet.defs.childElementCount + 1}`, ramp = drawing("linearGradient", { id, gradientUnits: "userSpaceOnUse" });
  const right = Math.max(place.x(xaxis._offset + xaxis._length), sheet.box[2]) + 18, bottom = place.y(yaxis._offset + yaxis._length);
  const high = Math.min(160, bottom - place.y(yaxis._offset)), top = bottom - high;
  for (const [name, value] of Object.entries({ x1: right, x2: right, y1: bottom, y2: top })) ramp.setAttribute(name, round(value));
  for (let n = 0; n <= STEPS; n++) ramp.append(drawing("stop", { offset: round(n / STEPS), ...paint(sheet, "stop-color", colourOf(trace, zmin + ((zmax - zmin) * n) / STEPS), { data: kindOf(sheet, trace) }) }));
  sheet.defs.append(ramp);
  putRect(sheet, right, top, 12, high, { fill: `url(#${id})`, ...paint(sheet, "stroke", yaxis.tickfont?.color || font.color, { opacity: 0.5 }), "stroke-width": 0.75 });
  for (const [share, value] of [[0, zmin], [0.5, (zmin + zmax) / 2], [1, zmax]]) {
    putText(sheet, right + 18, bottom - share * high + 0.34 * FONT, said(value), { size: FONT, css: font.family, tabular: true, ...paint(sheet, "fill", font.color) });
  }
}
