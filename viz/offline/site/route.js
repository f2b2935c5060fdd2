// The route of a choice: the cells of attention that carry it, found by cutting them, as model/experiments/routes.py does.

import { parseEdits } from "../engine/edits.js";
import { row as rowOf } from "../engine/tensors.js";
import { Cache, START } from "../engine/transformer.js";
import { NEAR_TIE } from "./links.js";

const MIN_SHARE = 0.05; // of the difference: a smaller effect is not a link
const MIN_OF_STRONGEST = 0.15; // of the strongest effect
const MAX_LINKS = 4; // of each hop
const MAX_CELLS = 96; // cut in the first hop: those with the largest weights
const MAX_WORK = 6e10; // parameters times tokens of the second hop: a long text cuts fewer cells, at least MIN_CELLS
const MIN_CELLS = 16;
const MIN_WEIGHT = 0.01; // a cell with less in every head is not cut

const same = (one) => (other) => one.kind === other.kind && one.query === other.query && one.key === other.key;
const cut = (cell, layer = null, head = null) => ({ type: "block", ...cell, layer, head });
const zero = (cell) => ({ type: "zero", ...cell, layer: null, head: null });
const size = ({ effect }) => Math.abs(effect);

/** Computes the difference of two logits of a row under edits. What the edits do not change is taken from the first pass. */
class Runner {
  constructor(model, { source, target, row, token, rival }) {
    Object.assign(this, { model, source, row, token, rival });
    this.ids = [START, ...target.slice(0, row)];
    const edits = parseEdits([]);
    this.memory = model.readMemory(model.encode(source, edits), source);
    this.cache = Cache.empty(model.config.decoder_layers);
    this.decode(edits, this.memory, this.cache, 0);
  }

  /** Returns the hidden state of the row; rows from `first` on are computed with the cache of those before. */
  decode(edits, memory, cache, first) {
    const rows = this.ids.slice(first).map((id, n) => ({ id, position: first + n, cache, record: null }));
    const hidden = this.model.decode(rows, memory, edits);
    return rowOf(hidden, rows.length - 1);
  }

  difference(list) {
    const edits = { ...parseEdits([]), list };
    const isSource = list.some(({ kind }) => kind === "encoder");
    const memory = isSource ? this.model.readMemory(this.model.encode(this.source, edits), this.source) : this.memory;
    const first = isSource || !list.length ? 0 : Math.min(...list.map(({ query }) => query));
    const cache = new Cache(this.cache.layers.map(({ keys, values }) => ({ keys: keys.slice(0, first), values: values.slice(0, first) })));
    const hidden = this.decode(edits, memory, cache, first);
    const table = this.model.projection;
    const logit = (id) => hidden.reduce((sum, value, n) => sum + value * table.data[id * hidden.length + n], 0);
    return logit(this.token) - logit(this.rival);
  }
}

/**
 * Returns the route of a choice of `token` against `rival` in a row of a trace without edits.
 *
 * `trace` is that of trace.js; `pause` is awaited before each cut and receives the number of cuts so far.
 */
export async function findRoute(model, trace, { row, token, rival, pause = async () => {} }) {
  const runner = new Runner(model, { source: trace.source.ids, target: trace.target.ids, row, token, rival });
  let count = 0;
  const differences = async (lists) => {
    const found = [];
    for (const list of lists) {
      await pause(count += 1);
      found.push(runner.difference(list));
    }
    return found;
  };
  const [difference] = await differences([[]]);
  const weights = largestWeights(trace);
  const cellsOf = (rows) => rows.flatMap(({ kind, query }) => {
    const { columns, largest, visible } = weights[kind];
    const keys = Array.from({ length: columns }, (_, key) => key).filter((key) => visible[query * columns + key]);
    return keys.map((key) => ({ kind, query, key, weight: largest[query * columns + key] }));
  });
  const effects = async (cells) => {
    const after = await differences(cells.map((cell) => [cut(cell)]));
    return cells.map((cell, n) => ({ ...cell, effect: after[n] - difference }));
  };
  const threshold = (found) => Math.max(MIN_SHARE * Math.abs(difference), MIN_OF_STRONGEST * Math.max(0, ...found.map(size)));
  const strongest = async (found, least) => {
    const ranked = found.filter((each) => size(each) >= least).sort((one, other) => size(other) - size(one)).slice(0, 2 * MAX_LINKS);
    const after = await differences(ranked.map((cell) => [zero(cell)]));
    const zeroed = ranked.map((cell, n) => ({ ...cell, zeroed: after[n] - difference }));
    const agree = (each) => each.zeroed * each.effect > 0 && Math.abs(each.zeroed) >= MIN_SHARE * Math.abs(difference);
    return zeroed.filter(agree).slice(0, MAX_LINKS);
  };
  const rows = [{ kind: "cross", query: row }, { kind: "decoder", query: row }];
  const first = await effects(heaviest(cellsOf(rows), MAX_CELLS));
  const near = (await strongest(first, threshold(first))).map((each) => ({ ...each, hop: 1 }));
  const parameters = Object.values(model.weights).reduce((sum, { data }) => sum + data.length, 0);
  const tokens = trace.source.ids.length + trace.target.ids.length;
  const limit = Math.min(MAX_CELLS, Math.max(MIN_CELLS, Math.floor(MAX_WORK / (tokens * parameters))));
  const second = await effects(heaviest(cellsOf(secondRows(near, rows)), limit));
  const far = (await strongest(second, Math.max(threshold(first), threshold(second)))).map((each) => ({ ...each, hop: 2 }));
  const links = [];
  for (const link of [...near, ...far]) links.push(await withHead(link, difference, model.config, differences));
  const owned = [...new Set(links.map(({ kind, query }) => `${kind} ${query}`))].map((each) => each.split(" "));
  const others = cellsOf(owned.map(([kind, query]) => ({ kind, query: Number(query) }))).filter((cell) => !links.some(same(cell)));
  const [without, kept] = await differences([links.map((cell) => cut(cell)), others.map((cell) => cut(cell))]);
  const rest = [...first, ...second].filter((cell) => !links.some(same(cell))).map(size);
  const shares = Math.abs(difference) < NEAR_TIE ? null : { completeness: (difference - without) / difference, faithfulness: kept / difference };
  return { row, token, rival, difference, links, without, kept, ...shares, others: rest.length, control: median(rest) };
}

/** Returns a link with the head whose own cut has the strongest effect, in the layer with the strongest one. */
async function withHead(link, difference, config, differences) {
  const layers = link.kind === "encoder" ? config.encoder_layers : config.decoder_layers;
  const all = (count) => Array.from({ length: count }, (_, n) => n);
  const strongest = (values) => values.reduce((best, value, n) => (Math.abs(value) > Math.abs(values[best]) ? n : best), 0);
  const single = (await differences(all(layers).map((layer) => [cut(link, layer)]))).map((value) => value - difference);
  const layer = strongest(single);
  const heads = (await differences(all(config.heads).map((head) => [cut(link, layer, head)]))).map((value) => value - difference);
  const head = strongest(heads);
  return { ...link, layer, head, headEffect: heads[head] };
}

const heaviest = (cells, limit) => cells.filter(({ weight }) => weight >= MIN_WEIGHT).sort((one, other) => other.weight - one.weight).slice(0, limit);

/** Returns the rows of the positions that cells lead to, without those of `known`. */
function secondRows(cells, known) {
  const rows = cells.flatMap(({ kind, key }) => (kind === "decoder" ? ["cross", "decoder"] : ["encoder"]).map((each) => ({ kind: each, query: key })));
  const name = ({ kind, query }) => `${kind} ${query}`;
  const first = rows.filter((each, n) => rows.findIndex((other) => name(other) === name(each)) === n);
  return first.filter((each) => !known.some((other) => name(other) === name(each)));
}

/** Returns for each kind of attention the largest weight of any head and layer in each cell, and the cells that any head sees. */
function largestWeights(trace) {
  const found = {};
  for (const [site, { shape: [, rows, columns], weights, allowed }] of Object.entries(trace.attention)) {
    const [kind] = site.split(" ");
    found[kind] ??= { columns, largest: new Float32Array(rows * columns), visible: new Uint8Array(rows * columns) };
    const { largest, visible } = found[kind];
    weights.forEach((weight, n) => {
      const cell = n % largest.length;
      if (weight > largest[cell]) largest[cell] = weight;
      visible[cell] |= allowed[n];
    });
  }
  return found;
}

function median(numbers) {
  if (!numbers.length) return null;
  const sorted = [...numbers].sort((one, other) => one - other);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

