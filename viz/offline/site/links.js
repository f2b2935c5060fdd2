// Where each step looks most, and the word linked to that word in the encoder: `step_links` of model/readings/heads/head_maps.py.

const MIN_WEIGHT = 0.1; // smallest mean weight of a word worth a question
const CLEAR = 1.5; // ratio of a standout word's weight to that of any other word
export const NEAR_TIE = 0.2; // nats: a smaller difference of two logits has no shares
const CONTROLS = [0, 1, 2]; // <pad>, <s>, </s>

/** Returns the place of the largest number, the first of equals. */
export const argmax = (numbers) => numbers.reduce((best, value, n) => (value > numbers[best] ? n : best), 0);

/** Returns the step, from 0, whose written token is least probable. `</s>` counts only if nothing else was written. */
export function leastSure({ steps, target: { ids } }) {
  const written = ids.map((_, t) => t).filter((t) => ids[t] !== 2);
  return written.reduce((least, t) => (steps[t].chosen[3] < steps[least].chosen[3] ? t : least), written[0] ?? 0);
}

/** Returns the mean over all layers and heads of a kind of attention, as rows. */
function meanOf(trace, kind) {
  const sites = Object.entries(trace.attention).filter(([site]) => site.startsWith(`${kind} `)).map(([, each]) => each);
  const [heads, rows, columns] = sites[0].shape;
  const sums = Array.from({ length: rows }, () => new Float64Array(columns));
  for (const { weights } of sites) {
    for (let n = 0; n < weights.length; n += 1) sums[Math.floor(n / columns) % rows][n % columns] += weights[n];
  }
  return sums.map((row) => row.map((value) => value / (heads * sites.length)));
}

export function stepLinks(trace) {
  const { ids, labels, words: groups } = trace.source;
  const isWord = ids.map((id, n) => !CONTROLS.includes(id) && /[\p{L}\p{N}]/u.test(labels[n]));
  const among = meanOf(trace, "encoder");
  return meanOf(trace, "cross").map((row) => {
    const source = argmax(row);
    const onWords = row.map((weight, n) => (isWord[n] ? weight : 0));
    const word = argmax(onWords);
    const link = { source, weight: row[source], word: null, onWord: 0, asked: false, to: null };
    if (!onWords[word]) return link;
    const asked = row[word] >= MIN_WEIGHT;
    return { ...link, word, onWord: row[word], asked, to: asked ? standingOut(among[word], word, isWord, groups) : null };
  });
}

/** Returns the word, not adjacent to `word`, with CLEAR times the weight of any third one, else null. */
function standingOut(row, word, isWord, groups) {
  const others = row.map((weight, n) => (isWord[n] && groups[n] !== groups[word] ? weight : 0));
  const to = argmax(others);
  const third = others.reduce((most, weight, n) => (groups[n] === groups[to] ? most : Math.max(most, weight)), 0);
  return Math.abs(to - word) > 1 && others[to] >= Math.max(MIN_WEIGHT, CLEAR * third) ? to : null;
}
