// Parses the colours of a picture and changes them into those of the other theme.

const MAX_DISTANCE = 30; // largest distance of a colour to a colour of a scale, summed over red, green and blue
const GREY_RANGE = 14; // largest difference between red, green and blue in a grey

let probe = null;
const cache = new Map();

// Returns red, green and blue (0 to 255) and the opacity (0 to 1) of any CSS colour, or null for a transparent one.
export function parseColour(css) {
  if (!css || css === "none" || css === "transparent") return null;
  if (cache.has(css)) return cache.get(css);
  const parts = /^#[0-9a-f]{6}$/i.test(css) ? [1, 3, 5].map((start) => parseInt(css.slice(start, start + 2), 16)) : /^rgba?\(([^)]*)\)$/.exec(css)?.[1].split(/[\s,/]+/).map(Number);
  let colour = parts?.every(Number.isFinite) ? [parts[0], parts[1], parts[2], parts[3] ?? 1] : null;
  if (!colour) {
    probe ||= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = "#0000";
    probe.fillStyle = css;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
    colour = [r, g, b, a / 255];
  }
  if (colour[3] === 0) colour = null;
  cache.set(css, colour);
  return colour;
}

export const hex = ([r, g, b]) => `#${[r, g, b].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const distance = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
const isGrey = (colour) => Math.max(...colour.slice(0, 3)) - Math.min(...colour.slice(0, 3)) <= GREY_RANGE;
const brightness = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

// Returns a function that maps a colour [r, g, b, a] of one theme to the other theme. `from` and `to` contain a theme's palette and its
// scales in the same order, the scale of differences last. With `data`, a colour is looked up in the scales before the palette. With
// `data` "signed", only the scale of differences counts, because its positive half resembles another scale. The function's `isLoss`
// returns whether a colour is in the negative half of that scale.
export function recolourer(from, to) {
  if (from === to) return Object.assign((colour) => colour, { isLoss: () => false });
  const parseTheme = (theme) => ({ palette: theme.palette.map(parseColour), scales: theme.scales.map((scale) => scale.map(parseColour)) });
  const source = parseTheme(from), target = parseTheme(to), changes = new Map(), last = source.scales.length - 1;
  const paletteColour = (colour) => target.palette[source.palette.findIndex((each) => distance(each, colour) === 0)];
  const nearest = (colour, isSigned = false) => {
    let best = null, minDistance = MAX_DISTANCE;
    source.scales.forEach((scale, k) => scale.forEach((each, i) => {
      const d = distance(each, colour);
      if (d < minDistance && (!isSigned || k === last)) { minDistance = d; best = [k, i]; }
    }));
    return best;
  };
  const scaleColour = (colour, isSigned) => { const position = nearest(colour, isSigned); return position && target.scales[position[0]][position[1]]; };
  const grey = (colour) => {
    if (!isGrey(colour)) return null;
    const [page, ink] = [source.palette[0], source.palette[2]].map(brightness), share = Math.max(0, Math.min(1, (brightness(colour) - page) / (ink - page)));
    return target.palette[0].map((part, n) => part + (target.palette[2][n] - part) * share);
  };
  const change = (colour, data = false) => {
    const key = `${colour.slice(0, 3)} ${data}`;
    const candidates = data && !isGrey(colour) ? [scaleColour(colour, data === "signed"), paletteColour(colour)] : [paletteColour(colour), scaleColour(colour, data === "signed")]; // the grey of cells without a comparison is in no scale
    if (!changes.has(key)) changes.set(key, candidates.find(Boolean) ?? grey(colour) ?? colour);
    return [...changes.get(key).slice(0, 3), colour[3]];
  };
  const isLoss = (colour) => {
    const position = colour && distance(colour, source.palette[0]) > MAX_DISTANCE && nearest(colour);
    return Boolean(position) && position[0] === last && position[1] < (source.scales[last].length - 1) / 2;
  };
  return Object.assign(change, { isLoss });
}
