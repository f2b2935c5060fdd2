// What the page's elements look like beside their text: grounds, borders, outlines, rounded corners; drawn on a sheet.

import { drawing } from "../kit/mount.js";
import { parsed } from "./colours.js";
import { X, Y, paint, put, putRect, putText, reach } from "./sheet.js";

const SIDES = ["Top", "Right", "Bottom", "Left"];
const dashes = (how, width) => ({ dashed: `${Math.max(2, 2 * width)} ${Math.max(2, 2 * width)}`, dotted: `${width} ${Math.max(2, width)}` })[how] ?? null;

function bordersOf(style) {
  return SIDES.map((side) => ({ width: style[`border${side}Style`] === "none" ? 0 : parseFloat(style[`border${side}Width`]), how: style[`border${side}Style`], colour: style[`border${side}Color`] }));
}

// The outline of a box with the radii of its corners, drawn `inset` pixels within it.
function corneredPath({ x, y, width, height }, radii, inset) {
  const [l, t, r, b] = [x + inset, y + inset, x + width - inset, y + height - inset], most = Math.min(r - l, b - t) / 2;
  const [tl, tr, br, bl] = radii.map((radius) => Math.max(0, Math.min(most, radius - inset)));
  const corner = (radius, px, py) => (radius ? `A${radius} ${radius} 0 0 1 ${px} ${py}` : "");
  return `M${l + tl} ${t}H${r - tr}${corner(tr, r, t + tr)}V${b - br}${corner(br, r - br, b)}H${l + bl}${corner(bl, l, b - bl)}V${t + tl}${corner(tl, l + tl, t)}Z`;
}

function outlined(sheet, box, radii, inset, attributes) {
  const line = attributes.stroke && attributes.stroke !== "none" ? attributes["stroke-width"] / 2 : 0;
  if (box.width - 2 * inset <= 0 || box.height - 2 * inset <= 0) return;
  const even = radii.every((radius) => radius === radii[0]);
  if (even) {
    const width = box.width - 2 * inset, height = box.height - 2 * inset, radius = Math.max(0, Math.min(width / 2, height / 2, radii[0] - inset));
    putRect(sheet, box.x + inset, box.y + inset, width, height, { rx: radius || null, ...attributes });
  } else if (attributes.fill !== "none" || line) {
    reach(sheet, box.x + inset - line, box.y + inset - line, box.x + box.width - inset + line, box.y + box.height - inset + line);
    put(sheet, "path", { d: corneredPath(box, radii, inset), ...attributes });
  }
}

// Of which scale a cell's colour is, as its neighbours tell.
function kindAmong(sheet, node) {
  const group = node.closest("table, section, .cells, .grid") ?? node.parentElement;
  if (!sheet.kinds.has(group)) sheet.kinds.set(group, [...group.querySelectorAll("[style]")].some(({ style }) => sheet.recolour.isLoss(parsed(style.backgroundColor))) ? "signed" : true);
  return sheet.kinds.get(group);
}

// A linear gradient as CSS writes it, in the box that it fills; null for one that is not plain.
function cssGradient(sheet, css, { x, y, width, height }) {
  const inner = /^linear-gradient\((.*)\)$/.exec(css)?.[1];
  if (!inner) return null;
  const parts = inner.split(/,(?![^(]*\))/).map((part) => part.trim()), angle = /^(-?[\d.]+)deg$/.exec(parts[0])?.[1];
  const way = angle !== undefined ? Number(angle) : { "to right": 90, "to left": 270, "to top": 0, "to bottom": 180 }[parts[0]];
  if (way !== undefined) parts.shift();
  const turn = ((way ?? 180) * Math.PI) / 180, dx = Math.sin(turn), dy = -Math.cos(turn), long = (Math.abs(width * dx) + Math.abs(height * dy)) / 2;
  const [cx, cy] = [x + width / 2, y + height / 2], id = `ramp${sheet.defs.childElementCount + 1}`;
  const node = drawing("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1: cx - dx * long, y1: cy - dy * long, x2: cx + dx * long, y2: cy + dy * long });
  const signed = parts.some((part) => sheet.recolour.isLoss(parsed(part.replace(/\s+[\d.]+%$/, ""))));
  parts.forEach((part, n) => {
    const [, colour, at] = /^(.*?)(?:\s+([\d.]+)%)?$/.exec(part), stop = paint(sheet, "stop-color", colour, { data: signed ? "signed" : true });
    node.append(drawing("stop", { offset: at === undefined ? n / Math.max(1, parts.length - 1) : Number(at) / 100, ...(stop["stop-color"] === "none" ? { "stop-color": "#fff", "stop-opacity": 0 } : stop) }));
  });
  sheet.defs.append(node);
  return `url(#${id})`;
}

// The ground of an element, its borders and its outline. Where a script has given it its colour, that is one of a scale.
export function drawBox(sheet, node, style, rect) {
  const { scale } = sheet, box = { x: X(sheet, rect.left), y: Y(sheet, rect.top), width: rect.width * scale, height: rect.height * scale };
  if (!box.width || !box.height) { if (box.width || box.height) borderLines(sheet, box, bordersOf(style)); return; }
  const radii = ["TopLeft", "TopRight", "BottomRight", "BottomLeft"].map((corner) => { const value = style[`border${corner}Radius`]; return value.endsWith("%") ? (parseFloat(value) / 100) * box.width : parseFloat(value) || 0; });
  const own = node.style?.background || node.style?.backgroundColor || "", data = Boolean(own) && !own.includes("var(") && kindAmong(sheet, node);
  const ground = paint(sheet, "fill", style.backgroundColor, { data, ground: true }), borders = bordersOf(style);
  if (ground.fill !== "none") outlined(sheet, box, radii, 0, ground);
  if (style.backgroundImage.startsWith("linear-gradient") && style.backgroundSize === "auto" && !sheet.page) {
    const fill = cssGradient(sheet, style.backgroundImage, box);
    if (fill) outlined(sheet, box, radii, 0, { fill });
  } else if (style.backgroundImage.startsWith("linear-gradient(90deg, rgb") && style.backgroundSize === "auto") {
    outlined(sheet, box, radii, 0, { fill: cssGradient(sheet, style.backgroundImage, box) });
  }
  const [first] = borders, same = borders.every((each) => each.width === first.width && each.how === first.how && each.colour === first.colour);
  if (same && first.width) outlined(sheet, box, radii, first.width / 2, { fill: "none", ...paint(sheet, "stroke", first.colour), "stroke-width": first.width, "stroke-dasharray": dashes(first.how, first.width) });
  else if (!same && radii.some(Boolean) && borders.filter((each) => each.width).length > 2) cornered(sheet, box, borders, radii);
  else borderLines(sheet, box, borders);
  shadows(sheet, box, radii, style.boxShadow);
  const line = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  if (line) {
    const off = parseFloat(style.outlineOffset) + line / 2;
    outlined(sheet, box, radii.map((radius) => (radius ? radius + off : 0)), -off, { fill: "none", ...paint(sheet, "stroke", style.outlineColor), "stroke-width": line, "stroke-dasharray": dashes(style.outlineStyle, line) });
  }
}

// Borders that differ round corners: the whole outline in that of most sides, then the others as lines over it.
function cornered(sheet, box, borders, radii) {
  const solid = borders.find((each) => each.width && each.how === "solid") ?? borders.find((each) => each.width);
  const whole = borders.every((each) => each.width);
  if (whole) outlined(sheet, box, radii, solid.width / 2, { fill: "none", ...paint(sheet, "stroke", solid.colour), "stroke-width": solid.width });
  else borderLines(sheet, box, borders);
  if (whole) borderLines(sheet, box, borders.map((each) => (each.how === solid.how && each.colour === solid.colour && each.width === solid.width ? { ...each, width: 0 } : each)), sheet.ground);
}

function borderLines(sheet, { x, y, width, height }, borders) {
  const ends = [[0, 0, 1, 0], [1, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 1]], inward = [[0, 1], [-1, 0], [0, -1], [1, 0]];
  borders.forEach(({ width: line, how, colour }, side) => {
    const stroke = line && paint(sheet, "stroke", colour);
    if (!line || stroke.stroke === "none") return;
    const [x1, y1, x2, y2] = ends[side], [ix, iy] = inward[side].map((way) => (way * line) / 2);
    const at = { x1: x + x1 * width + ix, y1: y + y1 * height + iy, x2: x + x2 * width + ix, y2: y + y2 * height + iy };
    reach(sheet, Math.min(at.x1, at.x2), Math.min(at.y1, at.y2), Math.max(at.x1, at.x2), Math.max(at.y1, at.y2));
    put(sheet, "line", { ...at, ...stroke, "stroke-width": line, "stroke-dasharray": dashes(how, line) });
  });
}

// Rings that are written as shadows without blur; soft shadows belong to the screen.
function shadows(sheet, box, radii, css) {
  if (css === "none") return;
  for (const each of css.split(/,(?![^(]*\))/)) {
    const [, colour, x, y, blur, spread, inset] = /^\s*(.*?)\s(-?[\d.]+)px (-?[\d.]+)px ([\d.]+)px (-?[\d.]+)px( inset)?$/.exec(each) || [];
    if (colour === undefined || Number(blur) || Number(x) || Number(y) || !(Number(spread) > 0)) continue;
    const wide = Number(spread), off = inset ? wide / 2 : -wide / 2;
    outlined(sheet, box, radii.map((radius) => (radius && !inset ? radius + wide : radius)), off, { fill: "none", ...paint(sheet, "stroke", colour), "stroke-width": wide });
  }
}

// What the stylesheet puts before or after an element's content.
export function drawPseudo(sheet, node, name, rect) {
  const style = getComputedStyle(node, name);
  if (style.content === "none" || style.content === "normal" || style.display === "none" || style.visibility === "hidden") return;
  const size = parseFloat(style.fontSize), font = { size, weight: style.fontWeight, css: style.fontFamily }, fill = paint(sheet, "fill", style.color);
  const text = style.content.startsWith("counter(") ? String([...node.closest("li").parentElement.children].indexOf(node.closest("li")) + 1) : style.content.replace(/^"|"$/g, "");
  const own = getComputedStyle(node), edge = (side) => parseFloat(own[`border${side}Width`]);
  if (style.position === "absolute") {
    const [width, height] = [parseFloat(style.width), parseFloat(style.height)], left = rect.left + edge("Left") + parseFloat(style.left), top = rect.top + edge("Top") + parseFloat(style.top);
    if (!Number.isFinite(left + top + width + height)) return;
    drawBox(sheet, {}, style, { left, top, width, height });
    if (text.trim()) putText(sheet, X(sheet, left + width / 2), Y(sheet, top + height / 2) + 0.34 * size * sheet.scale, text, { ...font, anchor: "middle", ...fill });
  } else if (text.trim()) {
    const left = name === "::before" ? rect.left + edge("Left") + parseFloat(own.paddingLeft) : rect.right - edge("Right") - parseFloat(own.paddingRight);
    putText(sheet, X(sheet, left), Y(sheet, rect.top + rect.height / 2) + 0.34 * size * sheet.scale, text, { ...font, anchor: name === "::before" ? "start" : "end", ...fill });
  }
}
