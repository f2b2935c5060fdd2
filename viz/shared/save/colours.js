// The colours of a picture: read as the browser has them, and changed into those of the other theme.

const NEAR = 30; // how far a colour may be from one of a scale, in the sum of its three parts
const GREY = 14; // parts of a grey differ by no more

let probe = null;
const read = new Map();

// Red, green, blue from 0 to 255 and opacity from 0 to 1 of any colour that CSS knows; null for none.
export function parsed(css) {
  if (!css || css === "none" || css === "transparent") return null;
  if (read.has(css)) return read.get(css);
  probe ||= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
  const parts = /^rgba?\(([^)]*)\)$/.exec(css)?.[1].split(/[\s,/]+/).map(Number);
  let found = parts?.every(Number.isFinite) ? [parts[0], parts[1], parts[2], parts[3] ?? 1] : null;
  if (!found) {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = "#0000";
    probe.fillStyle = css;
    probe.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = probe.getImageData(0, 0, 1, 1).data;
    found = [r, g, b, a / 255];
  }
  if (found[3] === 0) found = null;
  read.set(css, found);
  return found;
}

export const hex = ([r, g, b]) => `#${[r, g, b].map((part) => Math.round(part).toString(16).padStart(2, "0")).join("")}`;
const apart = (a, b) => Math.abs(a[0] - b[0]) + Math.abs(a[1] - b[1]) + Math.abs(a[2] - b[2]);
const bright = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

// What turns a colour of one theme into that of another, as [r, g, b, a]. `from` and `to` hold a theme's palette and its scales, each
// in the same order. `data`: the colour is rather one of a scale than one that a thing is known by.
export function recolouring(from, to) {
  if (from === to) return (colour) => colour;
  const all = (theme) => ({ palette: theme.palette.map(parsed), scales: theme.scales.map((scale) => scale.map(parsed)) });
  const here = all(from), there = all(to), known = new Map();
  const named = (colour) => there.palette[here.palette.findIndex((each) => apart(each, colour) === 0)];
  const scaled = (colour) => {
    let best = null, least = NEAR;
    here.scales.forEach((scale, k) => scale.forEach((each, i) => {
      const far = apart(each, colour);
      if (far < least) { least = far; best = there.scales[k][i]; }
    }));
    return best;
  };
  const grey = (colour) => {
    if (Math.max(...colour.slice(0, 3)) - Math.min(...colour.slice(0, 3)) > GREY) return null;
    const [page, ink] = [here.palette[0], here.palette[2]].map(bright), share = Math.max(0, Math.min(1, (bright(colour) - page) / (ink - page)));
    return there.palette[0].map((part, n) => part + (there.palette[2][n] - part) * share);
  };
  return (colour, data = false) => {
    const key = `${colour.slice(0, 3)} ${data}`;
    if (!known.has(key)) known.set(key, (data ? scaled(colour) || named(colour) : named(colour) || scaled(colour)) || grey(colour) || colour);
    return [...known.get(key).slice(0, 3), colour[3]];
  };
}
