// Greedy decoding and beam search over cached steps, as in model/decoding/search.py.

import { logSoftmax } from "./tensors.js";
import { Cache, END, PAD, START } from "./transformer.js";

const EXCLUDED = [PAD, START];
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
export function forced(model, memory, ids, edits, records) {
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
