// Draws Plotly charts on a sheet. The cells of a heatmap become rectangles, its labels have full length, and its colour scale gets
// numbers. The other parts are copied as SVG.

import { svgElement } from "../kit/mount.js";
import { columnLabels } from "../kit/chart_labels_parts.js";
import { parseColour } from "./colours.js";
import { drawSvg } from "./inline.js";
import { X, Y, textMetrics, paintAttributes, addShape, drawRect, drawText, extendBounds, round } from "./sheet.js";

const MIN_CHART_CELL = 20; // px: smallest cell of a heatmap in a separate picture
const MAX_WIDTH = 1100; // px: largest width of an enlarged heatmap
const FONT = 12, MIN_AXIS_FONT = 6; // px
const STEPS = 32; // colour stops of a scale
const OMITTED = ".hoverlayer, .zoomlayer, .menulayer, .draglayer, .selectionlayer, .infolayer .modebar, .modebar-container";

export const heatmapsOf = (gd) => (gd.calcdata || []).map(([first], n) => ({ cells: first, trace: gd._fullData[n] })).filter(({ trace, cells }) => trace?.type === "heatmap" && trace.visible === true && cells?.z);

// Returns the scale of a chart in a separate picture, relative to the page.
export function chartScale(gd) {
  const maps = heatmapsOf(gd), { xaxis, yaxis } = gd._fullLayout || {};
  if (!maps.length || !xaxis || !labelsOf(gd, "xaxis")) return 1;
  const { z } = maps[0].cells, cell = Math.min(xaxis._length / z[0].length, yaxis._length / z.length);
  return Math.max(1, Math.min(MIN_CHART_CELL / cell, MAX_WIDTH / xaxis._length, 4));
}

const plainText = (text) => String(text).replace(/<\/?[a-z][^>]*>/gi, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");

// Returns the labels of an axis of cells, or null for any other axis.
function labelsOf(gd, name) {
  const texts = gd.layout.meta?.original?.axes?.[name]?.texts;
  return texts ? texts.map(plainText) : null;
}

export function drawChart(sheet, gd) {
  const full = gd._fullLayout;
  if (!full) return;
  const visibleNames = (name) => full[name] && (sheet.isSeparate || full[name].showticklabels) && labelsOf(gd, name); // a small heatmap inside a larger picture has no room for labels
  const names = { x: visibleNames("xaxis"), y: visibleNames("yaxis") }, [svg] = gd.querySelectorAll(".main-svg");
  const skip = (node) => node.matches(OMITTED) || (names.x && node.matches(".xtick")) || (names.y && node.matches(".ytick"));
  const rect = svg.getBoundingClientRect(), place = { x: (x) => X(sheet, rect.left + x), y: (y) => Y(sheet, rect.top + y) };
  const maps = heatmapsOf(gd);
  const replace = (node) => {
    if (!node.classList.contains("heatmaplayer")) return false;
    for (const map of maps) drawCells(sheet, gd, map, place);
    return true;
  };
  for (const part of gd.querySelectorAll(".main-svg")) drawSvg(sheet, part, { skip, replace });
  if (names.x || names.y) drawAxisLabels(sheet, gd, names, place);
  if (maps.length && sheet.isSeparate) drawScale(sheet, gd, maps[0].trace, place);
}

// -- maps ----------------------------------------------------------------------------------------------------------

const mixColours = (a, b, share) => `rgb(${a.match(/[\d.]+/g).slice(0, 3).map((part, n) => round(Number(part) + (Number(b.match(/[\d.]+/g)[n]) - Number(part)) * share)).join(", ")})`;
const asRgb = (css) => (css.startsWith("#") ? `rgb(${[1, 3, 5].map((start) => parseInt(css.slice(start, start + 2), 16)).join(", ")})` : css);

// Returns the colour of a value on a trace's scale, or null for a missing value.
function colourOf({ colorscale, zmin, zmax }, value) {
  if (value === null || value === undefined || Number.isNaN(value)) return null;
  const share = Math.max(0, Math.min(1, zmax === zmin ? 0 : (value - zmin) / (zmax - zmin)));
  const end = Math.max(1, colorscale.findIndex(([position]) => position >= share)), [low, high] = [colorscale[end - 1], colorscale[end]];
  return mixColours(asRgb(low[1]), asRgb(high[1]), high[0] === low[0] ? 0 : (share - low[0]) / (high[0] - low[0]));
}

const scaleKindOf = (sheet, { colorscale }) => (colorscale.some(([, css]) => sheet.recolour.isLoss(parseColour(css))) ? "signed" : true);

function drawCells(sheet, gd, { cells, trace }, place) {
  const { xaxis, yaxis } = gd._fullLayout, { z } = cells, pathsByColour = new Map();
  const edges = (axis, values, side) => Array.from(values, (value) => place[side](axis._offset + axis.l2p(axis.type === "linear" || typeof value === "number" ? value : axis.d2l(value))));
  const [xs, ys] = [edges(xaxis, cellEdges(cells.x, z[0].length), "x"), edges(yaxis, cellEdges(cells.y, z.length), "y")];
  const data = scaleKindOf(sheet, trace), gap = [((trace.xgap || 0) / 2) * sheet.scale, ((trace.ygap || 0) / 2) * sheet.scale], isLarge = z.length * z[0].length > 6000;
  for (let i = 0; i < z.length; i++) for (let j = 0; j < z[i].length; j++) {
    const css = colourOf(trace, z[i][j]), fill = css && paintAttributes(sheet, "fill", css, { data, isBackground: true });
    if (!fill || fill.fill === "none") continue;
    const [left, right] = [Math.min(xs[j], xs[j + 1]) + gap[0], Math.max(xs[j], xs[j + 1]) - gap[0]], [top, bottom] = [Math.min(ys[i], ys[i + 1]) + gap[1], Math.max(ys[i], ys[i + 1]) - gap[1]];
    if (!pathsByColour.has(fill.fill)) pathsByColour.set(fill.fill, []);
    if (isLarge) pathsByColour.get(fill.fill).push(`M${round(left)} ${round(top)}H${round(right)}V${round(bottom)}H${round(left)}Z`);
    else drawRect(sheet, left, top, right - left, bottom - top, { ...fill, "shape-rendering": "crispEdges" });
  }
  extendBounds(sheet, Math.min(xs[0], xs.at(-1)), Math.min(ys[0], ys.at(-1)), Math.max(xs[0], xs.at(-1)), Math.max(ys[0], ys.at(-1)));
  if (isLarge) for (const [fill, parts] of pathsByColour) addShape(sheet, "path", { d: parts.join(""), fill, "shape-rendering": "crispEdges" });
}

// Returns the edges of cells from their centres or edges.
function cellEdges(positions, count) {
  if (positions.length > count) return positions;
  const half = count > 1 ? (positions[1] - positions[0]) / 2 : 0.5;
  return [...Array.from(positions, (middle) => middle - half), positions[count - 1] + half];
}

// -- labels and scale ----------------------------------------------------------------------------------------------

function drawAxisLabels(sheet, gd, names, place) {
  const { xaxis, yaxis, font } = gd._fullLayout, css = font.family;
  const fontOf = (axis) => axis.tickfont ?? font; // an axis without labels on the page has no own font
  const size = (axis, pitch) => Math.max(MIN_AXIS_FONT, Math.min(sheet.isSeparate ? FONT : fontOf(axis).size, (sheet.isSeparate ? 0.9 : 0.94) * pitch));
  const pitchOf = (axis) => Math.abs(axis.l2p(1) - axis.l2p(0)) * sheet.scale;
  if (names.x) {
    const fontSize = size(xaxis, pitchOf(xaxis)), isAbove = xaxis.side === "top", look = { size: fontSize, css, ...paintAttributes(sheet, "fill", fontOf(xaxis).color) };
    const longest = Math.max(...names.x.map((text) => textMetrics(text, look).width)), { angle } = columnLabels(pitchOf(xaxis), longest, fontSize);
    const line = place.y(isAbove ? yaxis._offset : yaxis._offset + yaxis._length) + (isAbove ? -5 : angle ? 6 : 1.1 * fontSize);
    names.x.forEach((text, i) => {
      const x = place.x(xaxis._offset + xaxis.l2p(i)), lean = angle === -90 ? 0.34 * fontSize : angle ? 0.2 * fontSize : 0;
      drawText(sheet, x + lean, line, text, { ...look, turn: angle, anchor: angle === 0 ? "middle" : isAbove ? "start" : "end" });
    });
  }
  if (names.y) {
    const fontSize = size(yaxis, pitchOf(yaxis)), look = { size: fontSize, css, ...paintAttributes(sheet, "fill", fontOf(yaxis).color) }, right = yaxis.side === "right";
    const x = place.x(right ? xaxis._offset + xaxis._length : xaxis._offset) + (right ? 6 : -6);
    names.y.forEach((text, i) => drawText(sheet, x, place.y(yaxis._offset + yaxis.l2p(i)) + 0.34 * fontSize, text, { ...look, anchor: right ? "start" : "end" }));
  }
}

const formatValue = (value) => String(Number(value.toPrecision(3))).replace("-", "−");

// Draws the colour scale with its numbers, right of the heatmap.
function drawScale(sheet, gd, trace, place) {
  const { colorscale, zmin, zmax } = trace, { xaxis, yaxis, font } = gd._fullLayout;
  if (!Number.isFinite(zmin + zmax) || zmin === zmax || new Set(colorscale.map(([, css]) => css)).size < 2) return;
  const id = `scale${sheet.defs.childElementCount + 1}`, ramp = svgElement("linearGradient", { id, gradientUnits: "userSpaceOnUse" });
  const right = Math.max(place.x(xaxis._offset + xaxis._length), sheet.box[2]) + 18, bottom = place.y(yaxis._offset + yaxis._length);
  const height = Math.min(160, bottom - place.y(yaxis._offset)), top = bottom - height;
  for (const [name, value] of Object.entries({ x1: right, x2: right, y1: bottom, y2: top })) ramp.setAttribute(name, round(value));
  for (let n = 0; n <= STEPS; n++) ramp.append(svgElement("stop", { offset: round(n / STEPS), ...paintAttributes(sheet, "stop-color", colourOf(trace, zmin + ((zmax - zmin) * n) / STEPS), { data: scaleKindOf(sheet, trace) }) }));
  sheet.defs.append(ramp);
  drawRect(sheet, right, top, 12, height, { fill: `url(#${id})`, ...paintAttributes(sheet, "stroke", yaxis.tickfont?.color || font.color, { opacity: 0.5 }), "stroke-width": 0.75 });
  for (const [share, value] of [[0, zmin], [0.5, (zmin + zmax) / 2], [1, zmax]]) {
    drawText(sheet, right + 18, bottom - share * height + 0.34 * FONT, formatValue(value), { size: FONT, css: font.family, tabular: true, ...paintAttributes(sheet, "fill", font.color) });
  }
}
