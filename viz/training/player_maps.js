// One head's map at a step, and every head's as thumbnails, on canvases that are drawn anew at each step.

import { boxOf, density, element, nth, onKeys, pointerPosition, zoomOf } from "../kit/mount.js";
import { drawLabels, textWidths, mapLayout, mapPoints } from "../kit/map_labels.js";
import { pen, markPicture } from "../kit/pen.js";

const LEVELS = 255, GAP = 3, NUMBERS = 22; // px between thumbnails, and for the numbers beside them

const colourOf = (root, name) => getComputedStyle(root).getPropertyValue(`--lab-${name}`);
const sizeOf = ({ shape: [rows, columns] }) => rows * columns;
const startOf = (grid, at, layer, head) => ((at * grid.layers + layer) * grid.heads + head) * sizeOf(grid);

// The weight of a cell at a step; `head` null: the mean over the heads of the layer.
export function weightOf(grid, at, { layer, head }, cell) {
  if (head !== null) return grid.raw[startOf(grid, at, layer - 1, head - 1) + cell] / LEVELS;
  let sum = 0;
  for (let n = 0; n < grid.heads; n++) sum += grid.raw[startOf(grid, at, layer - 1, n) + cell];
  return sum / grid.heads / LEVELS;
}

function topped(title, told, kind) {
  const top = element("div", "top"), hue = element("i", "hue"), head = element("h3", "", title);
  hue.style.background = `var(--lab-${kind})`;
  top.append(hue, head, element("span", "", told));
  return top;
}

export function oneMap(place, grid, chosen, data, root) {
  const box = element("div", "map"), canvas = element("canvas"), told = element("p", "told"), [rows, columns] = grid.shape;
  const family = getComputedStyle(root).fontFamily, font = data.large ? 14 : 12;
  const name = `layer ${chosen.layer}, ${chosen.head === null ? "mean over heads" : `head ${chosen.head}`}`;
  box.append(topped(grid.name, name, grid.kind), canvas, told);
  place.append(box);
  canvas.tabIndex = 0;
  canvas.dataset.focus = `map ${grid.kind}`;
  canvas.setAttribute("role", "application");
  told.setAttribute("aria-live", "polite");
  let layout = null, at = 0, marked = null, wide = 0;

  function settle() {
    wide = box.clientWidth || 280;
    const lengths = (texts) => textWidths(texts, `650 ${font}px ${family}`);
    const given = { width: wide, font, rows: lengths(grid.queries), columns: lengths(grid.keys) };
    const height = data.large ? Math.max(160, (innerHeight / zoomOf(root)) - boxOf(box).top - 60) : 330;
    layout = mapLayout({ ...given, height, minSize: 4, maxSize: data.large ? 60 : 30 });
    const high = layout.top + rows * layout.size + 2, ratio = density(root);
    Object.assign(canvas, { width: Math.round(wide * ratio), height: Math.round(high * ratio) });
    Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
    canvas.labPoints = mapPoints(canvas, layout, rows, columns, { cell: `${grid.kind} cell`, row: `${grid.kind} row`, column: `${grid.kind} column` }, wide);
  }

  function draw(step) {
    at = step;
    if (!layout) return;
    const x = pen(canvas), ratio = canvas.width / wide, { left, top, size } = layout;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
      x.fillStyle = grid.scale[Math.round(weightOf(grid, at, chosen, i * columns + j) * (grid.scale.length - 1))];
      x.fillRect(left + j * size, top + i * size, size + 0.3, size + 0.3);
    }
    x.strokeStyle = colourOf(root, "border");
    x.lineWidth = 1;
    x.strokeRect(left - 0.5, top - 0.5, columns * size + 1, rows * size + 1);
    drawLabels(x, layout, { queries: grid.queries, keys: grid.keys, font, family, strong: { rows: marked ? [marked[0]] : [], columns: marked ? [marked[1]] : [] }, colour: (of) => colourOf(root, of) });
    if (marked) {
      x.strokeStyle = colourOf(root, "ink");
      x.lineWidth = 2;
      x.strokeRect(left + marked[1] * size, top + marked[0] * size, size, size);
    }
    told.textContent = marked ? `“${nth(grid.queries, marked[0])}” on “${nth(grid.keys, marked[1])}”: ${weightOf(grid, at, chosen, marked[0] * columns + marked[1]).toFixed(2)}` : "";
    canvas.setAttribute("aria-label", `${grid.name}, ${name}, step ${data.steps[at]}: ${rows} rows by ${columns} columns. Arrow keys go from cell to cell.`);
  }

  const point = (event) => {
    const [x, y] = pointerPosition(event, canvas), j = Math.floor((x - layout.left) / layout.size), i = Math.floor((y - layout.top) / layout.size);
    mark(i >= 0 && i < rows && j >= 0 && j < columns ? [i, j] : null);
  };
  const mark = (cell) => { marked = cell; draw(at); };
  canvas.onmousemove = point;
  canvas.onmouseleave = () => mark(null);
  canvas.onblur = () => mark(null);
  onKeys(canvas, (key, arrow) => {
    if (!arrow) return false;
    mark(marked ? [Math.max(0, Math.min(rows - 1, marked[0] + arrow[0])), Math.max(0, Math.min(columns - 1, marked[1] + arrow[1]))] : [0, 0]);
    return true;
  });
  return { settle, draw };
}

export function everyHead(place, grid, chosen, data, root, choose) {
  const box = markPicture(element("div", "site"), `Every head, ${grid.name.toLowerCase()}`, { colours: grid.scale, low: 0, high: 1 }), canvas = element("canvas"), [rows, columns] = grid.shape;
  box.append(topped(grid.name, `${grid.layers} layers by ${grid.heads} heads`, grid.kind), canvas);
  place.append(box);
  canvas.tabIndex = 0;
  canvas.dataset.focus = `grid ${grid.kind}`;
  canvas.setAttribute("role", "application");
  const source = element("canvas"), inks = grid.scale.map((colour) => [1, 3, 5].map((n) => parseInt(colour.slice(n, n + 2), 16)));
  Object.assign(source, { width: columns * grid.heads, height: rows * grid.layers });
  let tile = 20, at = 0, over = null, wide = 0;

  function settle() {
    wide = box.clientWidth || 280;
    const height = data.large ? Math.max(200, innerHeight / zoomOf(root) - boxOf(box).top - 40) : Infinity;
    tile = Math.max(8, Math.min((wide - NUMBERS) / grid.heads, data.large ? (height - NUMBERS) / grid.layers : data.grids.length === 1 ? 76 : 52));
    const ratio = density(root), high = NUMBERS + tile * grid.layers;
    Object.assign(canvas, { width: Math.round(wide * ratio), height: Math.round(high * ratio) });
    Object.assign(canvas.style, { width: `${wide}px`, height: `${high}px` });
  }

  function filled() { // all heads of the step, a pixel a weight
    const y = source.getContext("2d"), image = y.createImageData(source.width, source.height), last = inks.length - 1;
    for (let layer = 0; layer < grid.layers; layer++) for (let head = 0; head < grid.heads; head++) {
      const start = startOf(grid, at, layer, head);
      for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) {
        const ink = inks[Math.round((grid.raw[start + i * columns + j] / LEVELS) * last)], to = 4 * ((layer * rows + i) * source.width + head * columns + j);
        image.data[to] = ink[0];
        image.data[to + 1] = ink[1];
        image.data[to + 2] = ink[2];
        image.data[to + 3] = LEVELS;
      }
    }
    y.putImageData(image, 0, 0);
  }

  function draw(step) {
    at = step;
    filled();
    const x = pen(canvas), ratio = canvas.width / (wide || 1), size = tile - GAP;
    x.setTransform(ratio, 0, 0, ratio, 0, 0);
    x.clearRect(0, 0, canvas.width, canvas.height);
    x.imageSmoothingEnabled = false;
    x.font = `${data.large ? 14 : 12}px ${getComputedStyle(root).fontFamily}`;
    x.fillStyle = colourOf(root, "ink2");
    x.textBaseline = "middle";
    x.textAlign = "center";
    for (let head = 0; head < grid.heads; head++) x.fillText(head + 1, NUMBERS + (head + 0.5) * tile, NUMBERS / 2);
    x.textAlign = "left";
    for (let layer = 0; layer < grid.layers; layer++) {
      x.fillStyle = colourOf(root, "ink2");
      x.fillText(`L${layer + 1}`, 0, NUMBERS + (layer + 0.5) * tile);
      for (let head = 0; head < grid.heads; head++) {
        const left = NUMBERS + head * tile, top = NUMBERS + layer * tile, on = layer === chosen.layer - 1 && [null, head + 1].includes(chosen.head), pointed = over?.[0] === layer && over[1] === head;
        x.drawImage(source, head * columns, layer * rows, columns, rows, left, top, size, size);
        x.strokeStyle = colourOf(root, on || pointed ? "ink" : "line");
        x.lineWidth = on ? 2.5 : pointed ? 1.5 : 1;
        x.strokeRect(left + 0.5, top + 0.5, size - 1, size - 1);
      }
    }
    canvas.setAttribute("aria-label", `${grid.name}: every head at step ${data.steps[at]}${over ? `, layer ${over[0] + 1}, head ${over[1] + 1}` : ""}. Arrow keys preview a head, Enter chooses it.`);
  }

  const hit = (event) => {
    const [x, y] = pointerPosition(event, canvas), head = Math.floor((x - NUMBERS) / tile), layer = Math.floor((y - NUMBERS) / tile);
    return layer >= 0 && layer < grid.layers && head >= 0 && head < grid.heads ? [layer, head] : null;
  };
  const look = (to) => { if (String(to) !== String(over)) { over = to; draw(at); } };
  canvas.onmousemove = (event) => look(hit(event));
  canvas.onmouseleave = () => look(null);
  canvas.onblur = () => look(null);
  canvas.onclick = (event) => { const found = hit(event); if (found) choose(found[0] + 1, found[1] + 1); };
  onKeys(canvas, (key, arrow) => {
    const from = over ?? [chosen.layer - 1, (chosen.head ?? 1) - 1];
    if (key === "Enter" || key === " ") choose(from[0] + 1, from[1] + 1);
    else if (arrow) look([Math.max(0, Math.min(grid.layers - 1, from[0] + arrow[0])), Math.max(0, Math.min(grid.heads - 1, from[1] + arrow[1]))]);
    else return false;
    return true;
  });
  return { settle, draw };
}
