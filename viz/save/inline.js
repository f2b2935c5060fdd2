// Pictures that stand in the page as SVG, drawn on a sheet: every shape for itself, in its computed colours.

import { drawing } from "../kit/mount.js";
import { clipped, faded, measured, paint, put, putText, reach, round } from "./sheet.js";

const SHAPES = {
  rect: (n) => ({ x: n.x.baseVal.value, y: n.y.baseVal.value, width: n.width.baseVal.value, height: n.height.baseVal.value, rx: n.rx.baseVal.value || null }),
  circle: (n) => ({ cx: n.cx.baseVal.value, cy: n.cy.baseVal.value, r: n.r.baseVal.value }),
  ellipse: (n) => ({ cx: n.cx.baseVal.value, cy: n.cy.baseVal.value, rx: n.rx.baseVal.value, ry: n.ry.baseVal.value }),
  line: (n) => ({ x1: n.x1.baseVal.value, y1: n.y1.baseVal.value, x2: n.x2.baseVal.value, y2: n.y2.baseVal.value }),
  path: (n) => ({ d: n.getAttribute("d") }),
  polyline: (n) => ({ points: n.getAttribute("points") }),
  polygon: (n) => ({ points: n.getAttribute("points") }),
};
const SKIPPED = /^(defs|title|desc|style|clipPath|mask|linearGradient|radialGradient|marker|symbol|metadata|foreignObject|image|script)$/;

// The way from a node's own units to the sheet.
export function matrixOf(sheet, node) {
  const { a, b, c, d, e, f } = node.getScreenCTM(), { scale, origin } = sheet;
  return [a * scale, b * scale, c * scale, d * scale, (e - origin.x) * scale, (f - origin.y) * scale];
}

export function written([a, b, c, d, e, f]) {
  if (Math.abs(a - 1) + Math.abs(b) + Math.abs(c) + Math.abs(d - 1) < 1e-6) return Math.abs(e) + Math.abs(f) < 1e-6 ? null : `translate(${round(e)} ${round(f)})`;
  return `matrix(${[a, b, c, d, e, f].map(round).join(" ")})`;
}

const through = ([a, b, c, d, e, f], x, y) => [a * x + c * y + e, b * x + d * y + f];

function extent(sheet, matrix, { x, y, width, height }, line) {
  const corners = [[x, y], [x + width, y], [x, y + height], [x + width, y + height]].map(([px, py]) => through(matrix, px, py));
  const [xs, ys] = [corners.map((each) => each[0]), corners.map((each) => each[1])];
  reach(sheet, Math.min(...xs) - line, Math.min(...ys) - line, Math.max(...xs) + line, Math.max(...ys) + line);
}

export function strokeOf(sheet, style, options) {
  const stroke = paint(sheet, "stroke", style.stroke, { ...options, opacity: Number(style.strokeOpacity) });
  if (stroke.stroke === "none") return {};
  const dash = style.strokeDasharray, cap = style.strokeLinecap, join = style.strokeLinejoin;
  return {
    ...stroke, "stroke-width": parseFloat(style.strokeWidth), "stroke-dasharray": dash === "none" ? null : dash.replaceAll("px", ""),
    "stroke-linecap": cap === "butt" ? null : cap, "stroke-linejoin": join === "miter" ? null : join,
  };
}

// A gradient that the SVG declares itself, taken over.
function svgGradient(sheet, node, css) {
  const id = /url\(["']?#([^"')]+)/.exec(css)?.[1], found = id && node.ownerSVGElement?.querySelector(`#${CSS.escape(id)}`);
  if (!found || found.tagName !== "linearGradient") return null;
  const own = `${id}-${sheet.defs.childElementCount}`, copy = drawing("linearGradient", { id: own });
  for (const name of ["x1", "y1", "x2", "y2", "gradientUnits", "gradientTransform"]) if (found.hasAttribute(name)) copy.setAttribute(name, found.getAttribute(name));
  for (const stop of found.querySelectorAll("stop")) {
    const style = getComputedStyle(stop), colour = paint(sheet, "stop-color", style.stopColor, { data: true });
    copy.append(drawing("stop", { offset: stop.getAttribute("offset") || 0, ...colour, "stop-opacity": style.stopOpacity }));
  }
  sheet.defs.append(copy);
  return `url(#${own})`;
}

function svgShape(sheet, node, style) {
  const attributes = SHAPES[node.tagName](node), matrix = matrixOf(sheet, node);
  const fill = style.fill.startsWith("url(") ? { fill: svgGradient(sheet, node, style.fill) ?? "none" } : paint(sheet, "fill", style.fill, { opacity: Number(style.fillOpacity), ground: node.tagName === "rect" });
  const stroke = strokeOf(sheet, style);
  if (fill.fill === "none" && !stroke.stroke) return;
  if (stroke.stroke) stroke["stroke-width"] /= sheet.scale; // a line is no thicker where a map is larger
  if (style.vectorEffect === "non-scaling-stroke" && stroke.stroke) {
    stroke["stroke-width"] /= Math.hypot(matrix[0], matrix[1]) || 1;
  }
  const box = node.getBBox(), moved = written(matrix);
  if (!box.width && !box.height) return;
  extent(sheet, matrix, box, stroke.stroke ? (stroke["stroke-width"] * Math.hypot(matrix[0], matrix[1])) / 2 : 0);
  put(sheet, node.tagName, { ...attributes, ...fill, ...stroke, ...(style.fillRule === "evenodd" ? { "fill-rule": "evenodd" } : {}), transform: moved });
}

// How far below its given point a text's line lies, in its own units.
function lowered(style, { ascent, descent }, size) {
  const how = style.dominantBaseline;
  if (/central|middle/.test(how)) return how === "central" ? (ascent - descent) / 2 : 0.235 * size;
  return { hanging: 0.8 * ascent, "text-before-edge": ascent, "text-after-edge": -descent }[how] ?? 0;
}

// Each piece of a text for itself, where the browser has put it.
function svgTexts(sheet, node) {
  const matrix = matrixOf(sheet, node), pieces = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const turn = (Math.atan2(matrix[1], matrix[0]) * 180) / Math.PI, grown = Math.hypot(matrix[0], matrix[1]);
  let at = 0;
  for (let piece = pieces.nextNode(); piece; piece = pieces.nextNode()) {
    const text = piece.data, style = getComputedStyle(piece.parentElement), size = parseFloat(style.fontSize), first = at;
    const count = Math.min(text.length, node.getNumberOfChars() - at);
    at += count;
    if (!text.trim() || count < 1 || style.display === "none" || style.visibility === "hidden" || Number(style.opacity) === 0) continue;
    const font = { size, weight: style.fontWeight, style: style.fontStyle, css: style.fontFamily };
    let start = null;
    try { start = node.getStartPositionOfChar(first); } catch { continue; }
    const [x, y] = through(matrix, start.x, start.y + lowered(style, measured(text, font), size));
    const halo = strokeOf(sheet, style), opacity = Number(style.fillOpacity) * Number(style.opacity);
    if (halo.stroke && style.paintOrder.startsWith("stroke") && !sheet.page) put(sheet, "g", {}).append(haloOf(sheet, x, y, text, { ...font, size: size * grown, turn }, halo, grown));
    putText(sheet, x, y, text, { ...font, size: size * grown, turn, tabular: style.fontVariantNumeric.includes("tabular"), ...paint(sheet, "fill", style.fill, { opacity }) });
  }
}

function haloOf(sheet, x, y, text, font, halo, grown) {
  const before = sheet.into, holder = drawing("g", { "aria-hidden": "true" });
  sheet.into = holder;
  putText(sheet, x, y, text, { ...font, fill: "none", ...halo, "stroke-width": halo["stroke-width"] * grown, "stroke-linejoin": "round" });
  sheet.into = before;
  return holder;
}

// An SVG of the page, with what is in it. `skip` says of a node that it is left out; `instead` draws another thing in its place and
// says so.
export function inline(sheet, node, { skip = () => false, instead = () => false } = {}) {
  if (SKIPPED.test(node.tagName) || skip(node)) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || (style.visibility === "hidden" && !node.firstElementChild)) return;
  if (instead(node)) return;
  const draw = () => {
    if (node.tagName === "text") { if (style.visibility !== "hidden") svgTexts(sheet, node); }
    else if (SHAPES[node.tagName]) { if (style.visibility !== "hidden") svgShape(sheet, node, style); }
    else for (const child of node.children) inline(sheet, child, { skip, instead });
  };
  const box = clipOf(sheet, node, style);
  faded(sheet, node.tagName === "text" ? 1 : Number(style.opacity), box ? () => clipped(sheet, box, draw) : draw);
}

// The box that a node is cut off at, in pixels of the sheet; null where none is.
function clipOf(sheet, node, style) {
  const id = /^url\(["']?#([^"')]+)/.exec(style.clipPath)?.[1], rect = id && document.getElementById(id)?.querySelector("rect");
  if (!rect) return null;
  const matrix = matrixOf(sheet, node), { x, y, width, height } = SHAPES.rect(rect), from = through(matrix, x, y), to = through(matrix, x + width, y + height);
  return [Math.min(from[0], to[0]), Math.min(from[1], to[1]), Math.max(from[0], to[0]), Math.max(from[1], to[1])];
}
