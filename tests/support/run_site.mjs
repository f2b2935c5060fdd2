// Runs the scripts of the static site without a page: node run_site.mjs CHECKPOINT < given.json > results.json
// `given` has the constants of the site, requests with the traces of Python, words to append, and choices whose routes are searched.

import { readFileSync } from "node:fs";
import { Buffer } from "node:buffer";
import { argv, stdin, stdout } from "node:process";

import { Tokenizer } from "../../viz/offline/engine/tokenizer.js";
import { END, Transformer } from "../../viz/offline/engine/transformer.js";
import { analyse } from "../../viz/offline/site/analysis.js";
import { readWeights } from "../../viz/offline/site/weights_file.js";
import { readAddress, writeAddress } from "../../viz/offline/site/address.js";
import { glossed } from "../../viz/offline/site/glosses.js";
import { isOff } from "../../viz/offline/site/edit_bar.js";
import { judge, readAssignment, stopOf, viewOf } from "../../viz/offline/site/homework.js";
import { checkLesson } from "../../viz/offline/site/lesson_list.js";
import * as payloads from "../../viz/offline/site/payloads.js";
import { findRoute } from "../../viz/offline/site/route.js";
import { addSites, readTrace } from "../../viz/offline/site/stored_trace.js";
import { traceOf } from "../../viz/offline/site/trace.js";

const file = (name) => readFileSync(`${argv[2]}/${name}`);
const weights = file("model.safetensors");
const model = new Transformer(JSON.parse(file("config.json")).model, readWeights(weights.buffer.slice(weights.byteOffset, weights.byteOffset + weights.length)));
const tokenizer = new Tokenizer(JSON.parse(file("tokenizer.json")));

let text = "";
for await (const piece of stdin) text += piece;
const { site, glosses, requests, routes, addresses, lessons, homework, links } = JSON.parse(text);
const meanings = new Map(glosses.split(/; |\n/).filter(Boolean).map((entry) => entry.split(/: (.*)/)));

function traced({ text: sentence, edits = [], width = 1 }) {
  const options = { width, alpha: site.alpha, prefix: [], path: [] };
  const trace = traceOf(analyse(model, { source: [...tokenizer.encode(sentence), END], edits, ...options }), tokenizer, options);
  trace.target.glosses = glossed(trace.target, meanings);
  return trace;
}

/** Returns the payloads of all components. */
function drawn(trace, baseline, { layer, head, kind, edits = [] }) {
  const off = Object.fromEntries(site.kinds.map((each) => [each, isOff({ map: each, layer, head, edits })]));
  const colours = { ...site.colours.light, mode: "light" };
  const common = { layer, head, colours, baseline, name: "t", how: "", off };
  return {
    timeline: payloads.timeline(trace, { base: site.base.timeline, ...common }),
    candidates: payloads.candidates(trace, { base: site.base.candidates, name: "t" }),
    head_map: payloads.headMap(trace, { base: site.base.head_map, colours, baseline, kind, layer, head, name: "t", step: 1, off, isOff: (one, other) => isOff({ map: kind, layer: one, head: other, edits }) }),
    tree: trace.tree && payloads.tree(trace, site.base.beam_tree),
  };
}

const drawings = requests.map(({ stored, baseline, ...request }) => {
  const own = traced(request), plain = request.edits?.length ? traced({ ...request, edits: [] }) : null;
  const glossedAs = (trace) => { trace.target.glosses = glossed(trace.target, meanings); return trace; };
  const fromPython = ({ trace: stored, parts }) => {
    const trace = readTrace(stored);
    for (const { sites, weights } of parts) addSites(trace, stored, sites, Buffer.from(weights, "base64"));
    return trace;
  };
  return { engine: drawn(own, plain, request), python: drawn(glossedAs(fromPython(stored)), baseline && fromPython(baseline), request) };
});
const found = [];
for (const { text: sentence, row, token, rival } of routes) found.push(await findRoute(model, traced({ text: sentence }), { row, token, rival }));
const read_ = addresses.map((query) => { const address = readAddress(query, site); return { ...address, written: writeAddress(address.view, site, address.kept) }; });

/** Returns what a check reads of a view. */
function seen(view) {
  const width = view.decode === "beam" ? site.width : 1;
  const trace = traced({ ...view, width }), baseline = view.edits.length ? traced({ ...view, edits: [], width }) : null;
  const asked = {
    score: ({ text: sentence, edits, target }) => ({ logProb: analyse(model, { source: [...tokenizer.encode(sentence), END], edits, target }).logProbs.reduce((sum, each) => sum + each, 0) }),
    translate: (request) => ({ trace: traced(request) }),
  };
  return { trace, baseline, view, step: Math.min(view.step ?? 1, trace.steps.length), ask: async (what, values) => asked[what](values), width: site.width };
}

/** Returns the verdict of a lesson about the view of an address. */
function verdictOf([name, query]) {
  const { view } = readAddress(query, site);
  view.text ||= site.tasks.find((task) => task.name === name).text; // a link leaves the usual sentence out
  return checkLesson(name, seen(view));
}

/** Returns the verdict of a task about a stop, and the stop as the site stores it. */
async function judged([task, stop]) {
  const view = viewOf(stop, site);
  if (!view) return null;
  const all = seen(view);
  return { verdict: await judge(task, { ...all, view: { ...view, first: site.first }, limit: "a limit" }), stop: stopOf(view, all.step, site, task.start) };
}
const verdicts = [];
for (const lesson of lessons) verdicts.push(await verdictOf(lesson));
const tasks = [], read = [];
for (const each of homework) tasks.push(await judged(each));
for (const link of links) read.push(await readAssignment(link, site.assignments).catch((fault) => fault.message));
stdout.write(JSON.stringify({ tasks, read, verdicts, drawings, routes: found, addresses: read_ }));
