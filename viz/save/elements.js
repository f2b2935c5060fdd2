// Draws the page's elements on a sheet: boxes, lines of text, SVG, canvases and charts.

import { drawBox, drawPseudo } from "./boxes.js";
import { drawCanvas } from "./canvas.js";
import { drawChart } from "./charts.js";
import { drawSvg } from "./inline.js";
import { X, Y, drawClipped, drawFaded, textMetrics, paintAttributes, addShape, drawRect, drawText } from "./sheet.js";

const OMITTED_TAGS = /^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|LINK|OPTION)$/;
const HIDDEN = '.unseen, [data-testid="stSkeleton"], [data-testid="stMainMenu"], .st-key-save, .modebar-container, [hidden], [data-picture-skip=always]';

const decorationOf = (style, inherited) => (style.textDecorationLine !== "none" ? { line: style.textDecorationLine, lineStyle: style.textDecorationStyle, colour: style.textDecorationColor, offset: parseFloat(style.textUnderlineOffset) || 0 } : style.display.startsWith("inline-") ? null : inherited);

// Draws an element with its descendants. `decoration` is the text decoration of its ancestors.
export function drawElement(sheet, node, decoration = null) {
  if (OMITTED_TAGS.test(node.tagName) || node.matches(HIDDEN) || (!sheet.isWholeView && node.matches("[data-picture-skip]"))) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.position === "fixed" || Number(style.opacity) === 0 || /Material/.test(style.fontFamily)) return;
  const rect = node.getBoundingClientRect();
  if (style.display !== "contents" && (style.clipPath !== "none" || style.clip !== "auto") && rect.width <= 2) return;
  drawFaded(sheet, Number(style.opacity), () => drawVisible(sheet, node, style, rect, decorationOf(style, decoration)));
}

function drawVisible(sheet, node, style, rect, decoration) {
  const isVisible = style.visibility !== "hidden";
  if (isVisible && style.display !== "contents") drawBox(sheet, node, style, rect);
  if (node.tagName === "svg") { drawSvg(sheet, node); return; }
  if (node.tagName === "CANVAS") { if (isVisible) drawCanvasElement(sheet, node, rect); return; }
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName)) { if (isVisible) drawField(sheet, node, style, rect); return; }
  if (node.classList.contains("js-plotly-plot")) { drawChart(sheet, node); return; }
  const drawContent = () => {
    if (isVisible) drawPseudo(sheet, node, "::before", rect);
    for (const child of paintOrder(node)) {
      if (child.nodeType === Node.TEXT_NODE) { if (isVisible) drawTexts(sheet, child, node, style, decoration); } else drawElement(sheet, child, decoration);
    }
    if (isVisible) drawPseudo(sheet, node, "::after", rect);
  };
  const isClipped = /hidden|clip/.test(style.overflowX + style.overflowY) && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
  if (!isClipped || style.textOverflow === "ellipsis") drawContent();
  else drawClipped(sheet, [X(sheet, rect.left), Y(sheet, rect.top), X(sheet, rect.right), Y(sheet, rect.bottom)], drawContent);
}

// Returns the children of an element in their paint order: positioned children are above the others.
function paintOrder(node) {
  const children = [...(node.shadowRoot ?? node).childNodes].filter((child) => child.nodeType === Node.TEXT_NODE || child.nodeType === Node.ELEMENT_NODE);
  const depth = (child) => {
    if (child.nodeType === Node.TEXT_NODE) return 0;
    const { position, zIndex } = getComputedStyle(child);
    return position === "static" && zIndex === "auto" ? 0 : zIndex === "auto" ? 0.5 : Number(zIndex) + (Number(zIndex) >= 0 ? 0.5 : 0);
  };
  const depths = new Map(children.map((child) => [child, depth(child)]));
  return children.some((child) => depths.get(child)) ? children.sort((a, b) => depths.get(a) - depths.get(b)) : children;
}

function drawCanvasElement(sheet, node, rect) {
  if (!node.width || !node.height) return;
  const k = sheet.scale, matrix = [(rect.width / node.width) * k, 0, 0, (rect.height / node.height) * k, X(sheet, rect.left), Y(sheet, rect.top)];
  drawCanvas(sheet, node, matrix);
}

// Draws a form control with its value.
function drawField(sheet, node, style, rect) {
  if (node.type === "range") {
    const share = (node.value - node.min) / (node.max - node.min || 1), y = Y(sheet, rect.top + rect.height / 2), left = X(sheet, rect.left), width = rect.width * sheet.scale;
    drawRect(sheet, left, y - 2, width, 4, { rx: 2, ...paintAttributes(sheet, "fill", style.getPropertyValue("--lab-line") || style.color) });
    addShape(sheet, "circle", { cx: left + 7 + share * (width - 14), cy: y, r: 7, ...paintAttributes(sheet, "fill", style.color) });
    return;
  }
  if (/^(checkbox|radio)$/.test(node.type)) { for (const name of ["::before", "::after"]) drawPseudo(sheet, node, name, rect); return; }
  const text = node.tagName === "SELECT" ? node.selectedOptions[0]?.textContent : node.value || node.placeholder, size = parseFloat(style.fontSize);
  if (!text || node.type === "hidden") return;
  const box = [X(sheet, rect.left), Y(sheet, rect.top), X(sheet, rect.right), Y(sheet, rect.bottom)];
  drawClipped(sheet, box, () => drawText(sheet, X(sheet, rect.left + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth)), Y(sheet, rect.top + rect.height / 2) + 0.34 * size * sheet.scale, text, { size: size * sheet.scale, weight: style.fontWeight, css: style.fontFamily, ...paintAttributes(sheet, "fill", style.color, { opacity: node.value ? 1 : 0.6 }) }));
}

// -- texts ---------------------------------------------------------------------------------------------------------

// Splits a text node into its lines, each with its box. `isHorizontal` is false for vertical text.
function linesOf(node, isHorizontal) {
  const range = document.createRange(), text = node.data, lines = [];
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()].filter((rect) => rect.width && rect.height);
  if (!boxes.length) return [];
  if (boxes.length === 1) return [{ text, rect: boxes[0] }];
  for (let start = 0; start < text.length;) {
    const next = start + (text.codePointAt(start) > 0xffff ? 2 : 1);
    range.setStart(node, start);
    range.setEnd(node, next);
    const rect = [...range.getClientRects()].at(-1), last = lines.at(-1), side = isHorizontal ? "top" : "left";
    if (rect && (rect.width || !/\s/.test(text.slice(start, next)))) {
      if (last && Math.abs(last.rect[side] - rect[side]) < 3) {
        last.text += text.slice(start, next);
        last.rect = { left: Math.min(last.rect.left, rect.left), right: Math.max(last.rect.right, rect.right), top: Math.min(last.rect.top, rect.top), bottom: Math.max(last.rect.bottom, rect.bottom), height: last.rect.height, width: last.rect.width };
      } else lines.push({ text: text.slice(start, next), rect: { left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom, width: rect.width, height: rect.height } });
    }
    start = next;
  }
  return lines;
}

const CASES = { uppercase: (text) => text.toUpperCase(), lowercase: (text) => text.toLowerCase(), capitalize: (text) => text.replace(/\b\p{L}/gu, (letter) => letter.toUpperCase()) };
const collapseSpaces = (text, style) => (/pre|break-spaces/.test(style.whiteSpace) ? text.replace(/[\t\n]/g, " ") : text.replace(/[ \t\n]+/g, " "));

function drawTexts(sheet, node, parent, style, decoration) {
  if (!node.data.trim()) return;
  const isHorizontal = style.writingMode === "horizontal-tb", size = parseFloat(style.fontSize), { scale } = sheet;
  const font = { size: size * scale, weight: style.fontWeight, style: style.fontStyle, css: style.fontFamily }, { ascent, descent } = textMetrics("x", { ...font, size });
  const look = { ...font, spacing: (parseFloat(style.letterSpacing) || 0) * scale, tabular: style.fontVariantNumeric.includes("tabular"), ...paintAttributes(sheet, "fill", style.color) };
  const limit = ellipsisEdge(parent, style);
  for (const { text, rect } of linesOf(node, isHorizontal)) {
    let line = collapseSpaces(text, style);
    if (!/pre|break-spaces/.test(style.whiteSpace)) line = line.trimStart() === line ? line : trimCollapsedSpace(line, rect, node);
    line = (CASES[style.textTransform] ?? ((same) => same))(line);
    if (!isHorizontal) {
      const isUpward = /matrix\(-1/.test(getComputedStyle(rotatedElement(parent)).transform), x = rect.left + (rect.right - rect.left + (isUpward ? ascent - descent : descent - ascent)) / 2;
      drawText(sheet, X(sheet, x), Y(sheet, isUpward ? rect.bottom : rect.top), line, { ...look, turn: isUpward ? -90 : 90 });
      continue;
    }
    const topSpace = (rect.bottom - rect.top - ascent - descent) / 2, base = Y(sheet, rect.top + topSpace + ascent);
    if (limit !== null && rect.right > limit + 1) line = addEllipsis(line, limit - rect.left, { ...font, size });
    drawText(sheet, X(sheet, rect.left), base, line, look);
    if (decoration) drawDecoration(sheet, X(sheet, rect.left), X(sheet, Math.min(rect.right, limit ?? rect.right)), base, decoration, size * scale);
  }
}

// Removes a space at the start of a line if the browser collapsed it. After another element, a space takes room and stays.
function trimCollapsedSpace(text, rect, node) {
  const range = document.createRange(), first = node.data.search(/\S/);
  range.setStart(node, first);
  range.setEnd(node, first + 1);
  const box = range.getBoundingClientRect();
  return Math.abs(box.left - rect.left) < 1 ? text.trimStart() : text;
}

function rotatedElement(node) {
  let current = node;
  while (current.parentElement && getComputedStyle(current).transform === "none" && getComputedStyle(current.parentElement).writingMode !== "horizontal-tb") current = current.parentElement;
  return current;
}

// Returns the right edge at which a text ends with an ellipsis, or null if no box cuts it off.
function ellipsisEdge(node, style) {
  for (let box = node, boxStyle = style, level = 0; box && level < 4; box = box.parentElement, boxStyle = box && getComputedStyle(box), level++) {
    if (boxStyle.textOverflow === "ellipsis" && boxStyle.overflowX !== "visible" && box.scrollWidth > box.clientWidth + 1) return box.getBoundingClientRect().right - parseFloat(boxStyle.paddingRight);
    if (boxStyle.display === "block") break;
  }
  return null;
}

function addEllipsis(text, width, font) {
  let start = text;
  while (start && textMetrics(`${start}…`, font).width > width) start = start.slice(0, -1);
  return start && `${start.trimEnd()}…`;
}

function drawDecoration(sheet, from, to, base, { line, lineStyle, colour, offset }, size) {
  const thickness = Math.max(1, size / 16), y = line.includes("line-through") ? base - 0.28 * size : base + (offset || 0.12 * size) + thickness / 2, stroke = paintAttributes(sheet, "stroke", colour);
  if (lineStyle === "wavy") {
    let d = `M${from} ${y}`;
    for (let x = from, up = 1; x + 3 <= to; x += 3, up = -up) d += `q1.5 ${-2.4 * up} 3 0`;
    addShape(sheet, "path", { d, fill: "none", ...stroke, "stroke-width": 1 });
  } else addShape(sheet, "line", { x1: from, y1: y, x2: to, y2: y, ...stroke, "stroke-width": thickness, "stroke-dasharray": { dotted: "1 2", dashed: "4 3" }[lineStyle] });
}
