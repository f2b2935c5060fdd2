// Runs the JavaScript engine on requests: node run_engine.mjs CHECKPOINT < requests.json > results.json
// A request is an object of `analyse`, with `text` instead of ids. Arrays are in base64, as float32.

import { readFileSync } from "node:fs";
import { Buffer } from "node:buffer";
import { argv, stdin, stdout } from "node:process";

import { topTokens } from "../../viz/offline/engine/search.js";
import { Tokenizer } from "../../viz/offline/engine/tokenizer.js";
import { END, Transformer } from "../../viz/offline/engine/transformer.js";
import { analyse } from "../../viz/offline/site/analysis.js";
import { labelsOf, wordNumbers } from "../../viz/offline/site/token_labels.js";
import { readWeights } from "../../viz/offline/site/weights_file.js";

const read = (name) => readFileSync(`${argv[2]}/${name}`);
const weights = read("model.safetensors");
const buffer = weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.length);
const model = new Transformer(JSON.parse(read("config.json")).model, readWeights(buffer));
const tokenizer = new Tokenizer(JSON.parse(read("tokenizer.json")));
const encoded = (data) => Buffer.from(Float32Array.from(data).buffer).toString("base64");
const arrays = (all) => Object.fromEntries(Object.entries(all).map(([name, { shape, data }]) => [name, { shape, data: encoded(data) }]));

function answer({ text, target, prefix, ...request }) {
  const source = [...tokenizer.encode(text), END];
  const begun = performance.now();
  const found = analyse(model, { ...request, source, target: target && [...tokenizer.encode(target), END], prefix: prefix && tokenizer.encode(prefix) });
  return {
    source: found.source,
    target: found.target,
    text: tokenizer.decode(found.target),
    labels: labelsOf(tokenizer, found.target),
    words: wordNumbers(tokenizer, found.target),
    segments: tokenizer.segments(found.target),
    log_probs: found.logProbs,
    top: found.rows.map((row) => topTokens(row, 5)),
    hypotheses: found.tree?.hypotheses.map(({ ids }) => ids),
    pruned: found.tree?.pruned.map(({ ids }) => ids),
    patterns: arrays(found.patterns),
    allowed: arrays(found.allowed),
    milliseconds: performance.now() - begun,
  };
}

let text = "";
for await (const piece of stdin) text += piece;
const { requests, texts } = JSON.parse(text);
const results = requests.map((request) => {
  try {
    return answer(request);
  } catch (fault) {
    return { fault: fault.message };
  }
});
const tokens = texts.map((each) => {
  const ids = tokenizer.encode(each);
  return [ids, tokenizer.decode(ids), labelsOf(tokenizer, ids), wordNumbers(tokenizer, ids), tokenizer.segments(ids)];
});
stdout.write(JSON.stringify({ results, tokens }));
