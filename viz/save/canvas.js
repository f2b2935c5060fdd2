// Pictures on a canvas, drawn on a sheet from what its pen remembers; single pixels become rectangles.

import { across } from "../kit/chart_labels_parts.js";
import { parsed } from "./colours.js";
import { measured, paint, put, putText, reach, round } from "./sheet.js";

const FONT_CSS = /^(?:(italic|oblique)\s+)?(?:(\d+|bold|normal)\s+)?([\d.]+)px\s+(.+)$/;
const LEAST_FONT = 4; // px: labels of smaller cells overlap less than they could be read

const START = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", globalAlpha: 1, lineCap: "butt", dash: [] };

// Draws all that the pen of a canvas remembers, and what it has copied from others; `matrix` leads from its units to the sheet.
export function replay(sheet, canvas, matrix) {
  const calls = canvas.labDrawn;
  if (!calls) { pixels(sheet, canvas, [0, 0, canvas.width, canvas.height], matrix); return; }
  const data = calls.some(({ name, value }) => name === "fillStyle" && sheet.recolour.isLoss(parsed(value))) ? "signed" : true;
  let now = { ...START, matrix: new DOMMatrix() };
  const kept = [], path = [], home = new DOMMatrix(matrix);
  const place = () => home.multiply(now.matrix);
  const rect = ([x, y, width, height], paints) => {
    const at = place(), corner = at.transformPoint({ x, y }), end = at.transformPoint({ x: x + width, y: y + height });
    const [left, top] = [Math.min(corner.x, end.x), Math.min(corner.y, end.y)], grown = Math.hypot(at.a, at.b);
    const line = paints.stroke && paints.stroke !== "none" ? (paints["stroke-width"] *= grown) / 2 : 0;
    const [w, h] = [Math.abs(end.x - corner.x), Math.abs(end.y - corner.y)];
    if (paints.fill === "none" && !line) return;
    reach(sheet, left - line, top - line, left + w + line, top + h + line);
    put(sheet, "rect", { x: left, y: top, width: w, height: h, ...paints });
  };
  const filled = () => paint(sheet, "fill", now.fillStyle, { data, opacity: now.globalAlpha, ground: true });
  const stroked = () => ({ fill: "none", ...paint(sheet, "stroke", now.strokeStyle, { opacity: now.globalAlpha }), "stroke-width": now.lineWidth, "stroke-dasharray": now.dash.length ? now.dash.join(" ") : null });
  const point = (x, y) => { const at = place().transformPoint({ x, y }); reach(sheet, at.x, at.y, at.x, at.y); return `${round(at.x)} ${round(at.y)}`; };
  const drawPath = (paints) => { if (path.length) put(sheet, "path", { d: path.join(""), ...paints }); };
  const does = {
    setTransform: (args) => { now.matrix = args.length === 6 ? new DOMMatrix(args) : new DOMMatrix(); },
    translate: ([x, y]) => { now.matrix = now.matrix.translate(x, y); },
    rotate: ([angle]) => { now.matrix = now.matrix.rotate((angle * 180) / Math.PI); },
    scale: ([x, y = x]) => { now.matrix = now.matrix.scale(x, y); },
    save: () => kept.push({ ...now }),
    restore: () => { now = kept.pop() ?? now; },
    setLineDash: ([dash]) => { now.dash = dash; },
    fillRect: (args) => rect(args, { ...filled(), "shape-rendering": "crispEdges" }),
    strokeRect: (args) => rect(args, stroked()),
    beginPath: () => { path.length = 0; },
    closePath: () => path.push("Z"),
    moveTo: ([x, y]) => path.push(`M${point(x, y)}`),
    lineTo: ([x, y]) => path.push(`L${point(x, y)}`),
    quadraticCurveTo: ([a, b, x, y]) => path.push(`Q${point(a, b)} ${point(x, y)}`),
    bezierCurveTo: ([a, b, c, d, x, y]) => path.push(`C${point(a, b)} ${point(c, d)} ${point(x, y)}`),
    rect: ([x, y, w, h]) => path.push(`M${point(x, y)}L${point(x + w, y)}L${point(x + w, y + h)}L${point(x, y + h)}Z`),
    arc: ([x, y, r, from, to]) => { const turn = Math.min(2 * Math.PI - 1e-4, Math.abs(to - from)), end = from + turn, [p, q] = [point(x + r * Math.cos(from), y + r * Math.sin(from)), point(x + r * Math.cos(end), y + r * Math.sin(end))], size = round(r * Math.hypot(place().a, place().b)); path.push(`${path.length ? "L" : "M"}${p}A${size} ${size} 0 ${turn > Math.PI ? 1 : 0} 1 ${q}`); },
    stroke: () => { const paints = stroked(); paints["stroke-width"] *= Math.hypot(place().a, place().b); drawPath(paints); },
    fill: () => drawPath(paint(sheet, "fill", now.fillStyle, { data, opacity: now.globalAlpha })),
    fillText: ([text, x, y, most]) => write(sheet, String(text), x, y, most, now, place()),
    drawImage: (args) => drawCopy(sheet, args, place()),
    labels: (args) => mapLabels(sheet, args[0], args[1], place()),
  };
  for (const { name, args, value } of calls) {
    if (args) does[name]?.(args);
    else if (name in START) now[name] = value;
  }
}

function penFont(css) {
  const [, style = "normal", weight = 400, size = 10, family = "sans-serif"] = FONT_CSS.exec(css) || [];
  return { style, weight: weight === "normal" ? 400 : weight, size: Number(size), css: family };
}

function write(sheet, text, x, y, most, now, at) {
  const font = penFont(now.font), { width, ascent, descent } = measured(text, font), shrunk = most && width > most ? most / width : 1;
  const down = { middle: (ascent - descent) / 2, top: ascent, hanging: 0.8 * ascent, bottom: -descent }[now.textBaseline] ?? 0;
  const place = at.transformPoint({ x, y: y + down }), turn = (Math.atan2(at.b, at.a) * 180) / Math.PI;
  const anchor = { center: "middle", right: "end", end: "end" }[now.textAlign] ?? "start";
  putText(sheet, place.x, place.y, text, { ...font, size: font.size * Math.hypot(at.a, at.b) * shrunk, turn, anchor, ...paint(sheet, "fill", now.fillStyle, { opacity: now.globalAlpha }) });
}

function drawCopy(sheet, args, at) {
  const [source] = args, [sx, sy, sw, sh] = args.length > 5 ? args.slice(1, 5) : [0, 0, source.width, source.height];
  const [x, y, w = sw, h = sh] = args.length > 5 ? args.slice(5) : args.slice(1);
  const own = at.translate(x, y).scale(w / sw, h / sh);
  if (source.labDrawn) replay(sheet, source, own.translate(-sx, -sy));
  else pixels(sheet, source, [sx, sy, sw, sh], own);
}

// The pixels of a part of a canvas as rectangles: one path for all of a colour.
function pixels(sheet, canvas, [sx, sy, sw, sh], matrix) {
  if (!sw || !sh || sw * sh > 4e5) return;
  const { data } = canvas.getContext("2d").getImageData(sx, sy, sw, sh), at = new DOMMatrix(matrix), found = new Map();
  const corner = (x, y) => at.transformPoint({ x, y });
  for (let i = 0; i < sh; i++) for (let j = 0; j < sw;) {
    const k = (i * sw + j) * 4, same = (n) => [0, 1, 2, 3].every((part) => data[(i * sw + n) * 4 + part] === data[k + part]);
    let end = j + 1;
    while (end < sw && same(end)) end++;
    if (data[k + 3]) {
      const css = `rgba(${data[k]}, ${data[k + 1]}, ${data[k + 2]}, ${data[k + 3] / 255})`, from = corner(j, i), to = corner(end, i + 1);
      if (!found.has(css)) found.set(css, []);
      found.get(css).push(`M${round(from.x)} ${round(from.y)}H${round(to.x)}V${round(to.y)}H${round(from.x)}Z`);
    }
    j = end;
  }
  const from = corner(0, 0), to = corner(sw, sh);
  reach(sheet, from.x, from.y, to.x, to.y);
  for (const [css, parts] of found) {
    const fill = paint(sheet, "fill", css, { data: true, ground: true });
    if (fill.fill !== "none") put(sheet, "path", { d: parts.join(""), ...fill, "shape-rendering": "crispEdges" });
  }
}

// All labels of a map, whole, whatever the screen had room for.
function mapLabels(sheet, { left, top, size }, { whole, font, family, strong, colour }, at) {
  const pitch = size * Math.hypot(at.a, at.b), height = Math.max(LEAST_FONT, Math.min(font, 0.92 * pitch)), on = (weight) => ({ size: height, weight, css: family });
  const fill = (marked) => paint(sheet, "fill", colour(marked ? "ink" : "ink2"));
  whole.queries.forEach((text, i) => {
    const marked = strong.rows.includes(i), place = at.transformPoint({ x: left, y: top + (i + 0.5) * size });
    putText(sheet, place.x - 5, place.y + 0.34 * height, text, { ...on(marked ? 650 : 400), anchor: "end", ...fill(marked) });
  });
  const longest = Math.max(...whole.keys.map((text) => measured(text, on(650)).width)), { angle } = across(pitch, longest, height);
  whole.keys.forEach((text, j) => {
    const marked = strong.columns.includes(j), place = at.transformPoint({ x: left + (j + 0.5) * size, y: top });
    const lean = angle === -90 ? 0.34 * height : angle ? 0.2 * height : 0;
    putText(sheet, place.x + lean, place.y - (angle ? 4 : 7), text, { ...on(marked ? 650 : 400), turn: angle, anchor: angle ? "start" : "middle", ...fill(marked) });
  });
}
