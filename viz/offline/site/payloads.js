// The payloads of the components from a trace, as timeline.py, candidates.py, head_map.py and beam_tree.py build them from an
// analysis. `base` holds what does not depend on the sentence; Python writes it. Layers and heads count from 0; head null: mean.

import { threeDigits } from "../../kit/mount.js";
import { stepLinks } from "./links.js";

const PREDICTS = " → ";
const NEAR_TIE_RATIO = 1.2;
const OFF = " (switched off)"; // behind the name of a head whose output is zeros
const CANDIDATES = 3; // in the card of a row
const LEVELS = 255; // of a thumbnail

/** Returns one map of a trace: rows of weights and of the mask (0 or 1), and the labels of both axes. */
export function mapOf(trace, kind, layer, head) {
  const { shape: [heads, rows, columns], weights, allowed } = trace.attention[`${kind} ${layer}`];
  const chosen = head === null ? Array.from({ length: heads }, (_, n) => n) : [head];
  const values = new Float32Array(rows * columns);
  const mask = new Uint8Array(rows * columns);
  for (const each of chosen) {
    const start = each * rows * columns;
    for (let n = 0; n < values.length; n += 1) {
      values[n] += weights[start + n] / chosen.length;
      mask[n] |= allowed[start + n];
    }
  }
  return { values, allowed: mask, ...axesOf(trace, kind), shape: [rows, columns] };
}

function axesOf(trace, kind) {
  const inputs = inputsOf(trace);
  const queries = kind === "encoder" ? trace.source.labels : trace.target.labels.map((label, t) => inputs[t] + PREDICTS + label);
  return { queries, keys: kind === "decoder" ? inputs : trace.source.labels };
}

const inputsOf = ({ start, target }) => [start, ...target.labels.slice(0, -1)];
const rowsOf = ({ values, shape: [rows, columns] }) => Array.from({ length: rows }, (_, t) => [...values.subarray(t * columns, (t + 1) * columns)]);
export const nameOf = (kind, layer, head) => `${kind} ${layer + 1}${head === null ? ", mean over heads" : `.${head + 1}`}`;
const probabilitiesOf = (trace) => trace.steps.map(({ chosen }) => chosen[3]);

/** Returns how many tokens two translations share at their beginning. */
export function shared(trace, other) {
  const [one, two] = [trace.target.ids, other.target.ids];
  const first = one.findIndex((id, t) => id !== two[t]);
  return first < 0 ? one.length : first;
}

export function timeline(trace, { base, colours, baseline = null, layer, head, name, how, off = {} }) {
  const [cross, decoder] = ["cross", "decoder"].map((kind) => mapOf(trace, kind, layer, head));
  const { source, target } = trace;
  const probability = probabilitiesOf(trace);
  const tokens = (axis) => axis.labels.map((t, n) => ({ t, w: axis.words[n] }));
  const mask = ({ allowed, shape: [rows, columns] }) => Array.from({ length: rows }, (_, t) => [...allowed.subarray(t * columns, (t + 1) * columns)]);
  const rival = ({ top, chosen }) => top.find((row) => row[1] !== chosen[1]);
  return {
    ...base,
    trace: name,
    step: 1,
    source: tokens(source).map((token) => ({ ...token, pad: token.t === "<pad>", rare: false, overlooked: false, note: "" })),
    target: tokens(target).map((token, t) => ({ ...token, unsure: probability[t] < base.bar })),
    words: target.glosses ?? [],
    inputs: [{ t: trace.start, w: 0 }, ...tokens(target).slice(0, -1).map(({ t, w }) => ({ t, w: w + 1 }))],
    given: 0,
    segments: target.segments,
    cross: rowsOf(cross),
    crossAllowed: mask(cross),
    above: base.above.replace("{}", nameOf("cross", layer, head)) + (off.cross ? OFF : ""),
    decoder: rowsOf(decoder),
    allowed: mask(decoder),
    probability,
    before: baseline && probabilitiesOf(baseline).slice(0, shared(trace, baseline)),
    score: threeDigits(probability.reduce((sum, p) => sum + Math.log(p), 0)),
    how,
    one: head === null ? "this layer" : "this head",
    where: { cross: nameOf("cross", layer, head), decoder: nameOf("decoder", layer, head) },
    crossTints: colours.tints,
    why: trace.links ?? stepLinks(trace),
    reasons: trace.steps.map((step) => [step.chosen[0], ...rival(step).slice(0, 2)]),
  };
}

export function candidates(trace, { base, name }) {
  const row = ([piece, id, logit, probability]) => [piece, id, logit, logit, probability, ""];
  return {
    ...base,
    trace: name,
    rows: trace.steps.map(({ top }) => top.map(row)),
    chosen: trace.steps.map(({ chosen }) => row(chosen)),
    words: trace.target.glosses ?? [],
    kept: trace.steps.map(() => base.size - 2),
    reads: inputsOf(trace),
    ties: trace.steps.map(({ top: [[, , , first], [, , , second]] }) => first < NEAR_TIE_RATIO * second),
  };
}

export function headMap(trace, { base, colours, baseline = null, kind, layer, head, name, step, off = {}, isOff = () => false }) {
  const shown = mapOf(trace, kind, layer, head);
  const pattern = { title: nameOf(kind, layer, head), kind, ...packed(shown), scale: kind, most: null, follows: kind !== "encoder" };
  const former = baseline && mapOf(baseline, kind, layer, head);
  const digits = former && String(former.shape) === String(shown.shape) ? former.allowed.join("") : pattern.allowed;
  if (digits !== pattern.allowed) pattern.former = digits;
  if (kind !== "encoder") pattern.candidates = trace.steps.map(({ top }) => top.slice(0, CANDIDATES).map(([piece, , , p]) => [plain(piece), p]));
  pattern.picture = base.pictures[kind];
  pattern.words = wordsOf(trace, kind);
  return {
    ...base,
    id: `${name} ${kind} ${colours.mode}`,
    grids: [grid(trace, kind, base.names[kind], colours.scales[kind], isOff)],
    pattern,
    chosen: { kind, layer: layer + 1, head: head === null ? null : head + 1, off: off[kind] ? OFF : "" },
    trace: name,
    step,
  };
}

export const plain = (piece) => piece.replace(/^·(?=.)/, "");

/** Returns the French words of a map's labels, as glosses.py names them. */
function wordsOf(trace, kind) {
  const written = trace.target.glosses ?? [];
  const read = ["", ...written.slice(0, -1)];
  return {
    queries: written.length && kind !== "encoder" ? read.map((word, t) => [word, written[t]]) : [],
    keys: written.length && kind === "decoder" ? read.map((word) => [word]) : [],
  };
}

function packed({ values, allowed, queries, keys, shape }) {
  return { queries, keys, shape, values: base64(new Uint8Array(values.buffer)), allowed: allowed.join("") };
}

function base64(bytes) {
  let text = "";
  for (let n = 0; n < bytes.length; n += 8192) text += String.fromCharCode(...bytes.subarray(n, n + 8192));
  return btoa(text);
}

/** Returns the thumbnails of all heads of a kind of attention, as thumbnails.py packs them. */
function grid(trace, kind, name, scale, isOff) {
  const sites = Object.entries(trace.attention).filter(([site]) => site.startsWith(`${kind} `)).map(([, site]) => site);
  const [heads, rows, columns] = sites[0].shape;
  const cells = new Uint8Array(rows * columns);
  for (const { allowed } of sites) allowed.forEach((each, n) => { cells[n % cells.length] |= each; });
  const open = [...cells.keys()].filter((n) => cells[n]);
  const bytes = new Uint8Array(sites.length * heads * open.length);
  let at = 0;
  for (const { weights } of sites) {
    for (let head = 0; head < heads; head += 1) for (const n of open) bytes[at++] = Math.min(weights[head * cells.length + n], 1) * LEVELS + 0.5;
  }
  const places = sites.flatMap((_, layer) => Array.from({ length: heads }, (__, head) => [layer + 1, head + 1]));
  const off = [...places.keys()].filter((n) => isOff(places[n][0] - 1, places[n][1] - 1));
  return { kind, name, off, layers: sites.length, heads, shape: [rows, columns], deflated: false, bytes: base64(bytes), allowed: cells.join(""), places, ...axesOf(trace, kind), scale };
}

export function tree(trace, base) {
  return { ...base, ...trace.tree };
}
