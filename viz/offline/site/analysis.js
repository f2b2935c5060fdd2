// An analysis: a pass of the engine over a request, with everything that the pages draw, as model/inference/analyse.py.

import { parseEdits } from "../engine/edits.js";
import { forced, search } from "../engine/search.js";
import { logSoftmax, logSumExp } from "../engine/tensors.js";
import { PAD } from "../engine/transformer.js";

const PADS = 4; // after the source, where the padding mask is off

/**
 * Returns the analysis of a request { source, target, edits, width, alpha, prefix, path }: ids, ids or null, codes.
 *
 * With a target one pass reads it; otherwise the model decodes, and `path` chooses a path of the tree (default: the best).
 * `rows` are the log-probabilities of each step [V], `logSums` what was subtracted from the logits. `patterns` and `allowed`
 * are by site ("cross 2", layers from 0): { shape: [H,T,S], data }. Row t of the decoder reads token t - 1 and predicts token t.
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
  return { source, target: written, tree, ...probabilities, ...collect(model.config.heads, sourceRecords, records) };
}

/** Returns patterns and masks of every site from the records of the queries. */
function collect(heads, sourceRecords, records) {
  const patterns = {}, allowed = {};
  for (const all of [sourceRecords, records]) {
    for (const site of Object.keys(all[0])) {
      const keys = site.startsWith("decoder") ? records.length : sourceRecords.length, shape = [heads, all.length, keys];
      const size = heads * all.length * keys;
      patterns[site] = { shape, data: new Float32Array(size) };
      allowed[site] = { shape, data: new Uint8Array(size) };
      all.forEach((record, query) => record[site].forEach((each, head) => {
        const start = (head * all.length + query) * keys;
        patterns[site].data.set(each.weights, start);
        allowed[site].data.set(each.isAllowed, start);
      }));
    }
  }
  return { patterns, allowed };
}
