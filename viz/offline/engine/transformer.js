// The encoder-decoder: embeddings, layers, logits, as in model/network/transformer.py. One function serves a full pass and a
// cached step: each row names its token, its position and the cache that it reads.

import { FeedForward, MultiHeadAttention, residual } from "./attention.js";
import { factorOf, positionOf } from "./edits.js";
import { layerNorm, linear, matrix, row } from "./tensors.js";

const BASE = 10000; // of the wavelengths
export const [PAD, START, END] = [0, 1, 2];
const NEEDED = {
  family: "encoder-decoder", positions: "sinusoidal", norm: "layernorm", activation: "relu",
  norm_first: true, final_norm: true, output_bias: false, output_transform: false, embedding_norm: false, segments: 0,
};

/** The keys and values of a text, for each decoder layer; a copy shares the rows. */
export class Cache {
  constructor(layers) {
    this.layers = layers;
  }

  static empty(count) {
    return new Cache(Array.from({ length: count }, () => ({ keys: [], values: [] })));
  }

  copy() {
    return new Cache(this.layers.map(({ keys, values }) => ({ keys: [...keys], values: [...values] })));
  }
}

export class Transformer {
  /** Throws an Error, one sentence, for a model of another design. */
  constructor(config, weights) {
    for (const [key, value] of Object.entries(NEEDED)) {
      if (config[key] !== value) throw new Error(`The model has ${key} = ${config[key]}; the engine computes ${value} alone.`);
    }
    Object.assign(this, { config, weights });
    this.encoder = this.stack("encoder", config.encoder_layers, [["self_attention", "encoder"]]);
    this.decoder = this.stack("decoder", config.decoder_layers, [["self_attention", "decoder"], ["cross_attention", "cross"]]);
    this.targetTable = weights["target_embedding.table.weight"] ?? weights["source_embedding.table.weight"];
    this.sourceTable = weights["source_embedding.table.weight"] ?? this.targetTable;
    this.projection = weights["projection.weight"] ?? this.targetTable;
  }

  layer(name, parts) {
    const part = (each) => ({ weight: this.weights[`${name}.${each}.weight`], bias: this.weights[`${name}.${each}.bias`] });
    return Object.fromEntries(parts.map((each) => [each, part(each)]));
  }

  stack(name, count, attentions) {
    return Array.from({ length: count }, (_, layer) => ({
      attentions: attentions.map(([part, kind]) => new MultiHeadAttention(this, `${name}.${layer}.${part}`, { kind, layer })),
      feedForward: new FeedForward(this, `${name}.${layer}.feed_forward`),
      norms: Array.from({ length: attentions.length + 1 }, (_, n) => this.norm(`${name}.${layer}.residuals.${n}.norm`)),
    }));
  }

  norm(name) {
    return (x) => layerNorm(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`], this.config.norm_eps);
  }

  /** Returns token embeddings plus positions, [T,D] (Vaswani et al. 2017, sections 3.4 and 3.5). */
  embed(table, ids, positions) {
    const width = this.config.d_model;
    const scale = this.config.embedding_scale ? Math.sqrt(width) : 1;
    const x = matrix(ids.length, width);
    ids.forEach((id, t) => {
      for (let n = 0; n < width; n += 1) {
        const angle = positions[t] === null ? null : positions[t] / BASE ** ((n - (n % 2)) / width);
        const added = angle === null ? 0 : n % 2 ? Math.cos(angle) : Math.sin(angle);
        x.data[t * width + n] = table.data[id * width + n] * scale + added;
      }
    });
    return x;
  }

  /** Returns the encoder's output [S,D] for source ids; `records` has an object for each token, or is empty. */
  encode(ids, edits, records = []) {
    let x = this.embed(this.sourceTable, ids, ids.map((_, n) => positionOf(edits, "source", n)));
    const isPad = (key) => ids[key] === PAD;
    this.encoder.forEach(({ attentions: [self], feedForward, norms }, layer) => {
      const attend = (y) => {
        const read = self.keysAndValues(y);
        return self.forward(y, ids.map((_, n) => ({ position: n, record: records[n], ...read })), edits, isPad);
      };
      x = residual(x, norms[0], attend, factorOf(edits, "encoder", layer, "self"));
      x = residual(x, norms[1], (y) => feedForward.forward(y), factorOf(edits, "encoder", layer, "ff"));
    });
    return this.norm("encoder_norm")(x);
  }

  /** Returns the keys and values of the source for each decoder layer, which a translation computes once. */
  readMemory(memory, ids) {
    const layers = this.decoder.map(({ attentions: [, cross] }) => cross.keysAndValues(memory));
    return { isPad: (key) => ids[key] === PAD, layers };
  }

  /** Returns hidden states [T,D] of rows { id, position, cache, record }; the keys and values of each row go to its cache. */
  decode(rows, memory, edits) {
    const positions = rows.map(({ position }) => positionOf(edits, "target", position));
    let x = this.embed(this.targetTable, rows.map(({ id }) => id), positions);
    this.decoder.forEach(({ attentions: [self, cross], feedForward, norms }, layer) => {
      const attend = (y) => {
        const own = self.keysAndValues(y);
        const read = rows.map(({ cache }) => cache.layers[layer]);
        read.forEach((each, n) => { each.keys.push(own.keys[n]); each.values.push(own.values[n]); });
        return self.forward(y, rows.map((each, n) => ({ ...each, ...read[n] })), edits, () => false);
      };
      const look = (y) => cross.forward(y, rows.map((each) => ({ ...each, ...memory.layers[layer] })), edits, memory.isPad);
      x = residual(x, norms[0], attend, factorOf(edits, "decoder", layer, "self"));
      x = residual(x, norms[1], look, factorOf(edits, "decoder", layer, "cross"));
      x = residual(x, norms[2], (y) => feedForward.forward(y), factorOf(edits, "decoder", layer, "ff"));
    });
    return this.norm("decoder_norm")(x);
  }

  /** Returns the logits of each row of hidden states [T,D], as rows [V]. */
  logits(hidden) {
    const all = linear(hidden, this.projection);
    return Array.from({ length: hidden.rows }, (_, n) => row(all, n));
  }
}
