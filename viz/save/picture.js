// One picture as a file's text: laid out so that nothing is hidden, drawn on a sheet, with its ground and its caption.

import { drawing } from "../kit/mount.js";
import { grown } from "./charts.js";
import { hex, parsed, recolouring } from "./colours.js";
import { drawElement } from "./elements.js";
import { clean, measured, newSheet, paint, putRect, putText, round } from "./sheet.js";

export const MAIN = '[data-testid="stMainBlockContainer"]';
const AIR = 16; // px around a picture
const LEAST_WIDTH = 360; // px: a caption needs so much
const CAPTION = 12, LINE = 17, RAMP = 120; // px
const SANS = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';
const LEAST_CELL = 12; // px: smaller cells of a map on a canvas are drawn larger, for their labels

// -- what a scroll area hides --------------------------------------------------------------------------------------

function deep(node) { // with what is in the shadows of components
  return [...(node.shadowRoot ?? node).querySelectorAll("*")].flatMap((each) => (each.shadowRoot ? [each, ...deep(each)] : [each]));
}

// Lays a picture out as if there were room for all of it, while `draw` looks at it; then as before. All within one task of the
// browser, so that nobody sees it.
function laidOut(root, draw) {
  const kept = [], set = (node, name, value) => { kept.push([node, name, node.style.getPropertyValue(name), node.style.getPropertyPriority(name)]); node.style.setProperty(name, value, "important"); };
  const scrolled = [];
  try {
    const all = [root, ...deep(root)].filter((node) => node instanceof HTMLElement);
    for (const node of all) if (node.tagName === "CANVAS") enlarged(node, root, set);
    const scrollers = all.filter((node) => /auto|scroll/.test(getComputedStyle(node).overflow) && node.clientWidth);
    for (const node of scrollers) {
      scrolled.push([node, node.scrollLeft, node.scrollTop]);
      if (node.scrollHeight > node.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(node).overflowY)) { set(node, "max-height", "none"); set(node, "height", "auto"); }
      if (node.scrollHeight > node.clientHeight + 1) set(node, "min-height", `${node.scrollHeight}px`);
    }
    const wide = root.getBoundingClientRect().width, widen = (width) => { for (const name of ["width", "min-width", "max-width"]) set(root, name, `${Math.ceil(width)}px`); };
    for (let turn = 0, before = Infinity, lacks = lacking(scrollers); turn < 3 && lacks >= 1; turn++) {
      widen(root.getBoundingClientRect().width + lacks);
      [before, lacks] = [lacks, lacking(scrollers)];
      if (lacks > 0.7 * before) { widen(wide); break; } // what is as wide as a share of the whole never fits
    }
    for (const node of scrollers) set(node, "overflow", "visible");
    return draw();
  } finally {
    for (const [node, name, value, priority] of kept.reverse()) { if (value) node.style.setProperty(name, value, priority); else node.style.removeProperty(name); }
    for (const [node, left, top] of scrolled) { node.scrollLeft = left; node.scrollTop = top; }
  }
}

// How much wider all must be for what scrolls sideways: what stands side by side adds up.
function lacking(scrollers) {
  const rows = [];
  for (const node of scrollers) {
    const more = node.scrollWidth - node.clientWidth, { top, bottom } = node.getBoundingClientRect();
    if (more < 2 || !/auto|scroll/.test(getComputedStyle(node).overflowX)) continue;
    const row = rows.find((each) => each.top < bottom && top < each.bottom);
    if (row) row.more += more;
    else rows.push({ top, bottom, more });
  }
  return Math.max(0, ...rows.map((row) => row.more));
}

// A canvas keeps its size; one whose cells are too small for their labels gets larger ones where it is a picture of its own.
function enlarged(canvas, root, set) {
  const found = canvas.labDrawn?.find(({ name }) => name === "labels")?.args;
  const shown = canvas.getBoundingClientRect(), own = canvas.closest("[data-picture]") === root; // among others there is no room
  if (!shown.width) return;
  for (const side of ["width", "height"]) set(canvas, side, `${shown[side]}px`);
  if (!found || !own) return;
  const [layout, { whole, family, font }] = found, k = Math.max(1, LEAST_CELL / layout.size);
  const longest = (texts) => Math.max(0, ...texts.map((text) => measured(text, { size: font, weight: 650, css: family }).width));
  if (k > 1) { set(canvas, "width", `${shown.width * k}px`); set(canvas, "height", `${shown.height * k}px`); set(canvas, "max-width", "none"); }
  const above = Math.ceil(longest(whole.keys) * (layout.angle === -90 || k > 1 ? 1 : Math.sin(Math.PI / 3)) + font - layout.top * k), beside = Math.ceil(longest(whole.queries) + 6 - layout.left * k);
  if (above > 0 && layout.angle !== 0) set(canvas, "margin-top", `${above}px`);
  if (beside > 0) set(canvas, "margin-left", `${beside}px`);
}

// -- the picture ---------------------------------------------------------------------------------------------------

// `look`: "light", "dark", or "transparent" in the colours that are seen. `themes` holds both, `seen` is the name of the one on
// the screen. `title` names it to who does not see it. `caption`: its title and its lines, or null. Returns the SVG's root element.
export function picture(root, { look, themes, seen, caption, title }) {
  const mode = look === "transparent" ? seen : look, recolour = recolouring(themes[seen], themes[mode]), page = hex(parsed(themes[mode].palette[0]));
  const isChart = root.classList.contains("js-plotly-plot");
  const sheet = laidOut(root, () => {
    const { left, top } = root.getBoundingClientRect(), made = newSheet({ origin: { x: left, y: top }, recolour, page: look === "transparent" ? page : null });
    if (isChart) Object.assign(made, { scale: grown(root), alone: true });
    made.whole = root.matches(MAIN);
    drawElement(made, root);
    return made;
  });
  const [left, top, right, bottom] = (sheet.box || [0, 0, 1, 1]).map(Math.round), width = Math.max(LEAST_WIDTH, right - left);
  const before = sheet.into;
  sheet.into = drawing("g", { class: "caption" });
  const under = root.labScales?.length ? scaled(sheet, root.labScales, left, bottom + AIR) : bottom;
  const end = caption ? captioned(sheet, caption, left, under + AIR, width, themes[mode]) : under;
  const box = [left - AIR, top - AIR, width + 2 * AIR, Math.ceil(end - top) + 2 * AIR].map(round), svg = drawing("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: box.join(" "), width: box[2], height: box[3], role: "img" });
  svg.append(drawing("title", {}, clean(title)));
  if (look !== "transparent") svg.append(drawing("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: page }));
  svg.append(sheet.defs, before, sheet.into);
  return { svg, width: box[2], height: box[3], families: sheet.families };
}

// The colours that stand for numbers, with the least and the largest of these; returns where they end.
function scaled(sheet, scales, x, y) {
  const look = { size: CAPTION, css: SANS, tabular: true, ...paint(sheet, "fill", getComputedStyle(document.querySelector(MAIN)).color) };
  let at = x;
  for (const { name = "", low, high, colours } of scales) {
    const before = [name, low].filter((each) => each !== "").join("  "), wide = measured(before, look).width, id = `legend${sheet.defs.childElementCount + 1}`;
    const ramp = drawing("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1: at + wide + 6, x2: at + wide + 6 + RAMP, y1: y, y2: y });
    colours.forEach((colour, n) => ramp.append(drawing("stop", { offset: round(n / (colours.length - 1)), ...paint(sheet, "stop-color", colour, { data: colours.some((each) => sheet.recolour.isLoss(parsed(each))) ? "signed" : true }) })));
    sheet.defs.append(ramp);
    putText(sheet, at, y + 10, before, look);
    putRect(sheet, at + wide + 6, y, RAMP, 12, { fill: `url(#${id})`, ...paint(sheet, "stroke", getComputedStyle(document.querySelector(MAIN)).color, { opacity: 0.3 }), "stroke-width": 0.75 });
    putText(sheet, at + wide + 12 + RAMP, y + 10, String(high), look);
    at += wide + RAMP + measured(String(high), look).width + 36;
  }
  return y + 12;
}

// The lines of a caption, broken where they are too long; returns where they end.
function captioned(sheet, { title, lines }, x, y, width, theme) {
  const shades = [theme.palette[2], theme.palette[3]], same = sheet.recolour;
  sheet.recolour = (colour) => colour; // it is in those of the look
  let at = y;
  for (const [n, text] of [title, ...lines].entries()) {
    const look = { size: CAPTION, weight: n ? 400 : 650, css: SANS, ...paint(sheet, "fill", shades[n ? 1 : 0]) };
    for (const line of broken(text, width, look)) putText(sheet, x, (at += LINE) - 4, line, look);
  }
  sheet.recolour = same;
  return at;
}

function broken(text, width, font) {
  const lines = [""];
  for (const word of text.split(" ").flatMap((each) => pieces(each, width, font))) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (measured(longer, font).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function pieces(word, width, font) { // a word without end is cut where the line is full
  const found = [];
  for (const char of word) {
    if (found.length && measured(found.at(-1) + char, font).width <= width) found[found.length - 1] += char;
    else found.push(char);
  }
  return found;
}
