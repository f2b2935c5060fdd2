// The trace of an analysis: what the components of the page are drawn from. docs/site.md documents its fields; trace_schema.py
// writes the same from an analysis in Python.

import { topTokens } from "../engine/search.js";
import { labelsOf, pieceOf, wordNumbers } from "./token_labels.js";

export const SHOWN = 16; // candidates of a step

/** Returns the trace of a result of `analyse`. */
export function traceOf(found, tokenizer, { alpha, width = 1, path = [] }) {
  const { source, target, rows, logProbs, logSums } = found;
  const axis = (ids) => ({ ids, labels: labelsOf(tokenizer, ids), words: wordNumbers(tokenizer, ids) });
  const candidate = (t, id, logProb) => [pieceOf(tokenizer, id), id, logProb + logSums[t], Math.exp(logProb)];
  const attention = {};
  for (const [site, { shape, data }] of Object.entries(found.patterns)) {
    attention[site] = { shape, weights: data, allowed: found.allowed[site].data };
  }
  return {
    source: axis(source),
    target: { ...axis(target), segments: tokenizer.segments(target) },
    start: pieceOf(tokenizer, 1),
    attention,
    steps: rows.map((row, t) => ({
      top: topTokens(row, SHOWN).map(([id, logProb]) => candidate(t, id, logProb)),
      chosen: candidate(t, target[t], logProbs[t]),
    })),
    tree: found.tree && width > 1 ? treeOf(found.tree, tokenizer, { alpha, path: path.length ? path : target }) : null,
  };
}

/** Returns the tree of a search, as beam_tree.py writes it: every token of every path once, parents before children. */
function treeOf({ hypotheses, pruned }, tokenizer, { alpha, path }) {
  const paths = [...hypotheses, ...pruned];
  const ends = new Map(hypotheses.map(({ ids }) => [String(ids), ids.at(-1) === 2 ? "finished" : "limit"]));
  const inner = new Set(paths.flatMap(({ ids }) => ids.map((_, n) => String(ids.slice(0, n)))));
  const numbers = new Map();
  const nodes = [];
  for (const { ids, logProbs } of paths) {
    let score = 0;
    ids.forEach((id, n) => {
      score += logProbs[n];
      const own = ids.slice(0, n + 1);
      if (numbers.has(String(own))) return;
      const status = ends.get(String(own)) ?? (inner.has(String(own)) ? "grown" : "pruned");
      const isEnded = status === "finished" || status === "limit";
      numbers.set(String(own), nodes.length);
      nodes.push({
        p: n ? numbers.get(String(ids.slice(0, n))) : null,
        s: n + 1,
        t: pieceOf(tokenizer, id).replace(/^·(?=.)/, ""),
        sc: score,
        st: status,
        x: tokenizer.decode(own),
        no: isEnded ? score / ((5 + n + 1) / 6) ** alpha : null,
        ids: own,
      });
    });
  }
  const ended = hypotheses.map(({ ids }) => numbers.get(String(ids)));
  return {
    nodes,
    path: path.map((_, n) => numbers.get(String(path.slice(0, n + 1)))).filter((n) => n !== undefined),
    ended: ended.sort((one, other) => nodes[other].no - nodes[one].no),
    leaves: nodes.filter(({ st }) => st !== "grown").length,
  };
}
