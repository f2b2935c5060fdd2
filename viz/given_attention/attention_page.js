// Script of a page of given attention: chooses heads, orders and links in the browser, and draws them with the components of the lab.
// Texts go through textContent only.

import { button, element, headName } from "../kit/mount.js";
import { inflated, isTooOld, onTheme, packedNumbers, rootOf } from "../offline/file_parts.js";
import { csvOf, drawnMap, headReader, linkOf, ranked, wordPlaces } from "./head_values.js";

const TERMS = { weights: "attention weight", rollout: "rollout" }; // by measure
const LINE_SHARE = 0.08; // weight above which a block has a line
const LEVELS = 255; // of a thumbnail
const MIN_LIMIT = 0.01; // smallest limit of a scale of differences
const COMPARED = "file_maps"; // part with the maps of two models

const inFrame = () => { try { return globalThis.parent !== globalThis; } catch { return true; } };
const rounded = (value) => Math.round(value * 1e5) / 1e5;

// Returns the levels of all thumbnails, head by head.
async function levelsOf({ bytes, deflated }) {
  const raw = Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0));
  return deflated ? new Uint8Array(await new Response(new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer()) : raw;
}

// Returns a kind of attention with what reads its heads.
async function loadedKind(kind) {
  const [planes, rolled, raw] = await Promise.all([inflated(`maps-${kind.id}`), kind.rollout ? inflated(`rollout-${kind.id}`) : null, kind.pool > 1 ? levelsOf(kind.grid) : null]);
  const places = new Map([...kind.grid.allowed].map((digit, at) => [at, digit]).filter(([, digit]) => digit === "1").map(([at], n) => [at, n]));
  return { ...kind, reader: headReader(kind, planes, rolled), raw, places, heads: kind.grid.heads, isWhole: kind.stored.length === kind.grid.places.length };
}

export async function start(components) {
  if (isTooOld()) return;
  const content = JSON.parse(new TextDecoder().decode(await inflated("content")));
  const files = await Promise.all(content.files.map(async ({ name, kinds }) => ({ name, kinds: Object.fromEntries(await Promise.all(Object.entries(kinds).map(async ([kind, each]) => [kind, await loadedKind(each)]))) })));
  const state = { file: 0, average: "none", combine: "mean", together: false, measure: "weights", order: "position", find: null, mass: 80, merge: false, hide: false, byRow: false, ...content.state };
  const roots = Object.fromEntries(Object.keys(content.parts).map((name) => [name, rootOf(name, name)])), tools = document.getElementById("tools"), waiting = new Set();
  let mode = "light";

  const own = (file = state.file) => files[file].kinds[state.kind];
  const indexOf = (kind, layer, head) => (Math.min(layer, kind.grid.layers) - 1) * kind.heads + Math.min(head, kind.heads) - 1;
  const mergesLayers = () => state.average !== "none", isMean = () => mergesLayers() || state.head === null;
  const mergedHead = ({ heads }) => (state.average === "layers" || state.head === null ? null : Math.min(state.head, heads));

  const isMax = (measure = "weights") => isMean() && state.combine === "max" && measure !== "rollout";
  const merges = (kind) => state.merge && (kind.isWhole || !isMax()); // the largest weight to a word needs all heads
  function combined(kind) { // numbers of heads
    const layer = Math.min(state.layer, kind.grid.layers), head = mergedHead(kind);
    return [...kind.grid.places.keys()].filter((n) => (mergesLayers() ? head === null || n % kind.heads === head - 1 : Math.floor(n / kind.heads) === layer - 1));
  }

  function weightsOf(kind) { // [T*S] of what is chosen; null if the file lacks it
    const { reader, isWhole, grid } = kind, layer = Math.min(state.layer, grid.layers);
    if (!isMean()) { const index = indexOf(kind, layer, state.head); return reader.has(index) ? reader.weights(index) : null; }
    if (isWhole) return reader[state.combine](combined(kind));
    const name = combinedName(kind);
    return reader.has(name) ? reader.weights(name) : null;
  }

  function combinedName(kind, combine = state.combine) { // of a map of several heads, as the command is asked for it
    const layer = mergesLayers() ? "" : Math.min(state.layer, kind.grid.layers) - 1, head = mergedHead(kind);
    return `combine=${combine}&layer=${layer}&head=${head === null || combine === "rollout" ? "" : head - 1}`;
  }

  function rolloutOf(kind) { // null if it is not there, or not yet
    if (!kind.hasRollout || mergesLayers()) return null;
    const name = combinedName(kind, "rollout");
    return kind.reader.rollout(Math.min(state.layer, kind.grid.layers) - 1) ?? (kind.reader.has(name) ? kind.reader.weights(name) : null);
  }

  function roughWeights(kind) { // of blocks of tokens, from the thumbnails of the chosen heads
    const { grid, raw, places } = kind, flat = new Float32Array(grid.shape[0] * grid.shape[1]), indices = isMean() ? combined(kind) : [indexOf(kind, state.layer, state.head)];
    for (const [at, n] of places) {
      const levels = indices.map((index) => raw[index * places.size + n] / LEVELS);
      flat[at] = isMax() ? Math.max(...levels) : levels.reduce((sum, level) => sum + level, 0) / levels.length;
    }
    return flat;
  }

  function roughMap(kind) {
    const { grid } = kind, flat = roughWeights(kind);
    const firsts = { queries: [...grid.queries.keys()], keys: [...grid.keys.keys()] };
    return { shape: grid.shape, values: packedNumbers(flat), allowed: grid.allowed, kept: Array.from(flat, (value) => Number(value > LINE_SHARE)), queries: grid.queries, keys: grid.keys, firsts, readings: {}, rough: true };
  }

  function mapOf(kind) { // what is drawn, in every measure
    const flat = weightsOf(kind);
    if (!flat) return roughMap(kind);
    const readings = { weights: isMax() && kind.isWhole ? combined(kind).map(kind.reader.weights) : flat }, rolled = rolloutOf(kind);
    if (rolled) readings.rollout = rolled;
    const map = drawnMap(kind, readings[state.measure] ?? readings.weights, { ...state, merge: merges(kind) }, readings);
    if (kind.pool > 1) map.firsts = Object.fromEntries(Object.entries(map.firsts).map(([side, all]) => [side, all.map((n) => Math.floor(n / kind.pool))])); // a search is for blocks
    return map;
  }

  function chosenData(kind) {
    const map = mapOf(kind), measure = state.measure in map.readings ? state.measure : "weights";
    const blocks = map.rough ? `, about: the largest of each block of ${kind.pool} × ${kind.pool} tokens.${content.served ? "" : " The file lacks the full map."}` : "";
    return {
      kind: state.kind, layer: mergesLayers() ? null : Math.min(state.layer, kind.grid.layers), head: mergedHead(kind),
      measure, combine: isMax(measure) ? "max" : "mean", term: isMax(measure) ? null : TERMS[measure], readAs: measure + blocks + (isMax(measure) ? `; each cell: the largest of ${combined(kind).length} heads. Rows need not add up to 1` : ""), ...map, row: null, rows: null, agreement: {},
      mass: state.mass, merge: merges(kind), hide: state.hide, byRow: state.byRow, hasMeans: kind.isWhole || content.served,
    };
  }

  function foundData(map) { // the heads that link two tokens, or two blocks of tokens
    if (!state.find) return null;
    const [name, query, key] = state.find, kind = files[state.file].kinds[name], { grid, pool, raw, places } = kind;
    if (pool === 1) {
      const { weights, cell } = linkOf(kind, kind.reader, [query, key], state.merge, grid.places.length);
      return { kind: name, query, key, cell, ...ranked(weights) };
    }
    const at = places.get(query * grid.shape[1] + key), weights = grid.places.map((_, index) => (at === undefined ? 0 : raw[index * places.size + at] / LEVELS));
    return { kind: name, query, key, cell: map.rough ? [query, key] : largestIn(kind, query, key), ...ranked(weights) };
  }

  function largestIn(kind, query, key) { // the largest cell of a block, in the map as it is drawn
    const flat = weightsOf(kind), [rows, columns] = kind.shape, { pool } = kind;
    let best = [query * pool, key * pool];
    if (!flat) return best;
    for (let i = query * pool; i < Math.min(rows, (query + 1) * pool); i++) for (let j = key * pool; j < Math.min(columns, (key + 1) * pool); j++) if (flat[i * columns + j] > flat[best[0] * columns + best[1]]) best = [i, j];
    const wordOf = (words, n) => wordPlaces(words).findIndex((all) => all.includes(n));
    return merges(kind) ? [wordOf(kind.words.queries, best[0]), wordOf(kind.words.keys, best[1])] : best;
  }

  function togetherData() { // all kinds at the chosen layer and head; null if the file lacks one of them
    if (!state.together || !Object.values(files[state.file].kinds).every(weightsOf)) return null;
    const maps = Object.fromEntries(Object.entries(files[state.file].kinds).map(([name, kind]) => [name, mapOf(kind)]));
    return { maps, source: (maps.encoder ?? maps.cross).keys, target: (maps.decoder ?? maps.cross).queries, row: null, rows: null };
  }

  // -- drawing -----------------------------------------------------------------------------------------------------

  function draw() {
    document.documentElement.dataset.theme = mode;
    const { kinds } = files[state.file], chosen = chosenData(own()), isSingle = Object.keys(kinds).length === 1;
    const grids = Object.values(kinds).map(({ grid }) => ({ ...grid, scale: content.scales[mode][grid.kind], ...(isSingle ? { side: "Tokens" } : {}) }));
    mount("all_heads", {
      id: `${state.file} ${mode}`, grids, answer: content.answers[state.file], metrics: content.metrics, orderings: content.orderings, order: state.order,
      chosen, find: foundData(chosen), together: togetherData(), step: null, large: null, sites: null, by: null,
      hasInside: false, isHeadFirst: content.layout === "head", isBeside: isSingle, hideLabel: "Hide control tokens and punctuation",
    });
    if (files.length === 2) drawComparison();
    for (const node of tools.querySelectorAll("[data-file]")) node.setAttribute("aria-pressed", String(Number(node.dataset.file) === state.file));
    if (content.served) fetchMaps();
  }

  function mount(name, values) {
    const data = { ...content.parts[name], ...values, style: content.styles[mode] };
    components[name]({ data, parentElement: roots[name].root, setTriggerValue: applyEvent, setStateValue: applyEvent, offline: false });
  }

  function drawComparison() { // the same head in both files, and the difference
    const flats = files.map((_, n) => weightsOf(own(n))), { box } = roots[COMPARED], kind = own();
    box.hidden = flats.includes(null);
    if (box.hidden) return;
    const head = mergedHead(kind), over = head === null ? "mean over layers and heads" : `head ${head}, mean over layers`;
    const full = mergesLayers() ? `${state.kind}, ${over}` : headName(state.kind, Math.min(state.layer, kind.grid.layers), head);
    const name = isMax() ? full.replace("mean over", "maximum over") : full, masks = files.map((_, n) => own(n).allowed);
    const both = Array.from(masks[0], (digit, at) => (digit === "1" || masks[1][at] === "1" ? "1" : "0")).join(""), difference = flats[1].map((value, at) => value - flats[0][at]);
    const map = (title, flat, allowed, scale, most) => ({ title, kind: state.kind, queries: kind.queries, keys: kind.keys, shape: kind.shape, values: packedNumbers(flat), allowed, scale, most, follows: false });
    const limit = Math.max(MIN_LIMIT, difference.reduce((most, value) => Math.max(most, Math.abs(value)), 0));
    const maps = [...flats.map((flat, n) => map(`${files[n].name}, ${name}`, flat, masks[n], state.kind, null)), map(`${files[1].name} − ${files[0].name}`, difference, both, "change", limit)];
    mount(COMPARED, { maps, scales: content.scales[mode], step: 0, alike: true, large: false, trace: null });
  }

  function fetchMaps() { // what the page lacks, from the command that serves it: the full map of a head or of several, and the rollout
    const kind = own();
    if (kind.isWhole) return;
    if (isMean()) fetchMap(kind, "combined", combinedName(kind), combinedName(kind));
    else { const index = indexOf(kind, state.layer, state.head); fetchMap(kind, "head", `index=${index}`, index); }
    if (kind.hasRollout && !mergesLayers() && !rolloutOf(kind)) fetchMap(kind, "combined", combinedName(kind, "rollout"), combinedName(kind, "rollout"));
  }

  async function fetchMap(kind, path, query, name) {
    const request = `${path}?file=${state.file}&kind=${state.kind}&${query}`;
    if (kind.reader.has(name) || waiting.has(request)) return;
    waiting.add(request);
    const answer = await fetch(request).catch(() => null);
    if (!answer?.ok) { document.getElementById("status").textContent = "The command has ended. Start it again for full maps."; return; }
    kind.reader.add(name, new Float32Array(await answer.arrayBuffer()));
    draw();
  }

  // -- events ------------------------------------------------------------------------------------------------------

  function applyEvent(event, value) {
    if (event === "choose") Object.assign(state, value, { average: "none", combine: "mean", together: false });
    else if (event === "combine") Object.assign(state, value);
    else if (event === "set") { const [[name, each]] = Object.entries(value); state[name === "by_row" ? "byRow" : name] = each; }
    else if (event === "find") find(value);
    else return;
    draw();
  }

  function find(value) { // the best head is shown
    state.find = value === "none" ? null : [value.kind, value.query - 1, value.key - 1];
    if (!state.find) return;
    const kind = files[state.file].kinds[value.kind], [layer, head] = kind.grid.places[foundData({ rough: true }).order[0]];
    Object.assign(state, { kind: value.kind, layer, head, average: "none", combine: "mean", together: false, measure: "weights" });
  }

  // -- tools: the file that is shown, and CSV ----------------------------------------------------------------------

  function fill() {
    if (files.length === 2) {
      const row = element("div", "pick"), group = element("div", "options");
      group.setAttribute("role", "group");
      group.setAttribute("aria-label", "Shown");
      files.forEach(({ name }, n) => { const node = button("", name, () => { state.file = n; draw(); }); node.dataset.file = n; group.append(node); });
      row.append(element("span", "", "Shown"), group);
      tools.append(row);
    }
    if (inFrame()) return; // a notebook's frame may not save files
    const row = element("div", "pick");
    row.append(element("span", "", "Save as CSV"), button("", "All heads", () => save("heads", headRows())), button("", "This map", saveMap));
    tools.append(row);
  }

  function save(name, rows) {
    const link = element("a"), address = URL.createObjectURL(new Blob([csvOf(rows)], { type: "text/csv" }));
    Object.assign(link, { href: address, download: `${name}.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  }

  function headRows() { // every metric of every head, and the weight on the link that is looked for
    const found = foundData({ rough: true }), names = content.metrics.map(({ name }) => name), rows = [["attention", "layer", "head", ...names, ...(found ? ["link"] : [])]];
    for (const { grid } of Object.values(files[state.file].kinds)) grid.places.forEach(([layer, head], n) => {
      const link = found ? [found.kind === grid.kind ? found.weights[n] : null] : [];
      rows.push([grid.kind, layer, head, ...names.map((name) => grid.numbers[name]?.[n]), ...link]);
    });
    return rows;
  }

  function saveMap() { // the rollout, or weights of tokens; of blocks, if the file lacks the full map
    const kind = own(), rolled = state.measure === "rollout" ? rolloutOf(kind) : null, flat = rolled ?? weightsOf(kind), numbered = (texts) => texts.map((text, n) => `${n + 1} ${text}`), [queries, keys] = flat ? [kind.queries, kind.keys] : [kind.grid.queries, kind.grid.keys];
    const allowed = flat ? kind.allowed : kind.grid.allowed, shown = flat ?? roughWeights(kind), at = (cell) => rounded(shown[cell]);
    const rows = numbered(queries).map((query, i) => [query, ...keys.map((_, j) => (allowed[i * keys.length + j] === "1" ? at(i * keys.length + j) : null))]);
    const over = mergedHead(kind), head = mergesLayers() ? (over === null ? state.combine : `${state.combine}-head-${over}`) : `${state.layer}-${state.head ?? state.combine}`;
    save(rolled ? `rollout-${state.kind}-${state.layer}` : `weights-${state.kind}-${head}`, [["query", ...numbered(keys)], ...rows]);
  }

  fill();
  onTheme((to) => { mode = to; draw(); });
  document.documentElement.dataset.drawn = "";
}
