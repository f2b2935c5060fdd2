// Draws the SVG elements of the page on a sheet, shape by shape, in their computed colours.

import { svgElement } from "../kit/mount.js";
import { drawClipped, drawFaded, textMetrics, paintAttributes, addShape, drawText, extendBounds, round } from "./sheet.js";

const SHAPES = {
  rect: (n) => ({ x: n.x.baseVal.value, y: n.y.baseVal.value, width: n.width.baseVal.value, height: n.height.baseVal.value, rx: n.rx.baseVal.value || null }),
  circle: (n) => ({ cx: n.cx.baseVal.value, cy: n.cy.baseVal.value, r: n.r.baseVal.value }),
  ellipse: (n) => ({ cx: n.cx.baseVal.value, cy: n.cy.baseVal.value, rx: n.rx.baseVal.value, ry: n.ry.baseVal.value }),
  line: (n) => ({ x1: n.x1.baseVal.value, y1: n.y1.baseVal.value, x2: n.x2.baseVal.value, y2: n.y2.baseVal.value }),
  path: (n) => ({ d: n.getAttribute("d") }),
  polyline: (n) => ({ points: n.getAttribute("points") }),
  polygon: (n) => ({ points: n.getAttribute("points") }),
};
const OMITTED_SVG_TAGS = /^(defs|title|desc|style|clipPath|mask|linearGradient|radialGradient|marker|symbol|metadata|foreignObject|image|script)$/;

// Returns the matrix that maps a node's own units to the sheet.
export function matrixOf(sheet, node) {
  const { a, b, c, d, e, f } = node.getScreenCTM(), { scale, origin } = sheet;
  return [a * scale, b * scale, c * scale, d * scale, (e - origin.x) * scale, (f - origin.y) * scale];
}

export function transformText([a, b, c, d, e, f]) {
  if (Math.abs(a - 1) + Math.abs(b) + Math.abs(c) + Math.abs(d - 1) < 1e-6) return Math.abs(e) + Math.abs(f) < 1e-6 ? null : `translate(${round(e)} ${round(f)})`;
  return `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`;
}

const transformPoint = ([a, b, c, d, e, f], x, y) => [a * x + c * y + e, b * x + d * y + f];

function extendByBox(sheet, matrix, { x, y, width, height }, line) {
  const corners = [[x, y], [x + width, y], [x, y + height], [x + width, y + height]].map(([px, py]) => transformPoint(matrix, px, py));
  const [xs, ys] = [corners.map((each) => each[0]), corners.map((each) => each[1])];
  extendBounds(sheet, Math.min(...xs) - line, Math.min(...ys) - line, Math.max(...xs) + line, Math.max(...ys) + line);
}

export function strokeOf(sheet, style, options) {
  const stroke = paintAttributes(sheet, "stroke", style.stroke, { ...options, opacity: Number(style.strokeOpacity) });
  if (stroke.stroke === "none") return {};
  const dash = style.strokeDasharray, cap = style.strokeLinecap, join = style.strokeLinejoin;
  return {
    ...stroke, "stroke-width": parseFloat(style.strokeWidth), "stroke-dasharray": dash === "none" ? null : dash.replaceAll("px", ""),
    "stroke-linecap": cap === "butt" ? null : cap, "stroke-linejoin": join === "miter" ? null : join,
  };
}

// Copies a gradient of the SVG to the sheet and returns its reference, or null without one.
function copyGradient(sheet, node, css) {
  const id = /url\(["']?#([^"')]+)/.exec(css)?.[1], source = id && node.ownerSVGElement?.querySelector(`#${CSS.escape(id)}`);
  if (!source || source.tagName !== "linearGradient") return null;
  const newId = `${id}-${sheet.defs.childElementCount}`, copy = svgElement("linearGradient", { id: newId });
  for (const name of ["x1", "y1", "x2", "y2", "gradientUnits", "gradientTransform"]) if (source.hasAttribute(name)) copy.setAttribute(name, source.getAttribute(name));
  for (const stop of source.querySelectorAll("stop")) {
    const style = getComputedStyle(stop), colour = paintAttributes(sheet, "stop-color", style.stopColor, { data: true });
    copy.append(svgElement("stop", { offset: stop.getAttribute("offset") || 0, ...colour, "stop-opacity": style.stopOpacity }));
  }
  sheet.defs.append(copy);
  return `url(#${newId})`;
}

function drawSvgShape(sheet, node, style) {
  const attributes = SHAPES[node.tagName](node), matrix = matrixOf(sheet, node);
  const fill = style.fill.startsWith("url(") ? { fill: copyGradient(sheet, node, style.fill) ?? "none" } : paintAttributes(sheet, "fill", style.fill, { opacity: Number(style.fillOpacity), isBackground: node.tagName === "rect" });
  const stroke = strokeOf(sheet, style);
  if (fill.fill === "none" && !stroke.stroke) return;
  if (stroke.stroke) stroke["stroke-width"] /= sheet.scale; // lines keep their width in an enlarged map
  if (style.vectorEffect === "non-scaling-stroke" && stroke.stroke) {
    stroke["stroke-width"] /= Math.hypot(matrix[0], matrix[1]) || 1;
  }
  const box = node.getBBox(), transform = transformText(matrix);
  if (!box.width && !box.height) return;
  extendByBox(sheet, matrix, box, stroke.stroke ? (stroke["stroke-width"] * Math.hypot(matrix[0], matrix[1])) / 2 : 0);
  addShape(sheet, node.tagName, { ...attributes, ...fill, ...stroke, ...(style.fillRule === "evenodd" ? { "fill-rule": "evenodd" } : {}), transform });
}

// Returns the distance from a text's position down to its baseline, in the text's own units.
function baselineOffset(style, { ascent, descent }, size) {
  const alignment = style.dominantBaseline;
  if (/central|middle/.test(alignment)) return alignment === "central" ? (ascent - descent) / 2 : 0.235 * size;
  return { hanging: 0.8 * ascent, "text-before-edge": ascent, "text-after-edge": -descent }[alignment] ?? 0;
}

// Draws each part of a text at its position in the browser.
function drawSvgText(sheet, node) {
  const matrix = matrixOf(sheet, node), pieces = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const turn = (Math.atan2(matrix[1], matrix[0]) * 180) / Math.PI, textScale = Math.hypot(matrix[0], matrix[1]);
  let offset = 0;
  for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
    const text = piece.data, style = getComputedStyle(piece.parentElement), size = parseFloat(style.fontSize), first = offset;
    const count = Math.min(text.length, node.getNumberOfChars() - offset);
    offset += count;
    if (!text.trim() || count < 1 || style.display === "none" || style.visibility === "hidden" || Number(style.opacity) === 0) continue;
    const font = { size, weight: style.fontWeight, style: style.fontStyle, css: style.fontFamily };
    let start = null;
    try { start = node.getStartPositionOfChar(first); } catch { continue; }
    const [x, y] = transformPoint(matrix, start.x, start.y + baselineOffset(style, textMetrics(text, font), size));
    const halo = strokeOf(sheet, style), opacity = Number(style.fillOpacity) * Number(style.opacity);
    if (halo.stroke && style.paintOrder.startsWith("stroke") && !sheet.page) addShape(sheet, "g", {}).append(haloGroup(sheet, x, y, text, { ...font, size: size * textScale, turn }, halo, textScale));
    drawText(sheet, x, y, text, { ...font, size: size * textScale, turn, tabular: style.fontVariantNumeric.includes("tabular"), ...paintAttributes(sheet, "fill", style.fill, { opacity }) });
  }
}

function haloGroup(sheet, x, y, text, font, halo, textScale) {
  const parent = sheet.parent, group = svgElement("g", { "aria-hidden": "true" });
  sheet.parent = group;
  drawText(sheet, x, y, text, { ...font, fill: "none", ...halo, "stroke-width": halo["stroke-width"] * textScale, "stroke-linejoin": "round" });
  sheet.parent = parent;
  return group;
}

// Draws an SVG node with its children. `skip` returns whether a node is omitted. `replace` may draw something else for a node and then
// returns true.
export function drawSvg(sheet, node, { skip = () => false, replace = () => false } = {}) {
  if (OMITTED_SVG_TAGS.test(node.tagName) || skip(node)) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || (style.visibility === "hidden" && !node.firstElementChild)) return;
  if (replace(node)) return;
  const draw = () => {
    if (node.tagName === "text") { if (style.visibility !== "hidden") drawSvgText(sheet, node); }
    else if (SHAPES[node.tagName]) { if (style.visibility !== "hidden") drawSvgShape(sheet, node, style); }
    else for (const child of node.children) drawSvg(sheet, child, { skip, replace });
  };
  const box = clipOf(sheet, node, style);
  drawFaded(sheet, node.tagName === "text" ? 1 : Number(style.opacity), box ? () => drawClipped(sheet, box, draw) : draw);
}

// Returns the clip box of a node in pixels of the sheet, or null without one.
function clipOf(sheet, node, style) {
  const id = /^url\(["']?#([^"')]+)/.exec(style.clipPath)?.[1], rect = id && document.getElementById(id)?.querySelector("rect");
  if (!rect) return null;
  const matrix = matrixOf(sheet, node), { x, y, width, height } = SHAPES.rect(rect), from = transformPoint(matrix, x, y), to = transformPoint(matrix, x + width, y + height);
  return [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])];
}
