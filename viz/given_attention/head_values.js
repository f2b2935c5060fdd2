// Weights of heads from the data of a page, and what is drawn of them: means, words, lines, links between two tokens.

import { numbersOf, packedNumbers } from "../offline/file_parts.js";

const MAX_LINES = 4000; // of a drawing; the heaviest are drawn
const NEAR_TIE = 1.2; // ratio of two weights below which they are a near-tie

const isOne = (digit) => digit === "1";

// Reads the heads of one kind of attention. `planes` holds the allowed cells of the stored heads, `rolled` the rollout after each layer.
export function headReader({ shape: [rows, columns], allowed, stored }, planes, rolled) {
  const cells = [...allowed].map((digit, at) => (isOne(digit) ? at : -1)).filter((at) => at >= 0), count = rows * columns, fetched = new Map();
  const places = new Map(stored.map((index, n) => [index, n])), positions = new Int32Array(count).fill(-1);
  cells.forEach((at, n) => { positions[at] = n; });
  const has = (index) => places.has(index) || fetched.has(index);
  function weights(index) { // [T*S], row by row
    if (fetched.has(index)) return fetched.get(index);
    const flat = new Float32Array(count);
    numbersOf(planes, places.get(index) * cells.length, cells.length).forEach((value, n) => { flat[cells[n]] = value; });
    return flat;
  }
  function weight(index, at) {
    if (fetched.has(index)) return fetched.get(index)[at];
    return positions[at] < 0 ? 0 : numbersOf(planes, places.get(index) * cells.length + positions[at], 1)[0];
  }
  const max = (indices) => largest(indices.map(weights));
  function mean(indices) {
    const flat = new Float32Array(count);
    for (const index of indices) weights(index).forEach((value, at) => { flat[at] += value / indices.length; });
    return flat;
  }
  const rollout = (layer) => (rolled ? Float32Array.from(numbersOf(rolled, layer * count, count)) : null);
  return { has, weights, weight, mean, max, rollout, add: (index, flat) => fetched.set(index, flat) }; // `index`: or the name of a combined map
}

// Returns the largest value of each cell of some maps.
export const largest = (maps) => Float32Array.from(maps[0], (_, at) => maps.reduce((most, map) => Math.max(most, map[at]), 0));

// Returns the positions of each word, in the order of the words.
export function wordPlaces(words) {
  const places = new Map();
  words.forEach((word, n) => { if (!places.has(word)) places.set(word, []); places.get(word).push(n); });
  return [...places.values()];
}

// Merges pieces into words: the weight to a word is the sum over its pieces, from a word the mean over its rows.
export function mergeWords(flat, columns, queryWords, keyWords) {
  const merged = new Float32Array(queryWords.length * keyWords.length);
  queryWords.forEach((rows, i) => keyWords.forEach((places, j) => {
    let sum = 0;
    for (const row of rows) for (const at of places) sum += flat[row * columns + at];
    merged[i * keyWords.length + j] = sum / rows.length;
  }));
  return merged;
}

// Returns 1 for the fewest cells of each row whose weights reach a share of its sum, at most `MAX_LINES` in all.
export function heaviestCells(flat, [rows, columns], share, hidden) {
  const kept = new Uint8Array(flat.length), all = [];
  for (let i = 0; i < rows; i++) {
    const row = flat.subarray(i * columns, (i + 1) * columns), limit = share >= 1 ? Infinity : share * row.reduce((a, b) => a + b, 0);
    let before = 0;
    for (const j of [...row.keys()].filter((each) => row[each] > 0).sort((a, b) => row[b] - row[a])) {
      if (before >= limit) break;
      before += row[j];
      if (!hidden[j]) all.push(i * columns + j);
    }
  }
  if (all.length > MAX_LINES) all.sort((a, b) => flat[b] - flat[a]);
  for (const at of all.slice(0, MAX_LINES)) kept[at] = 1;
  return kept;
}

// Returns a map [T*S] of a kind as the components read it; `how` has merge, hide and mass. Of a list of maps, the largest value of
// each cell is drawn, after merging.
export function drawnMap(kind, flat, how, readings) {
  const [rows, columns] = kind.shape, single = (texts) => texts.map((_, n) => [n]);
  const queryWords = how.merge ? wordPlaces(kind.words.queries) : single(kind.queries), keyWords = how.merge ? wordPlaces(kind.words.keys) : single(kind.keys);
  const mask = Float32Array.from(kind.allowed, Number), merged = (values) => (Array.isArray(values) ? largest(values.map(merged)) : how.merge ? mergeWords(values, columns, queryWords, keyWords) : values);
  const shape = how.merge ? [queryWords.length, keyWords.length] : [rows, columns], values = merged(flat);
  const hidden = keyWords.map((places) => how.hide && places.every((at) => kind.hidden[at]));
  const joined = (texts, words) => words.map((places) => places.map((n) => texts[n]).join(""));
  return {
    shape,
    values: packedNumbers(values),
    allowed: Uint8Array.from(merged(mask), (value) => Number(value > 0)),
    kept: heaviestCells(values, shape, how.mass / 100, hidden),
    queries: joined(kind.queries, queryWords),
    keys: joined(kind.keys, keyWords),
    firsts: { queries: queryWords.map(([first]) => first), keys: keyWords.map(([first]) => first) },
    readings: Object.fromEntries(Object.entries(readings).map(([name, each]) => [name, packedNumbers(merged(each))])),
  };
}

// Returns the weight of each head from a query to a key, from word to word if `merge`, and the cell of the drawn map.
export function linkOf(kind, reader, [query, key], merge, count) {
  const columns = kind.shape[1], whole = (words, n) => wordPlaces(words).findIndex((places) => places.includes(n));
  const cell = merge ? [whole(kind.words.queries, query), whole(kind.words.keys, key)] : [query, key];
  const rows = merge ? wordPlaces(kind.words.queries)[cell[0]] : [query], places = merge ? wordPlaces(kind.words.keys)[cell[1]] : [key];
  const weights = Array.from({ length: count }, (_, index) => {
    let sum = 0;
    for (const row of rows) for (const at of places) sum += reader.weight(index, row * columns + at);
    return sum / rows.length;
  });
  return { weights, cell };
}

// Returns a search result as the component reads it: the heads in the order of their weights.
export function ranked(weights) {
  const order = weights.map((_, n) => n).sort((a, b) => weights[b] - weights[a] || a - b), best = weights[order[0]];
  return { weights: weights.map((value) => Math.round(value * 1e5) / 1e5), order, near: order.slice(1).filter((n) => best < NEAR_TIE * weights[n]).length };
}

// -- CSV -----------------------------------------------------------------------------------------------------------

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/; // an apostrophe comes before what a spreadsheet takes for a formula

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// Returns rows of texts and numbers as a CSV file, as Python writes it.
export const csvOf = (rows) => `\ufeff${rows.map((row) => `${row.map(csvCell).join(",")}\r\n`).join("")}`;
