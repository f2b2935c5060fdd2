// The page's elements, drawn on a sheet: boxes, texts line by line, and what stands in them as SVG, canvas or chart.

import { drawBox, drawPseudo } from "./boxes.js";
import { replay } from "./canvas.js";
import { chart } from "./charts.js";
import { inline } from "./inline.js";
import { X, Y, clipped, faded, measured, paint, put, putRect, putText } from "./sheet.js";

const LEFT_OUT = /^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|LINK|OPTION)$/;
const NOT_SEEN = '.unseen, [data-testid="stSkeleton"], [data-testid="stMainMenu"], .st-key-save, .modebar-container, [hidden], [data-picture-skip=always]';

const decorationOf = (style, above) => (style.textDecorationLine !== "none" ? { line: style.textDecorationLine, how: style.textDecorationStyle, colour: style.textDecorationColor, offset: parseFloat(style.textUnderlineOffset) || 0 } : style.display.startsWith("inline-") ? null : above);

// An element with all that it holds; `decoration` is what the elements around it draw under their text.
export function drawElement(sheet, node, decoration = null) {
  if (LEFT_OUT.test(node.tagName) || node.matches(NOT_SEEN) || (!sheet.whole && node.matches("[data-picture-skip]"))) return;
  const style = getComputedStyle(node);
  if (style.display === "none" || style.position === "fixed" || Number(style.opacity) === 0 || /Material/.test(style.fontFamily)) return;
  const rect = node.getBoundingClientRect();
  if (style.display !== "contents" && (style.clipPath !== "none" || style.clip !== "auto") && rect.width <= 2) return;
  faded(sheet, Number(style.opacity), () => drawn(sheet, node, style, rect, decorationOf(style, decoration)));
}

function drawn(sheet, node, style, rect, decoration) {
  const seen = style.visibility !== "hidden";
  if (seen && style.display !== "contents") drawBox(sheet, node, style, rect);
  if (node.tagName === "svg") { inline(sheet, node); return; }
  if (node.tagName === "CANVAS") { if (seen) canvasAt(sheet, node, rect); return; }
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName)) { if (seen) drawField(sheet, node, style, rect); return; }
  if (node.classList.contains("js-plotly-plot")) { chart(sheet, node); return; }
  const inside = () => {
    if (seen) drawPseudo(sheet, node, "::before", rect);
    for (const child of inOrder(node)) {
      if (child.nodeType === Node.TEXT_NODE) { if (seen) drawTexts(sheet, child, node, style, decoration); } else drawElement(sheet, child, decoration);
    }
    if (seen) drawPseudo(sheet, node, "::after", rect);
  };
  const cuts = /hidden|clip/.test(style.overflowX + style.overflowY) && (node.scrollWidth > node.clientWidth + 1 || node.scrollHeight > node.clientHeight + 1);
  if (!cuts || style.textOverflow === "ellipsis") inside();
  else clipped(sheet, [X(sheet, rect.left), Y(sheet, rect.top), X(sheet, rect.right), Y(sheet, rect.bottom)], inside);
}

// What an element holds, in the order in which it is painted: what is placed lies over what flows.
function inOrder(node) {
  const children = [...(node.shadowRoot ?? node).childNodes].filter((child) => child.nodeType === Node.TEXT_NODE || child.nodeType === Node.ELEMENT_NODE);
  const depth = (child) => {
    if (child.nodeType === Node.TEXT_NODE) return 0;
    const { position, zIndex } = getComputedStyle(child);
    return position === "static" && zIndex === "auto" ? 0 : zIndex === "auto" ? 0.5 : Number(zIndex) + (Number(zIndex) >= 0 ? 0.5 : 0);
  };
  const depths = new Map(children.map((child) => [child, depth(child)]));
  return children.some((child) => depths.get(child)) ? children.sort((a, b) => depths.get(a) - depths.get(b)) : children;
}

function canvasAt(sheet, node, rect) {
  if (!node.width || !node.height) return;
  const k = sheet.scale, matrix = [(rect.width / node.width) * k, 0, 0, (rect.height / node.height) * k, X(sheet, rect.left), Y(sheet, rect.top)];
  replay(sheet, node, matrix);
}

// A control that holds a value of its own.
function drawField(sheet, node, style, rect) {
  if (node.type === "range") {
    const share = (node.value - node.min) / (node.max - node.min || 1), y = Y(sheet, rect.top + rect.height / 2), left = X(sheet, rect.left), width = rect.width * sheet.scale;
    putRect(sheet, left, y - 2, width, 4, { rx: 2, ...paint(sheet, "fill", style.getPropertyValue("--lab-line") || style.color) });
    put(sheet, "circle", { cx: left + 7 + share * (width - 14), cy: y, r: 7, ...paint(sheet, "fill", style.color) });
    return;
  }
  if (/^(checkbox|radio)$/.test(node.type)) { for (const name of ["::before", "::after"]) drawPseudo(sheet, node, name, rect); return; }
  const text = node.tagName === "SELECT" ? node.selectedOptions[0]?.textContent : node.value || node.placeholder, size = parseFloat(style.fontSize);
  if (!text || node.type === "hidden") return;
  const box = [X(sheet, rect.left), Y(sheet, rect.top), X(sheet, rect.right), Y(sheet, rect.bottom)];
  clipped(sheet, box, () => putText(sheet, X(sheet, rect.left + parseFloat(style.paddingLeft) + parseFloat(style.borderLeftWidth)), Y(sheet, rect.top + rect.height / 2) + 0.34 * size * sheet.scale, text, { size: size * sheet.scale, weight: style.fontWeight, css: style.fontFamily, ...paint(sheet, "fill", style.color, { opacity: node.value ? 1 : 0.6 }) }));
}

// -- texts ---------------------------------------------------------------------------------------------------------

// A text as the lines that it is broken into, each with its box; `upright` is false where it is written downwards.
function linesOf(node, upright) {
  const range = document.createRange(), text = node.data, lines = [];
  range.selectNodeContents(node);
  const whole = [...range.getClientRects()].filter((rect) => rect.width && rect.height);
  if (!whole.length) return [];
  if (whole.length === 1) return [{ text, rect: whole[0] }];
  for (let at = 0; at < text.length;) {
    const next = at + (text.codePointAt(at) > 0xffff ? 2 : 1);
    range.setStart(node, at);
    range.setEnd(node, next);
    const rect = [...range.getClientRects()].at(-1), last = lines.at(-1), side = upright ? "top" : "left";
    if (rect && (rect.width || !/\s/.test(text.slice(at, next)))) {
      if (last && Math.abs(last.rect[side] - rect[side]) < 3) {
        last.text += text.slice(at, next);
        last.rect = { left: Math.min(last.rect.left, rect.left), right: Math.max(last.rect.right, rect.right), top: Math.min(last.rect.top, rect.top), bottom: Math.max(last.rect.bottom, rect.bottom), height: last.rect.height, width: last.rect.width };
      } else lines.push({ text: text.slice(at, next), rect: { left: rect.left, right: rect.right, top: rect.top, bottom: rect.bottom, width: rect.width, height: rect.height } });
    }
    at = next;
  }
  return lines;
}

const CASES = { uppercase: (text) => text.toUpperCase(), lowercase: (text) => text.toLowerCase(), capitalize: (text) => text.replace(/\b\p{L}/gu, (letter) => letter.toUpperCase()) };
const spaced = (text, style) => (/pre|break-spaces/.test(style.whiteSpace) ? text.replace(/[\t\n]/g, " ") : text.replace(/[ \t\n]+/g, " "));

function drawTexts(sheet, node, parent, style, decoration) {
  if (!node.data.trim()) return;
  const upright = style.writingMode === "horizontal-tb", size = parseFloat(style.fontSize), { scale } = sheet;
  const font = { size: size * scale, weight: style.fontWeight, style: style.fontStyle, css: style.fontFamily }, { ascent, descent } = measured("x", { ...font, size });
  const look = { ...font, spacing: (parseFloat(style.letterSpacing) || 0) * scale, tabular: style.fontVariantNumeric.includes("tabular"), ...paint(sheet, "fill", style.color) };
  const most = cutAt(parent, style);
  for (const { text, rect } of linesOf(node, upright)) {
    let shown = spaced(text, style);
    if (!/pre|break-spaces/.test(style.whiteSpace)) shown = shown.trimStart() === shown ? shown : ledBy(shown, rect, node);
    shown = (CASES[style.textTransform] ?? ((same) => same))(shown);
    if (!upright) {
      const turned = /matrix\(-1/.test(getComputedStyle(turnedBy(parent)).transform), x = rect.left + (rect.right - rect.left + (turned ? ascent - descent : descent - ascent)) / 2;
      putText(sheet, X(sheet, x), Y(sheet, turned ? rect.bottom : rect.top), shown, { ...look, turn: turned ? -90 : 90 });
      continue;
    }
    const above = (rect.bottom - rect.top - ascent - descent) / 2, base = Y(sheet, rect.top + above + ascent);
    if (most !== null && rect.right > most + 1) shown = fitting(shown, most - rect.left, { ...font, size });
    putText(sheet, X(sheet, rect.left), base, shown, look);
    if (decoration) decorate(sheet, X(sheet, rect.left), X(sheet, Math.min(rect.right, most ?? rect.right)), base, decoration, size * scale);
  }
}

// A collapsed space at the beginning of a line takes no room, one after another element does.
function ledBy(text, rect, node) {
  const range = document.createRange(), first = node.data.search(/\S/);
  range.setStart(node, first);
  range.setEnd(node, first + 1);
  const box = range.getBoundingClientRect();
  return Math.abs(box.left - rect.left) < 1 ? text.trimStart() : text;
}

function turnedBy(node) {
  let at = node;
  while (at.parentElement && getComputedStyle(at).transform === "none" && getComputedStyle(at.parentElement).writingMode !== "horizontal-tb") at = at.parentElement;
  return at;
}

// Where a text is cut off with dots: the right edge of the box that does it; null where none does.
function cutAt(node, style) {
  for (let at = node, own = style, up = 0; at && up < 4; at = at.parentElement, own = at && getComputedStyle(at), up++) {
    if (own.textOverflow === "ellipsis" && own.overflowX !== "visible" && at.scrollWidth > at.clientWidth + 1) return at.getBoundingClientRect().right - parseFloat(own.paddingRight);
    if (own.display === "block") break;
  }
  return null;
}

function fitting(text, width, font) {
  let shown = text;
  while (shown && measured(`${shown}…`, font).width > width) shown = shown.slice(0, -1);
  return shown && `${shown.trimEnd()}…`;
}

function decorate(sheet, from, to, base, { line, how, colour, offset }, size) {
  const thick = Math.max(1, size / 16), y = line.includes("line-through") ? base - 0.28 * size : base + (offset || 0.12 * size) + thick / 2, stroke = paint(sheet, "stroke", colour);
  if (how === "wavy") {
    let d = `M${from} ${y}`;
    for (let x = from, up = 1; x + 3 <= to; x += 3, up = -up) d += `q1.5 ${-2.4 * up} 3 0`;
    put(sheet, "path", { d, fill: "none", ...stroke, "stroke-width": 1 });
  } else put(sheet, "line", { x1: from, y1: y, x2: to, y2: y, ...stroke, "stroke-width": thick, "stroke-dasharray": { dotted: "1 2", dashed: "4 3" }[how] });
}
