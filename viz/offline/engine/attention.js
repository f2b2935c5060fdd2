// The attention of one site, as model/network/attention.py computes it: scores, mask, softmax, zeros for a query that may
// attend to nothing, patched rows, record, mix, heads off.

import { at, mask } from "./edits.js";
import { add, dot, linear, matrix, row } from "./tensors.js";

/**
 * Returns the weights of a query in one head. A query has its position, the keys and values that it reads (lists of rows [D]),
 * and an object that records it, or null.
 */
function attendHead(query, q, offset, width, site, head, { allowed, scale, factor, patches, zeros }) {
  const scores = new Float32Array(query.keys.length);
  const isAllowed = new Uint8Array(query.keys.length);
  let largest = -Infinity;
  for (let key = 0; key < scores.length; key += 1) {
    scores[key] = (dot(q, offset + head * width, query.keys[key], head * width, width) / scale) * factor;
    isAllowed[key] = allowed(query.position, key) ? 1 : 0;
    if (isAllowed[key] && scores[key] > largest) largest = scores[key];
  }
  const weights = maskedSoftmax(scores, isAllowed, largest);
  for (const patch of patches) if (patch.query === query.position) patchRow(weights, isAllowed, patch, site);
  for (const zero of zeros) if (zero.query === query.position) weights[zero.key] = 0;
  if (query.record) (query.record[`${site.kind} ${site.layer}`] ??= []).push({ weights, isAllowed });
  return weights;
}

/** Returns the softmax over the allowed keys; zeros without one. */
function maskedSoftmax(scores, isAllowed, largest) {
  const weights = scores.map((score, key) => (isAllowed[key] ? Math.exp(score - largest) : 0));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return total ? weights.map((weight) => weight / total) : weights;
}

/** Puts all weight on one key, or the same weight on all allowed keys. */
function patchRow(weights, isAllowed, { key }, { kind }) {
  if (key !== null && key >= weights.length && kind === "decoder") return; // the token is not written yet
  if (key !== null && !isAllowed[key]) throw new Error("An edited row looks where the mask forbids it: take another token.");
  const count = isAllowed.reduce((sum, each) => sum + each, 0);
  weights.forEach((_, n) => { weights[n] = key === null ? (isAllowed[n] ? 1 / count : 0) : Number(n === key); });
}

/** Returns z = softmax(Q Kᵀ / √d_k) V of all heads side by side, [T,D], for q [T,D] (Vaswani et al. 2017, equation 1). */
export function attention(q, queries, site, config, edits, isPad) {
  const width = config.d_model / config.heads;
  const z = matrix(q.rows, q.columns);
  for (let head = 0; head < config.heads; head += 1) {
    const rules = {
      allowed: mask(config, edits, site, head, isPad),
      scale: edits.scaling ? Math.sqrt(width) : 1,
      factor: at(edits, "scale", site, head).reduce((product, edit) => product * edit.factor, 1),
      patches: at(edits, "row", site, head),
      zeros: at(edits, "zero", site, head),
    };
    const isOff = at(edits, "off", site, head).length > 0;
    queries.forEach((query, t) => {
      const weights = attendHead(query, q.data, t * q.columns, width, site, head, rules);
      if (isOff) return;
      const start = t * q.columns + head * width;
      weights.forEach((weight, key) => {
        const value = query.values[key];
        for (let n = 0; n < width; n += 1) z.data[start + n] += weight * value[head * width + n];
      });
    });
  }
  return z;
}

/** Projects to heads, attends in each and projects back (Vaswani et al. 2017, section 3.2.2). */
export class MultiHeadAttention {
  constructor(model, name, site) {
    Object.assign(this, { model, site, parts: model.layer(name, ["query", "key", "value", "output"]) });
  }

  /** Returns keys and values of rows x [T,D], as two lists of rows. */
  keysAndValues(x) {
    const { key, value } = this.parts;
    const [keys, values] = [linear(x, key.weight, key.bias), linear(x, value.weight, value.bias)];
    const rows = (each) => Array.from({ length: x.rows }, (_, n) => row(each, n));
    return { keys: rows(keys), values: rows(values) };
  }

  /** Returns [T,D] for x [T,D], whose rows ask as `queries`. */
  forward(x, queries, edits, isPad) {
    const { query, output } = this.parts;
    const z = attention(linear(x, query.weight, query.bias), queries, this.site, this.model.config, edits, isPad);
    return linear(z, output.weight, output.bias);
  }
}

/** W2 f(W1 x), with f = ReLU. */
export class FeedForward {
  constructor(model, name) {
    this.parts = model.layer(name, ["inner", "outer"]);
  }

  forward(x) {
    const { inner, outer } = this.parts;
    const active = linear(x, inner.weight, inner.bias);
    active.data.forEach((value, n) => { if (value < 0) active.data[n] = 0; });
    return linear(active, outer.weight, outer.bias);
  }
}

/** x + f(norm(x)), the residual connection of a pre-norm layer; `factor` 0 skips f. */
export function residual(x, norm, f, factor) {
  return add(x, f(norm(x)), factor);
}
