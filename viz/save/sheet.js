// The sheet that a picture is drawn on: SVG of plain shapes and texts, in pixels of the page. Nothing here makes markup from text.

import { drawing } from "../kit/mount.js";
import { hex, parsed } from "./colours.js";

export const round = (value) => Math.round(value * 100) / 100;

// Characters that no XML may hold.
export const clean = (text) => [...text].filter((char) => char >= " " || char === "\t").join("");

// A sheet whose point (0, 0) is the page's `origin`. `recolour` changes a colour; `page` is the colour that is left out where the
// background is transparent, else null.
export function newSheet({ origin, recolour, page }) {
  const sheet = { body: drawing("g", {}), defs: drawing("defs", {}), box: null, recolour, page, scale: 1, origin, clips: new Map(), kinds: new Map(), families: new Set(), into: null, within: null };
  sheet.into = sheet.body;
  return sheet;
}

export const X = (sheet, x) => round((x - sheet.origin.x) * sheet.scale);
export const Y = (sheet, y) => round((y - sheet.origin.y) * sheet.scale);

// What is drawn reaches so far, in pixels of the sheet.
export function reach(sheet, left, top, right, bottom) {
  if (sheet.within) {
    const { within } = sheet;
    [left, top, right, bottom] = [Math.max(left, within[0]), Math.max(top, within[1]), Math.min(right, within[2]), Math.min(bottom, within[3])];
    if (right < left || bottom < top) return;
  }
  const { box } = sheet;
  sheet.box = box ? [Math.min(box[0], left), Math.min(box[1], top), Math.max(box[2], right), Math.max(box[3], bottom)] : [left, top, right, bottom];
}

// The attributes of a paint: `fill` or `stroke`, with its opacity; "none" where nothing is to be seen.
export function paint(sheet, name, css, { data = false, opacity = 1, ground = false } = {}) {
  const colour = parsed(css);
  if (!colour || colour[3] * opacity < 0.004) return { [name]: "none" };
  const [r, g, b, a] = sheet.recolour(colour, data), text = hex([r, g, b]);
  if (ground && sheet.page === text && a > 0.5) return { [name]: "none" };
  const seen = round(a * opacity);
  return seen < 1 ? { [name]: text, [`${name}-opacity`]: seen } : { [name]: text };
}

export function put(sheet, tag, attributes, text) {
  const kept = {};
  for (const key in attributes) if (attributes[key] != null) kept[key] = typeof attributes[key] === "number" ? round(attributes[key]) : attributes[key];
  const node = drawing(tag, kept, text == null ? null : clean(text));
  sheet.into.append(node);
  return node;
}

// A rectangle in pixels of the sheet.
export function putRect(sheet, x, y, width, height, attributes) {
  if (!(width > 0) || !(height > 0)) return;
  if (attributes.fill === "none" && (!attributes.stroke || attributes.stroke === "none")) return;
  const line = attributes.stroke && attributes.stroke !== "none" ? (attributes["stroke-width"] ?? 1) / 2 : 0;
  reach(sheet, x - line, y - line, x + width + line, y + height + line);
  put(sheet, "rect", { x, y, width, height, ...attributes });
}

// What `draw` draws is cut off outside of a box in pixels of the sheet.
export function clipped(sheet, [left, top, right, bottom], draw) {
  const key = [left, top, right, bottom].map(round).join(" "), before = sheet.into, was = sheet.within;
  if (!sheet.clips.has(key)) {
    const id = `clip${sheet.clips.size + 1}`, clip = drawing("clipPath", { id });
    clip.append(drawing("rect", { x: round(left), y: round(top), width: round(Math.max(0, right - left)), height: round(Math.max(0, bottom - top)) }));
    sheet.defs.append(clip);
    sheet.clips.set(key, id);
  }
  const group = drawing("g", { "clip-path": `url(#${sheet.clips.get(key)})` });
  before.append(group);
  sheet.into = group;
  sheet.within = was ? [Math.max(left, was[0]), Math.max(top, was[1]), Math.min(right, was[2]), Math.min(bottom, was[3])] : [left, top, right, bottom];
  draw();
  if (!group.firstChild) group.remove();
  Object.assign(sheet, { into: before, within: was });
}

// What `draw` draws is as transparent as a whole.
export function faded(sheet, opacity, draw) {
  if (opacity >= 1) { draw(); return; }
  const before = sheet.into, group = drawing("g", { opacity: round(opacity) });
  before.append(group);
  sheet.into = group;
  draw();
  if (!group.firstChild) group.remove();
  sheet.into = before;
}

// The fonts of the pictures: those that the files carry, by what a text asks for.
export function family(sheet, css) {
  const mono = /mono|code|menlo|courier/i.test(css.split(",")[0]);
  if (!mono && /(^|[^-])serif\s*$/.test(css) && !/sans/i.test(css)) return css; // of a formula: the reader's own
  const name = mono ? "Source Code Pro" : "Source Sans";
  sheet.families.add(name);
  return mono ? '"Source Code Pro", Menlo, monospace' : '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';
}

let measure = null;

// How wide a text is in a font, and how far it reaches above and below its line.
export function measured(text, { size, weight = 400, style = "normal", css }) {
  measure ||= document.createElement("canvas").getContext("2d");
  measure.font = `${style} ${weight} ${size}px ${css}`;
  const found = measure.measureText(text);
  return { width: found.width, ascent: found.fontBoundingBoxAscent, descent: found.fontBoundingBoxDescent };
}

// A text whose line begins at a point of the sheet (or ends there, or has its middle there); `turn` in degrees about that point.
export function putText(sheet, x, y, text, { size, weight = 400, style = "normal", css, anchor = "start", turn = 0, spacing = 0, tabular = false, ...paints }) {
  const shown = clean(text).replace(/\s+$/, ""), before = shown.length - shown.trimStart().length;
  if (!shown.trim()) return;
  const { width, ascent, descent } = measured(shown, { size, weight, style, css }), long = width + spacing * shown.length;
  const from = anchor === "middle" ? -long / 2 : anchor === "end" ? -long : 0, angle = (turn * Math.PI) / 180;
  for (const [dx, dy] of [[from, -ascent], [from + long, -ascent], [from, descent], [from + long, descent]]) {
    const px = x + dx * Math.cos(angle) - dy * Math.sin(angle), py = y + dx * Math.sin(angle) + dy * Math.cos(angle);
    reach(sheet, px, py, px, py);
  }
  put(sheet, "text", {
    ...(turn ? { transform: `translate(${round(x)} ${round(y)}) rotate(${round(turn)})` } : { x, y }),
    "font-family": family(sheet, css), "font-size": size, "font-weight": Number(weight) === 400 ? null : weight,
    "font-style": style === "normal" ? null : style, "text-anchor": anchor === "start" ? null : anchor,
    "letter-spacing": spacing || null, "font-feature-settings": tabular ? '"tnum"' : null,
    "xml:space": before || /\s\s/.test(shown) ? "preserve" : null, ...paints,
  }, shown);
}
