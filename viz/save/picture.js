// Draws one picture as SVG: lays it out without scroll areas, draws it on a sheet, and adds a background and a caption.

import { svgElement } from "../kit/mount.js";
import { chartScale } from "./charts.js";
import { hex, parseColour, recolourer } from "./colours.js";
import { drawElement } from "./elements.js";
import { cleanText, textMetrics, newSheet, paintAttributes, drawRect, drawText, round } from "./sheet.js";

export const MAIN = '[data-testid="stMainBlockContainer"]';
const MARGIN = 16; // px around a picture
const MIN_WIDTH = 360; // px for the caption
const CAPTION = 12, LINE = 17, RAMP = 120; // px
const SANS = '"Source Sans", "Source Sans 3", "Source Sans Pro", sans-serif';
const MIN_MAP_CELL = 12; // px: a map with smaller cells is enlarged for its labels

// -- layout without scroll areas -----------------------------------------------------------------------------------

function descendants(node) { // includes the shadow roots of components
  return [...(node.shadowRoot ?? node).querySelectorAll("*")].flatMap((each) => (each.shadowRoot ? [each, ...descendants(each)] : [each]));
}

// Calls `draw` while a picture is laid out in full size, then restores the layout. All of this happens in one task of the browser, so
// the screen does not change.
function withFullLayout(root, draw) {
  const savedStyles = [], set = (node, name, value) => { savedStyles.push([node, name, node.style.getPropertyValue(name), node.style.getPropertyPriority(name)]); node.style.setProperty(name, value, "important"); };
  const scrollPositions = [];
  try {
    const all = [root, ...descendants(root)].filter((node) => node instanceof HTMLElement);
    for (const node of all) if (node.tagName === "CANVAS") enlargeCanvas(node, root, set);
    const scrollers = all.filter((node) => /auto|scroll/.test(getComputedStyle(node).overflow) && node.clientWidth);
    for (const node of scrollers) {
      scrollPositions.push([node, node.scrollLeft, node.scrollTop]);
      if (node.scrollHeight > node.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(node).overflowY)) { set(node, "max-height", "none"); set(node, "height", "auto"); }
      if (node.scrollHeight > node.clientHeight + 1) set(node, "min-height", `${node.scrollHeight}px`);
    }
    const originalWidth = root.getBoundingClientRect().width, widen = (width) => { for (const name of ["width", "min-width", "max-width"]) set(root, name, `${Math.ceil(width)}px`); };
    for (let attempt = 0, previous = Infinity, missing = missingWidth(scrollers); attempt < 3 && missing >= 1; attempt++) {
      widen(root.getBoundingClientRect().width + missing);
      [previous, missing] = [missing, missingWidth(scrollers)];
      if (missing > 0.7 * previous) { widen(originalWidth); break; } // an element with a relative width never fits
    }
    for (const node of scrollers) set(node, "overflow", "visible");
    return draw();
  } finally {
    for (const [node, name, value, priority] of savedStyles.reverse()) { if (value) node.style.setProperty(name, value, priority); else node.style.removeProperty(name); }
    for (const [node, left, top] of scrollPositions) { node.scrollLeft = left; node.scrollTop = top; }
  }
}

// Returns the width that the horizontal scroll areas lack. The widths of areas in the same row add up.
function missingWidth(scrollers) {
  const rows = [];
  for (const node of scrollers) {
    const excess = node.scrollWidth - node.clientWidth, { top, bottom } = node.getBoundingClientRect();
    if (excess < 2 || !/auto|scroll/.test(getComputedStyle(node).overflowX)) continue;
    const row = rows.find((each) => each.top < bottom && top < each.bottom);
    if (row) row.excess += excess;
    else rows.push({ top, bottom, excess });
  }
  return Math.max(0, ...rows.map((row) => row.excess));
}

// Fixes the size of a canvas. A map with cells too small for its labels is enlarged in a separate picture.
function enlargeCanvas(canvas, root, set) {
  const labelCall = canvas.labDrawCalls?.find(({ name }) => name === "labels")?.args;
  const rect = canvas.getBoundingClientRect(), isSeparate = canvas.closest("[data-picture]") === root; // a larger picture has no room for it
  if (!rect.width) return;
  for (const side of ["width", "height"]) set(canvas, side, `${rect[side]}px`);
  canvas.labHasAllLabels = isSeparate; // else the labels of its rows may be those of the map next to it
  if (!labelCall || !isSeparate) return;
  const [layout, { queries, keys, hiddenQueries, family, font }] = labelCall, k = Math.max(1, MIN_MAP_CELL / layout.size);
  const longest = (texts) => Math.max(0, ...texts.map((text) => textMetrics(text, { size: font, weight: 650, css: family }).width));
  if (k > 1) { set(canvas, "width", `${rect.width * k}px`); set(canvas, "height", `${rect.height * k}px`); set(canvas, "max-width", "none"); }
  const above = Math.ceil(longest(keys) * (layout.angle === -90 || k > 1 ? 1 : Math.sin(Math.PI / 3)) + font - layout.top * k), extraLeft = Math.ceil(longest(hiddenQueries ?? queries) + 6 - layout.left * k);
  if (above > 0 && layout.angle !== 0) set(canvas, "margin-top", `${above}px`);
  if (extraLeft > 0) set(canvas, "margin-left", `${extraLeft}px`);
}

// -- the picture ---------------------------------------------------------------------------------------------------

// Returns a picture's SVG element, its size and its font families. `look` is "light", "dark" or "transparent", which keeps the colours
// of the screen. `themes` contains both themes, `currentMode` is the name of the theme on the screen. `title` is the accessible name.
// `caption` contains a title and lines, or is null.
export function renderPicture(root, { look, themes, currentMode, caption, title }) {
  const mode = look === "transparent" ? currentMode : look, recolour = recolourer(themes[currentMode], themes[mode]), page = hex(parseColour(themes[mode].palette[0]));
  const isChart = root.classList.contains("js-plotly-plot");
  const sheet = withFullLayout(root, () => {
    const { left, top } = root.getBoundingClientRect(), fullSheet = newSheet({ origin: { x: left, y: top }, recolour, page: look === "transparent" ? page : null });
    if (isChart) Object.assign(fullSheet, { scale: chartScale(root), isSeparate: true });
    fullSheet.isWholeView = root.matches(MAIN);
    drawElement(fullSheet, root);
    return fullSheet;
  });
  const [left, top, right, bottom] = (sheet.box || [0, 0, 1, 1]).map(Math.round), width = Math.max(MIN_WIDTH, right - left);
  const content = sheet.parent;
  sheet.parent = svgElement("g", { class: "caption" });
  const legendBottom = root.labScales?.length ? drawLegend(sheet, root.labScales, left, bottom + MARGIN) : bottom;
  const end = caption ? drawCaption(sheet, caption, left, legendBottom + MARGIN, width, themes[mode]) : legendBottom;
  const box = [left - MARGIN, top - MARGIN, width + 2 * MARGIN, Math.ceil(end - top) + 2 * MARGIN].map(round), svg = svgElement("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: box.join(" "), width: box[2], height: box[3], role: "img" });
  svg.append(svgElement("title", {}, cleanText(title)));
  if (look !== "transparent") svg.append(svgElement("rect", { x: box[0], y: box[1], width: box[2], height: box[3], fill: page }));
  svg.append(sheet.defs, content, sheet.parent);
  return { svg, width: box[2], height: box[3], families: sheet.families };
}

// Draws the colour scales with their smallest and largest numbers. Returns the lower edge.
function drawLegend(sheet, scales, x, y) {
  const look = { size: CAPTION, css: SANS, tabular: true, ...paintAttributes(sheet, "fill", getComputedStyle(document.querySelector(MAIN)).color) };
  let left = x;
  for (const { name = "", low, high, colours } of scales) {
    const label = [name, low].filter((each) => each !== "").join("  "), labelWidth = textMetrics(label, look).width, id = `legend${sheet.defs.childElementCount + 1}`;
    const ramp = svgElement("linearGradient", { id, gradientUnits: "userSpaceOnUse", x1: left + labelWidth + 6, x2: left + labelWidth + 6 + RAMP, y1: y, y2: y });
    colours.forEach((colour, n) => ramp.append(svgElement("stop", { offset: round(n / (colours.length - 1)), ...paintAttributes(sheet, "stop-color", colour, { data: colours.some((each) => sheet.recolour.isLoss(parseColour(each))) ? "signed" : true }) })));
    sheet.defs.append(ramp);
    drawText(sheet, left, y + 10, label, look);
    drawRect(sheet, left + labelWidth + 6, y, RAMP, 12, { fill: `url(#${id})`, ...paintAttributes(sheet, "stroke", getComputedStyle(document.querySelector(MAIN)).color, { opacity: 0.3 }), "stroke-width": 0.75 });
    drawText(sheet, left + labelWidth + 12 + RAMP, y + 10, String(high), look);
    left += labelWidth + RAMP + textMetrics(String(high), look).width + 36;
  }
  return y + 12;
}

// Draws the lines of a caption, wrapped to the width. Returns the lower edge.
function drawCaption(sheet, { title, lines }, x, y, width, theme) {
  const shades = [theme.palette[2], theme.palette[3]], recolour = sheet.recolour;
  sheet.recolour = (colour) => colour; // the theme colours above already match the look
  let baseline = y;
  for (const [n, text] of [title, ...lines].entries()) {
    const look = { size: CAPTION, weight: n ? 400 : 650, css: SANS, ...paintAttributes(sheet, "fill", shades[n ? 1 : 0]) };
    for (const line of wrapText(text, width, look)) drawText(sheet, x, (baseline += LINE) - 4, line, look);
  }
  sheet.recolour = recolour;
  return baseline;
}

function wrapText(text, width, font) {
  const lines = [""];
  for (const word of text.split(" ").flatMap((each) => splitWord(each, width, font))) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (textMetrics(longer, font).width <= width || !lines.at(-1)) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function splitWord(word, width, font) { // splits a word that is wider than a line
  const parts = [];
  for (const char of word) {
    if (parts.length && textMetrics(parts.at(-1) + char, font).width <= width) parts[parts.length - 1] += char;
    else parts.push(char);
  }
  return parts;
}
