// The worker of the site: it loads the model and answers the page, so that the page never waits for a computation.
// A question is { id, ask, ... }; an answer { id, ... }, or { id, fault } with one sentence.

import { LIMIT } from "../engine/search.js";
import { Tokenizer } from "../engine/tokenizer.js";
import { END, Transformer } from "../engine/transformer.js";
import { analyse } from "./analysis.js";
import { forget, load } from "./loader.js";
import { glossed } from "./glosses.js";
import { findRoute } from "./route.js";
import { traceOf } from "./trace.js";
import { readWeights } from "./weights_file.js";

let model, tokenizer, meanings, settings;
let latest = 0; // id of the newest question: an older search of a route stops
const known = new Map(); // traces without edits, by request
const KEPT = 4;

const ASKED = { load: start, translate, word, score, route };

globalThis.onmessage = async ({ data: { id, ask, ...rest } }) => {
  latest = id;
  try {
    postMessage({ id, ...(await ASKED[ask](rest, id)) });
  } catch (fault) {
    postMessage({ id, fault: fault.message });
  }
};

async function start({ files, ...given }, id) {
  settings = given;
  const text = async (url) => new TextDecoder().decode(await load(url));
  const [weights, config, vocabulary, glosses] = await Promise.all([
    load(files.weights, (loaded) => postMessage({ id, loaded })), text(files.config), text(files.tokenizer), text(files.glosses),
  ]);
  try {
    model = new Transformer(JSON.parse(config).model, readWeights(weights));
  } catch {
    await forget(files.weights);
    throw new Error("The weights arrived incomplete. Reload the page to load them again.");
  }
  tokenizer = new Tokenizer(JSON.parse(vocabulary));
  meanings = new Map(glosses.split(/; |\n/).filter(Boolean).map((entry) => entry.split(/: (.*)/)));
  return { ready: true };
}

function encoded(text) {
  const ids = [...tokenizer.encode(text.trim()), END];
  if (ids.length === 1) throw new Error("There is no sentence yet: type one.");
  if (ids.length > LIMIT) throw new Error(`The text has ${ids.length.toLocaleString("en")} tokens. The limit is ${LIMIT}: shorten it.`);
  return ids;
}

/** Returns the trace of a request { text, edits, width, prefix, path }, and with edits that of the same without. */
async function translate({ text, edits, ...options }) {
  const plain = unedited(text, options);
  if (!edits.length) return { trace: plain, baseline: null };
  return { trace: traced(text, edits, options), baseline: plain };
}

function unedited(text, options) {
  const key = JSON.stringify([text, options]);
  if (!known.has(key)) known.set(key, traced(text, [], options));
  if (known.size > KEPT) known.delete(known.keys().next().value);
  return known.get(key);
}

function traced(text, edits, options) {
  const found = analyse(model, { source: encoded(text), edits, alpha: settings.alpha, ...options });
  const trace = traceOf(found, tokenizer, { alpha: settings.alpha, ...options });
  trace.target.glosses = settings.glossed ? glossed(trace.target, meanings) : [];
  return trace;
}

/** Returns a path followed by the tokens of a typed word, as `append_word` of model/inference/targets.py. */
async function word({ path, text }) {
  const typed = text.trim();
  if (!typed) throw new Error("The word is empty: type one.");
  const before = tokenizer.decode(path);
  const space = before && !/['’]$/.test(before) ? " " : "";
  const ids = tokenizer.encode(before + space + typed);
  const begins = [path, tokenizer.encode(before)].find((own) => own.every((id, n) => id === ids[n]));
  const added = begins ? ids.slice(begins.length) : tokenizer.encode(space + typed);
  if (path.length + added.length >= LIMIT) throw new Error(`There is no room for ${added.length} more tokens: fewer than ${LIMIT} in all.`);
  return { prefix: [...path, ...added] };
}

/** Returns the log-probability of a given target under edits. */
async function score({ text, edits, target }) {
  const { logProbs } = analyse(model, { source: encoded(text), edits, target });
  return { logProb: logProbs.reduce((sum, each) => sum + each, 0) };
}

async function route({ text, options, row, token, rival }, id) {
  const trace = unedited(text, options);
  const pause = async (cuts) => {
    if (cuts % 8 === 0) postMessage({ id, cuts });
    await new Promise((resume) => { setTimeout(resume); });
    if (latest !== id) throw new Error("");
  };
  return { route: await findRoute(model, trace, { row, token, rival, pause }) };
}
