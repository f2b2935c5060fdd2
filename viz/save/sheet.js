// The sheet of a picture: an SVG of plain shapes and texts, in pixels of the page. All text is set as textContent.

import { svgElement } from "../kit/mount.js";
import { hex, parseColour } from "./colours.js";

export const round = (value) => Math.round(value * 100) / 100;

// Removes the characters that XML does not allow.
export const cleanText = (text) => [...text].filter((char) => char >= " " || char === "\t").join("");

// Returns a sheet whose point (0, 0) is the page's `origin`. `recolour` maps a colour to the picture's theme. `page` is the background
// colour that a transparent picture omits, else null.
export function newSheet({ origin, recolour, page }) {
  const sheet = { body: svgElement("g", {}), defs: svgElement("defs", {}), box: null, recolour, page, scale: 1, origin, clips: new Map(), kinds: new Map(), families: new Set(), parent: null, clipBox: null };
  sheet.parent = sheet.body;
  return sheet;
}

export const X = (sheet, x) => round((x - sheet.origin.x) * sheet.scale);
export const Y = (sheet, y) => round((y - sheet.origin.y) * sheet.scale);

// Extends the bounds of the sheet to a box, in pixels of the sheet.
export function extendBounds(sheet, left, top, right, bottom) {
  if (sheet.clipBox) {
    const { clipBox } = sheet;
    [left, top, right, bottom] = [Math.max(left, clipBox[0]), Math.max(top, clipBox[1]), Math.min(right, clipBox[2]), Math.min(bottom, clipBox[3])];
    if (right < left || bottom < top) return;
  }
  const { box } = sheet;
  sheet.box = box ? [Math.min(box[0], left), Math.min(box[1], top), Math.max(box[2], right), Math.max(box[3], bottom)] : [left, top, right, bottom];
}

// Returns the SVG attributes of a colour: `fill` or `stroke` with its opacity, or "none" for a transparent colour.
export function paintAttributes(sheet, name, css, { data = false, opacity = 1, isBackground = false } = {}) {
  const colour = parseColour(css);
  if (!colour || colour[3] * opacity < 0.004) return { [name]: "none" };
  const [r, g, b, a] = sheet.recolour(colour, data), text = hex([r, g, b]);
  if (isBackground && sheet.page === text && a > 0.5) return { [name]: "none" };
  const alpha = round(a * opacity);
  return alpha < 1 ? { [name]: text, [`${name}-opacity`]: alpha } : { [name]: text };
}

export function addShape(sheet, tag, attributes, text) {
  const validAttributes = {};
  for (const key in attributes) if (attributes[key] != null) validAttributes[key] = typeof attributes[key] === "number" ? round(attributes[key]) : attributes[key];
  const node = svgElement(tag, validAttributes, text == null ? null : cleanText(text));
  sheet.parent.append(node);
  return node;
}

// Draws a rectangle in pixels of the sheet.
export function drawRect(sheet, x, y, width, height, attributes) {
  if (!(width > 0) || !(height > 0)) return;
  if (attributes.fill === "none" && (!attributes.stroke || attributes.stroke === "none")) return;
  const line = attributes.stroke && attributes.stroke !== "none" ? (attributes["stroke-width"] ?? 1) / 2 : 0;
  extendBounds(sheet, x - line, y - line, x + width + line, y + height + line);
  addShape(sheet, "rect", { x, y, width, height, ...attributes });
}

// Calls `draw` and clips its drawing at a box in pixels of the sheet.
export function drawClipped(sheet, [left, top, right, bottom], draw) {
  const key = [left, top, right, bottom].map(round).join(" "), parent = sheet.parent, outerClip = sheet.clipBox;
  if (!sheet.clips.has(key)) {
    const id = `clip${sheet.clips.size + 1}`, clip = svgElement("clipPath", { id });
    clip.append(svgElement("rect", { x: round(left), y: round(top), width: round(Math.max(0, right - left)), height: round(Math.max(0, bottom - top)) }));
    sheet.defs.append(clip);
    sheet.clips.set(key, id);
  }
  const group = svgElement("g", { "clip-path": `url(#${sheet.clips.get(key)})` });
  parent.append(group);
  sheet.parent = group;
  sheet.clipBox = outerClip ? [Math.max(left, outerClip[0]), Math.max(top, outerClip[1]), Math.min(right, outerClip[2]), Math.min(bottom, outerClip[3])] : [left, top, right, bottom];
  draw();
  if (!group.firstChild) group.remove();
  Object.assign(sheet, { parent, clipBox: outerClip });
}

// Calls `draw` and applies one opacity to its whole drawing.
export function drawFaded(sheet, opacity, draw) {
  if (opacity >= 1) { draw(); return; }
  const parent = sheet.parent, group = svgElement("g", { opacity: round(opacity) });
  parent.append(group);
  sheet.parent = group;
  draw();
  if (!group.firstChild) group.remove();
  sheet.parent = parent;
}

// Returns the font family of a text in the picture, and registers it for embedding.
export function family(sheet, css) {
  const mono = /mono|code|menlo|courier/i.test(css.split(",")[0]);
  if (!mono && /(^|[^-])serif\s*$/.test(css) && !/sans/i.test(css)) return css; // formulas use the reader's own serif font
  const name = mono ? "Source Code Pro" : "Source Sans";
  sheet.families.add(name);
  return mono ? '"Source Code Pro", Menlo, monospace' : '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';
}

let measureContext = null;

// Returns the width of a text in a font, and its extent above and below the baseline.
export function textMetrics(text, { size, weight = 400, style = "normal", css }) {
  measureContext ||= document.createElement("canvas").getContext("2d");
  measureContext.font = `${style} ${weight} ${size}px ${css}`;
  const metrics = measureContext.measureText(text);
  return { width: metrics.width, ascent: metrics.fontBoundingBoxAscent, descent: metrics.fontBoundingBoxDescent };
}

// Draws a text whose baseline begins, ends or is centred at a point of the sheet, as `anchor` says. `turn` rotates it around that point,
// in degrees.
export function drawText(sheet, x, y, text, { size, weight = 400, style = "normal", css, anchor = "start", turn = 0, spacing = 0, tabular = false, ...paints }) {
  const visibleText = cleanText(text).replace(/\s+$/, ""), leadingSpaces = visibleText.length - visibleText.trimStart().length;
  if (!visibleText.trim()) return;
  const { width, ascent, descent } = textMetrics(visibleText, { size, weight, style, css }), fullWidth = width + spacing * visibleText.length;
  const from = anchor === "middle" ? -fullWidth / 2 : anchor === "end" ? -fullWidth : 0, angle = (turn * Math.PI) / 180;
  for (const [dx, dy] of [[from, -ascent], [from + fullWidth, -ascent], [from, descent], [from + fullWidth, descent]]) {
    const px = x + dx * Math.cos(angle) - dy * Math.sin(angle), py = y + dx * Math.sin(angle) + dy * Math.cos(angle);
    extendBounds(sheet, px, py, px, py);
  }
  addShape(sheet, "text", {
    ...(turn ? { transform: `translate(${round(x)} ${round(y)}) rotate(${round(turn)})` } : { x, y }),
    "font-family": family(sheet, css), "font-size": size, "font-weight": Number(weight) === 400 ? null : weight,
    "font-style": style === "normal" ? null : style, "text-anchor": anchor === "start" ? null : anchor,
    "letter-spacing": spacing || null, "font-feature-settings": tabular ? '"tnum"' : null,
    "xml:space": leadingSpaces || /\s\s/.test(visibleText) ? "preserve" : null, ...paints,
  }, visibleText);
}
