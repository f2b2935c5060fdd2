// Draws the boxes of the page's elements on a sheet: backgrounds, borders, outlines and rounded corners.

import { svgElement } from "../kit/mount.js";
import { parseColour } from "./colours.js";
import { X, Y, paintAttributes, addShape, drawRect, drawText, extendBounds } from "./sheet.js";

const SIDES = ["Top", "Right", "Bottom", "Left"];
const dashArray = (lineStyle, width) => ({ dashed: `${Math.max(2, 2 * width)} ${Math.max(2, 2 * width)}`, dotted: `${width} ${Math.max(2, width)}` })[lineStyle] ?? null;

function bordersOf(style) {
  return SIDES.map((side) => ({ width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]), lineStyle: style[`border${side}Style`], colour: style[`border${side}Color`] }));
}

// Returns the path of a box with rounded corners, `inset` pixels inside the box.
function roundedBoxPath({ x, y, width, height }, radii, inset) {
  const [l, t, r, b] = [x + inset, y + inset, x + width - inset, y + height - inset], maxRadius = Math.min(r - l, b - t) / 2;
  const [tl, tr, br, bl] = radii.map((radius) => Math.max(0, Math.min(maxRadius, radius - inset)));
  const corner = (radius, px, py) => (radius ? `A${radius} ${radius} 0 0 1 ${px} ${py}` : "");
  return `M${l + tl} ${t}H${r - tr}${corner(tr, r, t + tr)}V${b - br}${corner(br, r - br, b)}H${l + bl}${corner(bl, l, b - bl)}V${t + tl}${corner(tl, l + tl, t)}Z`;
}

function drawOutline(sheet, box, radii, inset, attributes) {
  const line = attributes.stroke && attributes.stroke !== "none" ? attributes["stroke-width"] / 2 : 0;
  if (box.width - 2 * inset <= 0 || box.height - 2 * inset <= 0) return;
  const isEven = radii.every((radius) => radius === radii[0]);
  if (isEven) {
    const width = box.width - 2 * inset, height = box.height - 2 * inset, radius = Math.max(0, Math.min(width / 2, height / 2, radii[0] - inset));
    drawRect(sheet, box.x + inset, box.y + inset, width, height, { rx: radius || null, ...attributes });
  } else if (attributes.fill !== "none" || line) {
    extendBounds(sheet, box.x + inset - line, box.y + inset - line, box.x + box.width - inset + line, box.y + box.height - inset + line);
    addShape(sheet, "path", { d: roundedBoxPath(box, radii, inset), ...attributes });
  }
}

// Returns "signed" if the cells next to a cell use the scale of differences, else true.
function scaleKind(sheet, node) {
  const group = node.closest("table, section, .cells, .grid") ?? node.parentElement;
  if (!sheet.kinds.has(group)) sheet.kinds.set(group, [...group.querySelectorAll("[style]")].some(({ style }) => sheet.recolour.isLoss(parseColour(style.backgroundColor))) ? "signed" : true);
  return sheet.kinds.get(group);
}

// Draws a CSS linear gradient for the box that it fills. Returns its reference, or null for any other gradient.
function cssGradient(sheet, css, { x, y, width, height }) {
  const inner = /^linear-gradient\((.*)\)$/.exec(css)?.[1];
  if (!inner) return null;
  const parts = inner.split(/,(?![^(]*\))/).map((part) => part.trim()), angle = /^(-?[\d.]+)deg$/.exec(parts[0])?.[1];
  const direction = angle !== undefined ? Number(angle) : { "to right": 90, "to left": 270, "to top": 0, "to bottom": 180 }[parts[0]];
  if (direction !== undefined) parts.shift();
  const radians = ((direction ?? 180) * Math.PI) / 180, dx = Math.sin(radians), dy = -Math.cos(radians), halfLength = (Math.abs(width * dx) + Math.abs(height * dy)) / 2;
  const [cx, cy] = [x + width / 2, y + height / 2], id = `ramp${sheet.defs.childElementCount + 1}`;
  const node = svgElement("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1: cx - dx * halfLength, y1: cy - dy * halfLength, x2: cx + dx * halfLength, y2: cy + dy * halfLength });
  const signed = parts.some((part) => sheet.recolour.isLoss(parseColour(part.replace(/\s+[\d.]+%$/, ""))));
  parts.forEach((part, n) => {
    const [, colour, position] = /^(.*?)(?:\s+([\d.]+)%)?$/.exec(part), stop = paintAttributes(sheet, "stop-color", colour, { data: signed ? "signed" : true });
    node.append(svgElement("stop", { offset: position === undefined ? n / Math.max(1, parts.length - 1) : Number(position) / 100, ...(stop["stop-color"] === "none" ? { "stop-color": "#fff", "stop-opacity": 0 } : stop) }));
  });
  sheet.defs.append(node);
  return `url(#${id})`;
}

// Draws the background, the borders and the outline of an element. A background colour that a script set belongs to a scale.
export function drawBox(sheet, node, style, rect) {
  const { scale } = sheet, box = { x: X(sheet, rect.left), y: Y(sheet, rect.top), width: rect.width * scale, height: rect.height * scale };
  if (!box.width || !box.height) { if (box.width || box.height) drawBorderLines(sheet, box, bordersOf(style)); return; }
  const radii = ["TopLeft", "TopRight", "BottomRight", "BottomLeft"].map((corner) => { const value = style[`border${corner}Radius`]; return value.endsWith("%") ? (parseFloat(value) / 100) * box.width : parseFloat(value) || 0; });
  const inlineBackground = node.style?.background || node.style?.backgroundColor || "", data = Boolean(inlineBackground) && !inlineBackground.includes("var(") && scaleKind(sheet, node);
  const background = paintAttributes(sheet, "fill", style.backgroundColor, { data, isBackground: true }), borders = bordersOf(style);
  if (background.fill !== "none") drawOutline(sheet, box, radii, 0, background);
  if (style.backgroundImage.startsWith("linear-gradient") && style.backgroundSize === "auto" && !sheet.page) {
    const fill = cssGradient(sheet, style.backgroundImage, box);
    if (fill) drawOutline(sheet, box, radii, 0, { fill });
  } else if (style.backgroundImage.startsWith("linear-gradient(90deg, rgb") && style.backgroundSize === "auto") {
    drawOutline(sheet, box, radii, 0, { fill: cssGradient(sheet, style.backgroundImage, box) });
  }
  const [first] = borders, isUniform = borders.every((each) => each.width === first.width && each.lineStyle === first.lineStyle && each.colour === first.colour);
  if (isUniform && first.width) drawOutline(sheet, box, radii, first.width / 2, { fill: "none", ...paintAttributes(sheet, "stroke", first.colour), "stroke-width": first.width, "stroke-dasharray": dashArray(first.lineStyle, first.width) });
  else if (!isUniform && radii.some(Boolean) && borders.filter((each) => each.width).length > 2) drawRoundedBorders(sheet, box, borders, radii);
  else drawBorderLines(sheet, box, borders);
  drawRings(sheet, box, radii, style.boxShadow);
  const line = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  if (line) {
    const offset = parseFloat(style.outlineOffset) + line / 2;
    drawOutline(sheet, box, radii.map((radius) => (radius ? radius + offset : 0)), -offset, { fill: "none", ...paintAttributes(sheet, "stroke", style.outlineColor), "stroke-width": line, "stroke-dasharray": dashArray(style.outlineStyle, line) });
  }
}

// Draws borders that differ, with rounded corners: first the outline in the style of a solid side, then the other sides as lines.
function drawRoundedBorders(sheet, box, borders, radii) {
  const solid = borders.find((each) => each.width && each.lineStyle === "solid") ?? borders.find((each) => each.width);
  const isClosed = borders.every((each) => each.width);
  if (isClosed) drawOutline(sheet, box, radii, solid.width / 2, { fill: "none", ...paintAttributes(sheet, "stroke", solid.colour), "stroke-width": solid.width });
  else drawBorderLines(sheet, box, borders);
  if (isClosed) drawBorderLines(sheet, box, borders.map((each) => (each.lineStyle === solid.lineStyle && each.colour === solid.colour && each.width === solid.width ? { ...each, width: 0 } : each)));
}

function drawBorderLines(sheet, { x, y, width, height }, borders) {
  const ends = [[0, 0, 1, 0], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]], inward = [[0, 1], [-1, 0], [0, -1], [1, 0]];
  borders.forEach(({ width: line, lineStyle, colour }, side) => {
    const stroke = line && paintAttributes(sheet, "stroke", colour);
    if (!line || stroke.stroke === "none") return;
    const [x1, y1, x2, y2] = ends[side], [ix, iy] = inward[side].map((direction) => (direction * line) / 2);
    const position = { x1: x + x1 * width + ix, y1: y + y1 * height + iy, x2: x + x2 * width + ix, y2: y + y2 * height + iy };
    extendBounds(sheet, Math.min(position.x1, position.x2), Math.min(position.y1, position.y2), Math.max(position.x1, position.x2), Math.max(position.y1, position.y2));
    addShape(sheet, "line", { ...position, ...stroke, "stroke-width": line, "stroke-dasharray": dashArray(lineStyle, line) });
  });
}

// Draws the rings that the stylesheet writes as shadows without blur. Soft shadows are omitted.
function drawRings(sheet, box, radii, css) {
  if (css === "none") return;
  for (const each of css.split(/,(?![^(]*\))/)) {
    const [, colour, x, y, blur, spread, inset] = /^\s*(.*?)\s(-?[\d.]+)px (-?[\d.]+)px ([\d.]+)px (-?[\d.]+)px( inset)?$/.exec(each) || [];
    if (colour === undefined || Number(blur) || Number(x) || Number(y) || !(Number(spread) > 0)) continue;
    const ringWidth = Number(spread), offset = inset ? ringWidth / 2 : -ringWidth / 2;
    drawOutline(sheet, box, radii.map((radius) => (radius && !inset ? radius + ringWidth : radius)), offset, { fill: "none", ...paintAttributes(sheet, "stroke", colour), "stroke-width": ringWidth });
  }
}

// Draws the ::before or ::after content of an element.
export function drawPseudo(sheet, node, name, rect) {
  const style = getComputedStyle(node, name);
  if (style.content === "none" || style.content === "normal" || style.display === "none" || style.visibility === "hidden") return;
  const size = parseFloat(style.fontSize), font = { size, weight: style.fontWeight, css: style.fontFamily }, fill = paintAttributes(sheet, "fill", style.color);
  const text = style.content.startsWith("counter(") ? String([...node.closest("li").parentElement.children].indexOf(node.closest("li")) + 1) : style.content.replace(/^"|"$/g, "");
  const nodeStyle = getComputedStyle(node), edge = (side) => parseFloat(nodeStyle[`border${side}Width`]);
  if (style.position === "absolute") {
    const [width, height] = [parseFloat(style.width), parseFloat(style.height)], left = rect.left + edge("Left") + parseFloat(style.left), top = rect.top + edge("Top") + parseFloat(style.top);
    if (!Number.isFinite(left + top + width + height)) return;
    drawBox(sheet, {}, style, { left, top, width, height });
    if (text.trim()) drawText(sheet, X(sheet, left + width / 2), Y(sheet, top + height / 2) + 0.34 * size * sheet.scale, text, { ...font, anchor: "middle", ...fill });
  } else if (text.trim()) {
    const left = name === "::before" ? rect.left + edge("Left") + parseFloat(nodeStyle.paddingLeft) : rect.right - edge("Right") - parseFloat(nodeStyle.paddingRight);
    drawText(sheet, X(sheet, left), Y(sheet, rect.top + rect.height / 2) + 0.34 * size * sheet.scale, text, { ...font, anchor: name === "::before" ? "start" : "end", ...fill });
  }
}
