// Greedy decoding and beam search over cached steps, as in model/decoding/search.py, and the trace of what was computed.

import { parseEdits } from "./edits.js";
import { logSoftmax, logSumExp } from "./tensors.js";
import { Cache, END, PAD, START } from "./transformer.js";

export const EXCLUDED = [PAD, START];
const PADS = 4; // after the source, where the padding mask is off
export const LIMIT = 128; // tokens of a source and of a target

/** A path: its tokens with their log-probabilities, its cache, and a record and a row of logits for each step. */
function emptyPath(model) {
  return { ids: [], logProbs: [], cache: Cache.empty(model.config.decoder_layers), records: [], rows: [] };
}

const sum = (numbers) => numbers.reduce((total, each) => total + each, 0);
const penalty = (length, alpha) => ((5 + length) / 6) ** alpha; // Wu et al. 2016, equation 14

/** Computes the next step of paths: sets `logits` and `next` of each, its logits and log-probabilities [V]. */
function advance(model, memory, paths, edits) {
  const rows = paths.map(({ ids, cache }) => ({ id: ids.at(-1) ?? START, position: ids.length, cache, record: {} }));
  if (edits.causal) {
    model.logits(model.decode(rows, memory, edits)).forEach((each, n) => {
      Object.assign(paths[n], { logits: each, next: logSoftmax(each), records: [...paths[n].records, rows[n].record] });
    });
    return;
  }
  for (const path of paths) { // without the causal mask every earlier row reads the new token, so all are computed again
    const record = {};
    const logits = forced(model, memory, [...path.ids, 0], edits, [...path.ids.map(() => null), record]).at(-1);
    Object.assign(path, { logits, next: logSoftmax(logits), records: [...path.records, record] });
  }
}

/** Returns the logits of one pass over a target; row t reads token t - 1. */
function forced(model, memory, ids, edits, records) {
  const cache = Cache.empty(model.config.decoder_layers);
  const rows = [START, ...ids.slice(0, -1)].map((id, position) => ({ id, position, cache, record: records[position] }));
  return model.logits(model.decode(rows, memory, edits));
}

/** Returns the `count` most probable tokens that a sentence may contain, best first: [id, log-probability]. */
export function topTokens(logProbs, count) {
  const best = [];
  for (let id = 0; id < logProbs.length; id += 1) {
    if (EXCLUDED.includes(id) || (best.length === count && logProbs[id] <= best.at(-1)[1])) continue;
    let place = best.length;
    while (place > 0 && best[place - 1][1] < logProbs[id]) place -= 1;
    best.splice(place, 0, [id, logProbs[id]]);
    if (best.length > count) best.pop();
  }
  return best;
}

function extended(path, id, logProb) {
  const { ids, logProbs, records, rows, cache, logits } = path;
  return { ids: [...ids, id], logProbs: [...logProbs, logProb], records, rows: [...rows, logits], cache };
}

/** Returns { hypotheses, pruned }: the `width` best paths, best first. A width of 1 is greedy. `prefix` is forced. */
export function search(model, memory, edits, { width = 1, alpha = 1, prefix = [], limit = LIMIT } = {}) {
  let live = [emptyPath(model)];
  const [finished, pruned] = [[], []];
  for (let step = 0; live.length; step += 1) {
    advance(model, memory, live, edits);
    const candidates = live.flatMap((path, parent) => {
      const tokens = step < prefix.length ? [[prefix[step], path.next[prefix[step]]]] : topTokens(path.next, width);
      return tokens.map(([id, logProb]) => ({ parent, id, logProb, score: sum(path.logProbs) + logProb }));
    });
    candidates.sort((one, other) => other.score - one.score);
    const kept = candidates.slice(0, width - finished.length);
    const parents = new Set(kept.map(({ parent }) => parent));
    pruned.push(...live.filter((path, n) => !parents.has(n) && path.ids.length));
    const used = new Set();
    const next = [];
    for (const { parent, id, logProb } of kept) {
      const path = extended(live[parent], id, logProb);
      if (id === END || path.ids.length === limit) finished.push(path);
      else {
        if (used.has(parent)) path.cache = path.cache.copy();
        used.add(parent);
        next.push(path);
      }
    }
    live = next;
  }
  const rank = ({ ids, logProbs }) => sum(logProbs) / penalty(ids.length, alpha);
  return { hypotheses: finished.sort((one, other) => rank(other) - rank(one)), pruned };
}

/**
 * Returns the analysis of a request { source, target, edits, width, alpha, prefix, path }: ids, ids or null, codes.
 *
 * With a target one pass reads it; otherwise the model decodes, and `path` chooses a path of the tree (default: the best).
 * `rows` are the log-probabilities of each step [V], `logSums` what was subtracted from the logits. `patterns`, `scores` and `allowed` are by site ("cross 2",
 * layers from 0): { shape: [H,T,S], data }. Row t of the decoder reads token t - 1 and predicts token t.
 */
export function analyse(model, { source: ids, target = null, edits: codes = [], path = [], ...options }) {
  const edits = parseEdits(codes);
  const source = edits.padding || ids.includes(PAD) ? ids : [...ids, ...Array(PADS).fill(PAD)]; // else the edit has no effect
  const sourceRecords = source.map(() => ({}));
  const memory = model.readMemory(model.encode(source, edits, sourceRecords), source);
  let best;
  let tree = null;
  if (target) {
    const records = target.map(() => ({}));
    const rows = forced(model, memory, target, edits, records);
    best = { ids: target, logProbs: target.map((id, t) => logSoftmax(rows[t])[id]), records, rows };
  } else {
    tree = search(model, memory, edits, options);
    best = [...tree.hypotheses, ...tree.pruned].find(({ ids }) => String(ids) === String(path)) ?? tree.hypotheses[0];
  }
  const { ids: written, logProbs, rows, records } = best;
  const probabilities = { logProbs, rows: rows.map(logSoftmax), logSums: rows.map(logSumExp) };
  return { source, target: written, tree, ...probabilities, ...traceOf(model, sourceRecords, records) };
}

/** Returns patterns, scores and masks of every site from the records of the queries. */
function traceOf(model, sourceRecords, records) {
  const trace = { patterns: {}, scores: {}, allowed: {} };
  const sites = [sourceRecords, records].flatMap((all) => Object.keys(all[0]).map((site) => [site, all]));
  for (const [site, all] of sites) {
    const keys = site.startsWith("decoder") ? records.length : sourceRecords.length;
    const shape = [model.config.heads, all.length, keys];
    const empty = (type) => ({ shape, data: new type(shape[0] * shape[1] * shape[2]) });
    const [pattern, scores, allowed] = [empty(Float32Array), empty(Float32Array), empty(Uint8Array)];
    all.forEach((record, query) => record[site].forEach((each, head) => {
      const start = (head * all.length + query) * keys;
      pattern.data.set(each.weights, start);
      scores.data.set(each.scores, start);
      allowed.data.set(each.isAllowed, start);
    }));
    Object.assign(trace.patterns, { [site]: pattern });
    Object.assign(trace.scores, { [site]: scores });
    Object.assign(trace.allowed, { [site]: allowed });
  }
  return trace;
}
