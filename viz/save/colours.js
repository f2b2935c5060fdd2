// The colours of a picture: read as the browser has them, and changed into those of the other theme.

const NEAR = 30; // how far a colour may be from one of a scale, in the sum of its three parts
const GREY = 14; // parts of a grey differ by no more

let probe = null;
const read = new Map();

// Red, green, blue from 0 to 255 and opacity from 0 to 1 of any colour that CSS knows; null for none.
export function parsed(css) {
  if (!css || css === "none" || css === "transparent") return null;
  if (read.has(css)) return read.get(css);
  const parts = /^#[0-9a-f]{6}$/i.test(css) ? [1, 3, 5].map((at) => parseInt(css.slice(at, at + 2), 16)) : /^rgba?\(([^)]*)\)$/.exec(css)?.[1].split(/[\s,/]+/).map(Number);
  let found = parts?.every(Number.isFinite) ? [parts[0], parts[1], parts[2], parts[3] ?? 1] : null;
  if (!found) {
    probe ||= Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
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
const isGrey = (colour) => Math.max(...colour.slice(0, 3)) - Math.min(...colour.slice(0, 3)) <= GREY;
const bright = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;

// What turns a colour of one theme into that of another, as [r, g, b, a]. `from` and `to` hold a theme's palette and its scales, each
// in the same order, that of differences last. `data`: the colour is rather one of a scale than one that a thing is known by;
// "signed": one of that of differences, whose half above 0 looks like another scale. `isLoss` of the result: whether a colour is of its
// half below 0.
export function recolouring(from, to) {
  if (from === to) return Object.assign((colour) => colour, { isLoss: () => false });
  const all = (theme) => ({ palette: theme.palette.map(parsed), scales: theme.scales.map((scale) => scale.map(parsed)) });
  const here = all(from), there = all(to), known = new Map(), last = here.scales.length - 1;
  const named = (colour) => there.palette[here.palette.findIndex((each) => apart(each, colour) === 0)];
  const nearest = (colour, signed = false) => {
    let best = null, least = NEAR;
    here.scales.forEach((scale, k) => scale.forEach((each, i) => {
      const far = apart(each, colour);
      if (far < least && (!signed || k === last)) { least = far; best = [k, i]; }
    }));
    return best;
  };
  const scaled = (colour, signed) => { const at = nearest(colour, signed); return at && there.scales[at[0]][at[1]]; };
  const grey = (colour) => {
    if (!isGrey(colour)) return null;
    const [page, ink] = [here.palette[0], here.palette[2]].map(bright), share = Math.max(0, Math.min(1, (bright(colour) - page) / (ink - page)));
    return there.palette[0].map((part, n) => part + (there.palette[2][n] - part) * share);
  };
  const change = (colour, data = false) => {
    const key = `${colour.slice(0, 3)} ${data}`;
    const first = data && !isGrey(colour) ? [scaled(colour, data === "signed"), named(colour)] : [named(colour), scaled(colour, data === "signed")]; // the grey of what cannot be compared is of no scale
    if (!known.has(key)) known.set(key, first.find(Boolean) ?? grey(colour) ?? colour);
    return [...known.get(key).slice(0, 3), colour[3]];
  };
  const isLoss = (colour) => {
    const at = colour && apart(colour, here.palette[0]) > NEAR && nearest(colour);
    return Boolean(at) && at[0] === last && at[1] < (here.scales[last].length - 1) / 2;
  };
  return Object.assign(change, { isLoss });
}
