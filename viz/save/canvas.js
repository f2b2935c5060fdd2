// Draws a canvas on a sheet by repeating the calls that its pen recorded. Without a record, pixels become rectangles.

import { columnLabels } from "../kit/chart_labels_parts.js";
import { parseColour } from "./colours.js";
import { textMetrics, paintAttributes, addShape, drawText, extendBounds, round } from "./sheet.js";

const FONT_CSS = /^(?:(italic|oblique)\s+)?(?:(\d+|bold|normal)\s+)?([\d.]+)px\s+(.+)$/;
const MIN_LABEL_FONT = 4; // px: smaller text is not legible, even if labels of small cells overlap

const INITIAL_STATE = { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", globalAlpha: 1, lineCap: "butt", dash: [] };

// Draws a canvas from the calls that its pen recorded, including copies of other canvases. `matrix` maps its units to the sheet.
export function drawCanvas(sheet, canvas, matrix) {
  const calls = canvas.labDrawCalls;
  if (!calls) { drawPixels(sheet, canvas, [0, 0, canvas.width, canvas.height], matrix); return; }
  const data = calls.some(({ name, value }) => name === "fillStyle" && sheet.recolour.isLoss(parseColour(value))) ? "signed" : true;
  let state = { ...INITIAL_STATE, matrix: new DOMMatrix() };
  const savedStates = [], path = [], baseMatrix = new DOMMatrix(matrix);
  const currentMatrix = () => baseMatrix.multiply(state.matrix);
  const rect = ([x, y, width, height], paints) => {
    const m = currentMatrix(), corner = m.transformPoint({ x, y }), end = m.transformPoint({ x: x + width, y: y + height });
    const [left, top] = [Math.min(corner.x, end.x), Math.min(corner.y, end.y)], strokeScale = Math.hypot(m.a, m.b);
    const line = paints.stroke && paints.stroke !== "none" ? (paints["stroke-width"] *= strokeScale) / 2 : 0;
    const [w, h] = [Math.abs(end.x - corner.x), Math.abs(end.y - corner.y)];
    if (paints.fill === "none" && !line) return;
    extendBounds(sheet, left - line, top - line, left + w + line, top + h + line);
    addShape(sheet, "rect", { x: left, y: top, width: w, height: h, ...paints });
  };
  const fillPaint = () => paintAttributes(sheet, "fill", state.fillStyle, { data, opacity: state.globalAlpha, isBackground: true });
  const strokePaint = () => ({ fill: "none", ...paintAttributes(sheet, "stroke", state.strokeStyle, { opacity: state.globalAlpha }), "stroke-width": state.lineWidth, "stroke-dasharray": state.dash.length ? state.dash.join(" ") : null });
  const point = (x, y) => { const p = currentMatrix().transformPoint({ x, y }); extendBounds(sheet, p.x, p.y, p.x, p.y); return `${round(p.x)} ${round(p.y)}`; };
  const drawPath = (paints) => { if (path.length) addShape(sheet, "path", { d: path.join(""), ...paints }); };
  const operations = {
    setTransform: (args) => { state.matrix = args.length === 6 ? new DOMMatrix(args) : new DOMMatrix(); },
    translate: ([x, y]) => { state.matrix = state.matrix.translate(x, y); },
    rotate: ([angle]) => { state.matrix = state.matrix.rotate((angle * 180) / Math.PI); },
    scale: ([x, y = x]) => { state.matrix = state.matrix.scale(x, y); },
    save: () => savedStates.push({ ...state }),
    restore: () => { state = savedStates.pop() ?? state; },
    setLineDash: ([dash]) => { state.dash = dash; },
    fillRect: (args) => rect(args, { ...fillPaint(), "shape-rendering": "crispEdges" }),
    strokeRect: (args) => rect(args, strokePaint()),
    beginPath: () => { path.length = 0; },
    closePath: () => path.push("Z"),
    moveTo: ([x, y]) => path.push(`M${point(x, y)}`),
    lineTo: ([x, y]) => path.push(`L${point(x, y)}`),
    quadraticCurveTo: ([a, b, x, y]) => path.push(`Q${point(a, b)} ${point(x, y)}`),
    bezierCurveTo: ([a, b, c, d, x, y]) => path.push(`C${point(a, b)} ${point(c, d)} ${point(x, y)}`),
    rect: ([x, y, w, h]) => path.push(`M${point(x, y)}L${point(x + w, y)}L${point(x + w, y + h)}L${point(x, y + h)}Z`),
    arc: ([x, y, r, from, to]) => { const turn = Math.min(2 * Math.PI - 1e-4, Math.abs(to - from)), end = from + turn, [p, q] = [point(x + r * Math.cos(from), y + r * Math.sin(from)), point(x + r * Math.cos(end), y + r * Math.sin(end))], size = round(r * Math.hypot(currentMatrix().a, currentMatrix().b)); path.push(`${path.length ? "L" : "M"}${p}A${size} ${size} 0 ${turn > Math.PI ? 1 : 0} 1 ${q}`); },
    stroke: () => { const paints = strokePaint(); paints["stroke-width"] *= Math.hypot(currentMatrix().a, currentMatrix().b); drawPath(paints); },
    fill: () => drawPath(paintAttributes(sheet, "fill", state.fillStyle, { data, opacity: state.globalAlpha })),
    fillText: ([text, x, y, maxWidth]) => drawCanvasText(sheet, String(text), x, y, maxWidth, state, currentMatrix()),
    drawImage: (args) => drawCopy(sheet, args, currentMatrix()),
    labels: (args) => drawMapLabels(sheet, args[0], canvas.labHasAllLabels ? { ...args[1], queries: args[1].hiddenQueries ?? args[1].queries } : args[1], currentMatrix()),
  };
  for (const { name, args, value } of calls) {
    if (args) operations[name]?.(args);
    else if (name in INITIAL_STATE) state[name] = value;
  }
}

function parseFont(css) {
  const [, style = "normal", weight = 400, size = 10, family = "sans-serif"] = FONT_CSS.exec(css) || [];
  return { style, weight: weight === "normal" ? 400 : weight, size: Number(size), css: family };
}

function drawCanvasText(sheet, text, x, y, maxWidth, state, m) {
  const font = parseFont(state.font), { width, ascent, descent } = textMetrics(text, font), textScale = maxWidth && width > maxWidth ? maxWidth / width : 1;
  const baseline = { middle: (ascent - descent) / 2, top: ascent, hanging: 0.8 * ascent, bottom: -descent }[state.textBaseline] ?? 0;
  const place = m.transformPoint({ x, y: y + baseline }), turn = (Math.atan2(m.b, m.a) * 180) / Math.PI;
  const anchor = { center: "middle", right: "end", end: "end" }[state.textAlign] ?? "start";
  drawText(sheet, place.x, place.y, text, { ...font, size: font.size * Math.hypot(m.a, m.b) * textScale, turn, anchor, ...paintAttributes(sheet, "fill", state.fillStyle, { opacity: state.globalAlpha }) });
}

function drawCopy(sheet, args, m) {
  const [source] = args, [sx, sy, sw, sh] = args.length > 5 ? args.slice(1, 5) : [0, 0, source.width, source.height];
  const [x, y, w = sw, h = sh] = args.length > 5 ? args.slice(5) : args.slice(1);
  const sourceMatrix = m.translate(x, y).scale(w / sw, h / sh);
  if (source.labDrawCalls) drawCanvas(sheet, source, sourceMatrix.translate(-sx, -sy));
  else drawPixels(sheet, source, [sx, sy, sw, sh], sourceMatrix);
}

// Draws the pixels of a part of a canvas as rectangles, with one path per colour.
function drawPixels(sheet, canvas, [sx, sy, sw, sh], matrix) {
  if (!sw || !sh || sw * sh > 4e5) return;
  const { data } = canvas.getContext("2d").getImageData(sx, sy, sw, sh), m = new DOMMatrix(matrix), pathsByColour = new Map();
  const corner = (x, y) => m.transformPoint({ x, y });
  for (let i = 0; i < sh; i++) for (let j = 0; j < sw;) {
    const k = (i * sw + j) * 4, same = (n) => [0, 1, 2, 3].every((part) => data[(i * sw + n) * 4 + part] === data[k + part]);
    let end = j + 1;
    while (end < sw && same(end)) end++;
    if (data[k + 3]) {
      const css = `rgba(${data[k]}, ${data[k + 1]}, ${data[k + 2]}, ${data[k + 3] / 255})`, from = corner(j, i), to = corner(end, i + 1);
      if (!pathsByColour.has(css)) pathsByColour.set(css, []);
      pathsByColour.get(css).push(`M${round(from.x)} ${round(from.y)}H${round(to.x)}V${round(to.y)}H${round(from.x)}Z`);
    }
    j = end;
  }
  const from = corner(0, 0), to = corner(sw, sh);
  extendBounds(sheet, from.x, from.y, to.x, to.y);
  const meaning = [...pathsByColour.keys()].some((css) => sheet.recolour.isLoss(parseColour(css))) ? "signed" : true;
  for (const [css, parts] of pathsByColour) {
    const fill = paintAttributes(sheet, "fill", css, { data: meaning, isBackground: true });
    if (fill.fill !== "none") addShape(sheet, "path", { d: parts.join(""), ...fill, "shape-rendering": "crispEdges" });
  }
}

// Draws all labels of a map in full length, including those that the screen omits or shortens.
function drawMapLabels(sheet, { left, top, size, high }, { queries, keys, font, family, strong, colour }, m) {
  const scale = Math.hypot(m.a, m.b), pitch = size * scale, height = Math.max(MIN_LABEL_FONT, Math.min(font, 0.92 * pitch, 0.92 * high * scale)), fontOf = (weight) => ({ size: height, weight, css: family });
  const fill = (marked) => paintAttributes(sheet, "fill", colour(marked ? "ink" : "ink2"));
  queries.forEach((text, i) => {
    const marked = strong.rows.includes(i), place = m.transformPoint({ x: left, y: top + (i + 0.5) * high });
    drawText(sheet, place.x - 5, place.y + 0.34 * height, text, { ...fontOf(marked ? 650 : 400), anchor: "end", ...fill(marked) });
  });
  const longest = Math.max(...keys.map((text) => textMetrics(text, fontOf(650)).width)), { angle } = columnLabels(pitch, longest, height);
  keys.forEach((text, j) => {
    const marked = strong.columns.includes(j), place = m.transformPoint({ x: left + (j + 0.5) * size, y: top });
    const lean = angle === -90 ? 0.34 * height : angle ? 0.2 * height : 0;
    drawText(sheet, place.x + lean, place.y - (angle ? 4 : 7), text, { ...fontOf(marked ? 650 : 400), turn: angle, anchor: angle ? "start" : "middle", ...fill(marked) });
  });
}
