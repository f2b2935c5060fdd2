// One head's map at a step, and every head's as thumbnails, on canvases that are drawn anew at each step.

import { heatmap, tintOf } from "../kit/heatmap.js";
import { boxOf, density, element, onKeys, pointerPosition, zoomOf } from "../kit/mount.js";
import { LEVELS } from "../kit/patterns.js";
import { pen, markPicture } from "../kit/pen.js";

const GAP = 3, NUMBERS = 22, PAGE_HEIGHT = 330; // px between thumbnails, for the numbers next to them, and of the large map

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
  const box = element("div", "map"), [rows, columns] = grid.shape, isFree = Array.from({ length: rows }, () => new Uint8Array(columns).fill(1));
  const name = `layer ${chosen.layer}, ${chosen.head === null ? "mean over heads" : `head ${chosen.head}`}`, pattern = { ...grid, values: isFree.map(() => new Float32Array(columns)), allowed: isFree, most: null, digits: 2 };
  box.append(topped(grid.name, name, grid.kind));
  place.append(box);
  let map = null;

  function settle() {
    const width = box.clientWidth || 280, height = Math.max(160, innerHeight / zoomOf(root) - boxOf(box).top - 60);
    map?.node.remove();
    map = heatmap(pattern, {
      root, room: data.large ? { width, height, large: true } : { width, height: PAGE_HEIGHT }, colour: (of) => colourOf(root, of), tint: tintOf(pattern, grid.scale), focus: `map ${grid.kind}`,
      label: `${grid.name}, ${name}: ${rows} rows by ${columns} columns. Arrow keys go from cell to cell.`,
      points: { cell: `${grid.kind} cell`, row: `${grid.kind} row`, column: `${grid.kind} column` },
    });
    box.append(map.node);
  }

  function draw(at) {
    pattern.values.forEach((row, i) => { for (let j = 0; j < columns; j++) row[j] = weightOf(grid, at, chosen, i * columns + j); });
    map?.refresh();
  }

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
