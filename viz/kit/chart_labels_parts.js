// Computes how the labels of a chart's cells fit. All lengths are in pixels.

const LINE_HEIGHT = 1.05; // relative to the font size
const LEANING = -60, UPRIGHT = -90, SIN = Math.sin(Math.PI / 3), COS = Math.cos(Math.PI / 3);
const MAX_SHARE = 0.45; // largest share of a chart's width or height that labels take
const SIZE_STEP = 0.5; // px between the font sizes tried
const MIN_SCALE = 0.8; // relative to the font size on the page: smaller text is not legible

// Returns the angle of the labels above or below cells of a width, and the interval `every` between two visible labels. Labels are
// flat if the longest fits, else leaning, else upright. If upright labels touch, some are omitted. `longest` is in pixels at this
// font size.
export function columnLabels(cell, longest, size) {
  if (longest + 0.6 * size <= cell) return { angle: 0, every: 1 };
  const every = (angle, line) => ({ angle, every: Math.max(1, Math.ceil(line / cell - 1e-9)) });
  const leaning = every(LEANING, (LINE_HEIGHT * size) / SIN), upright = every(UPRIGHT, LINE_HEIGHT * size);
  return leaning.every > 1 && upright.every === 1 ? upright : leaning;
}

// Returns the same for the labels of rows of a height.
export const rowLabels = (cell, size) => ({ angle: 0, every: Math.max(1, Math.ceil((LINE_HEIGHT * size) / cell - 1e-9)) });

// Returns the font size, the margins for the labels, and the angle and interval of each axis's labels. The size is the largest one up
// to `maxSize` that shows every label, at least 0.8 times `base`. If none does, the size is `base` and some labels are omitted.
// `x` and `y` hold the label widths at font size 1, in the order of the cells, and whether the labels are `above` the chart. They are
// null for an axis without labels to fit, whose margin scales with the font.
export function fitLabels({ width, height, base, maxSize, margin, x, y }) {
  for (let size = maxSize; size >= MIN_SCALE * base; size -= SIZE_STEP) {
    const fit = fitAt(size, { width, height, base, margin, x, y });
    if ((fit.x?.every ?? 1) === 1 && (fit.y?.every ?? 1) === 1) return fit;
  }
  return fitAt(base, { width, height, base, margin, x, y });
}

function fitAt(size, { width, height, base, margin, x, y }) {
  const scaledMargin = Object.fromEntries(Object.entries(margin).map(([side, px]) => [side, Math.round((px * size) / base)]));
  const { l, r, t, b } = scaledMargin, longest = (axis) => size * Math.max(0, ...axis.lengths);
  const fit = { size, margin: scaledMargin };
  if (y) scaledMargin.l = Math.round(Math.min(MAX_SHARE * width, longest(y) + 0.8 * size));
  if (x) {
    const count = x.lengths.length, cell = (width - scaledMargin.l - r) / count;
    fit.x = columnLabels(cell, longest(x), size);
    const leans = fit.x.angle === LEANING;
    const labelHeight = fit.x.angle === 0 ? 1.8 * size : (leans ? SIN : 1) * longest(x) + size;
    scaledMargin[x.above ? "t" : "b"] = Math.round(Math.min(MAX_SHARE * height, labelHeight));
    // a leaning label extends beyond the plot: to the right above it, to the left below it
    const overhangs = leans ? x.lengths.map((each, i) => COS * size * each + 0.7 * size - ((x.above ? count - 1 - i : i) + 0.5) * cell) : [0];
    const sideMargin = Math.round(Math.min(MAX_SHARE * width, Math.max(x.above ? 0 : scaledMargin.l, 0.4 * size, ...overhangs)));
    scaledMargin[x.above ? "r" : "l"] = x.above ? Math.max(sideMargin, y ? 6 : r) : Math.max(sideMargin, y ? 0 : l);
  }
  if (y) {
    const above = x?.above ? scaledMargin.t : t, below = x && !x.above ? scaledMargin.b : b;
    fit.y = rowLabels((height - above - below) / y.lengths.length, size);
  }
  return fit;
}
