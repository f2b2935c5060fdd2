// How the labels of a map on a canvas fit, as those of a chart do: its margins and the size of its cells, which labels are
// shown, and the drawing of them. Lengths are in pixels.

import { across, down } from "./chart_labels_parts.js";

const LEFT_MOST = 116; // px that the labels of the rows may take
const TOP_MOST = 72; // px that those of the columns may take

let ruler = null;

// The lengths of texts in a font.
export function lengthsOf(texts, font) {
  ruler ||= document.createElement("canvas").getContext("2d");
  ruler.font = font;
  return texts.map((text) => ruler.measureText(text).width);
}

// A map in `width` pixels, its cells from `least` to `most`: the labels of `rows` stand left of it, those of `columns` above.
export function mapLayout({ width, least, most, font, rows, columns }) {
  const left = Math.ceil(Math.min(LEFT_MOST, Math.max(0, ...rows) + font)), longest = Math.max(0, ...columns);
  const at = (size) => {
    const x = across(size, longest, font), lean = (-x.angle * Math.PI) / 180;
    const over = columns.map((each, i) => Math.cos(lean) * Math.min(each, TOP_MOST) + font - (columns.length - i - 0.5) * size);
    const top = x.angle === 0 ? 1.8 * font : Math.min(TOP_MOST, Math.sin(lean) * longest + font);
    return { left, top: Math.ceil(top), right: x.angle === 0 ? 2 : Math.ceil(Math.max(2, ...over)), size, angle: x.angle, across: x.every, down: down(size, font).every };
  };
  for (let size = most; size > least; size--) {
    const found = at(size);
    if (left + columns.length * size + found.right <= width) return found;
  }
  return at(least);
}

// Which of `count` labels are shown where every so many has room: those that matter first, by their order, then the others.
export function shownLabels(count, every, first = []) {
  const shown = [];
  const take = (n) => { if (shown.every((other) => Math.abs(other - n) >= every)) shown.push(n); };
  first.forEach(take);
  for (let n = 0; n < count; n++) if (n % every === 0) take(n);
  return shown.sort((a, b) => a - b);
}

// Draws the labels of a layout's map, whose cells may be `high` where they are not as high as wide; `strong` says which rows and columns stand out, the most important first.
// With a pen that remembers, all of them are remembered, whole: `whole` has the `queries` and `keys` that may be cut here.
export function drawLabels(x, layout, given) {
  x.instead("labels", [layout, given], () => drawFitting(x, layout, given));
}

function drawFitting(x, layout, { queries, keys, font, family, strong, colour }) {
  const { left, top, size, angle, high = size } = layout, style = (on) => { x.font = `${on ? "650 " : ""}${font}px ${family}`; x.fillStyle = colour(on ? "ink" : "ink2"); };
  x.textBaseline = "middle";
  x.textAlign = "right";
  for (const i of shownLabels(queries.length, layout.down, strong.rows)) {
    style(strong.rows.includes(i));
    x.fillText(queries[i], left - 5, top + (i + 0.5) * high, left - 6);
  }
  for (const j of shownLabels(keys.length, layout.across, strong.columns)) {
    style(strong.columns.includes(j));
    x.save();
    x.translate(left + (j + 0.5) * size, top - 5);
    x.rotate((angle * Math.PI) / 180);
    x.textAlign = angle === 0 ? "center" : "left";
    x.fillText(keys[j], 0, angle === 0 ? -3 : 0, angle === 0 ? size * layout.across : TOP_MOST);
    x.restore();
  }
}
