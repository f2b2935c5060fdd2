// How the labels of a chart's cells fit: a pure matter of numbers, all in pixels.

const LINE_HIGH = 1.05; // of a font's size: what a line of it takes
const LEANING = -60, UPRIGHT = -90, SIN = Math.sin(Math.PI / 3), COS = Math.cos(Math.PI / 3);
const MOST_SHARE = 0.45; // of a chart's width or height may go to labels
const SIZE_STEP = 0.5; // from size to size
const LEAST_SIZE = 0.8; // of the size that the page gives: smaller is not legible

// The labels above or below cells of a width: flat where the longest fits, else leaning, else upright; where even those would
// touch, every so many. `longest` is in pixels at this font size.
export function across(cell, longest, size) {
  if (longest + 0.6 * size <= cell) return { angle: 0, every: 1 };
  const every = (angle, line) => ({ angle, every: Math.max(1, Math.ceil(line / cell - 1e-9)) });
  const leaning = every(LEANING, (LINE_HIGH * size) / SIN), upright = every(UPRIGHT, LINE_HIGH * size);
  return leaning.every > 1 && upright.every === 1 ? upright : leaning;
}

// The labels beside rows of a height.
export const down = (cell, size) => ({ angle: 0, every: Math.max(1, Math.ceil((LINE_HIGH * size) / cell - 1e-9)) });

// The largest font size up to `most` at which every label is shown, a little under `base` if need be, else `base` with some left
// out; the margins that the labels need, and the labels of each axis. `x` and `y` hold an axis's lengths of labels at font size 1, in the order of its
// cells, and whether they stand `above`; or null, where it has none to fit, and the margin of that side is `margin`'s, grown.
export function fitLabels({ width, height, base, most, margin, x, y }) {
  for (let size = most; size >= LEAST_SIZE * base; size -= SIZE_STEP) {
    const fit = fitAt(size, { width, height, base, margin, x, y });
    if ((fit.x?.every ?? 1) === 1 && (fit.y?.every ?? 1) === 1) return fit;
  }
  return fitAt(base, { width, height, base, margin, x, y });
}

function fitAt(size, { width, height, base, margin, x, y }) {
  const grown = Object.fromEntries(Object.entries(margin).map(([side, px]) => [side, Math.round((px * size) / base)]));
  const { l, r, t, b } = grown, longest = (axis) => size * Math.max(0, ...axis.lengths);
  const fit = { size, margin: grown };
  if (y) grown.l = Math.round(Math.min(MOST_SHARE * width, longest(y) + 0.8 * size));
  if (x) {
    const count = x.lengths.length, cell = (width - grown.l - r) / count;
    fit.x = across(cell, longest(x), size);
    const leans = fit.x.angle === LEANING;
    const high = fit.x.angle === 0 ? 1.8 * size : (leans ? SIN : 1) * longest(x) + size;
    grown[x.above ? "t" : "b"] = Math.round(Math.min(MOST_SHARE * height, high));
    // a leaning label stands out of the plot: to the right above it, to the left below
    const over = leans ? x.lengths.map((each, i) => COS * size * each + 0.7 * size - ((x.above ? count - 1 - i : i) + 0.5) * cell) : [0];
    const out = Math.round(Math.min(MOST_SHARE * width, Math.max(x.above ? 0 : grown.l, 0.4 * size, ...over)));
    grown[x.above ? "r" : "l"] = x.above ? Math.max(out, y ? 6 : r) : Math.max(out, y ? 0 : l);
  }
  if (y) {
    const above = x?.above ? grown.t : t, below = x && !x.above ? grown.b : b;
    fit.y = down((height - above - below) / y.lengths.length, size);
  }
  return fit;
}
