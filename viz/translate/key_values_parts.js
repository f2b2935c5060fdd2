// What the key-value cache says of a step, in numbers and texts; no DOM here.

export const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// Bytes as a person says them: 1 kB is 1,000 bytes.
export function weighed(bytes) {
  if (bytes < 1000) return `${bytes} bytes`;
  return bytes < 999950 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}

// Bytes that all layers hold after a step, those of cross-attention among them.
export const held = (data, step) => data.each * step + data.source;

const PLAIN = { width: 340, height: 16, gap: 4 }, TEXTS = 262, GAP = 20; // px: of a row; of all that is said around the rows; between both sides
const LEAST = 8, MOST = 34, LETTER = 14; // px of a layer's row

// How large a layer's row is drawn: in units of the drawing, or, where a place of so many px is to be filled, in these.
export function sized(layers, place) {
  if (!place) return PLAIN;
  const each = Math.max(LEAST, Math.min(MOST, Math.floor((place[1] - TEXTS) / layers)));
  return { width: Math.max(60, (place[0] - GAP) / 2 - 20), height: each - 3, gap: 3 };
}

// Whether a layer is numbered: where rows are too low for each number, the first and the last.
export const labelled = (layer, layers, height) => height >= LETTER - 3 || layer === 0 || layer === layers - 1;

// A layer's row over `count` tokens after a step (from 1): [kind, from, to) from left to right.
export function row(step, count, cached, window) {
  const unread = cached && window ? Math.max(0, step - window) : 0;
  const parts = cached ? [["unread", 0, unread], ["kept", unread, step - 1], ["fresh", step - 1, step]] : [["fresh", 0, step]];
  return [...parts, ["todo", step, count]].filter(([, from, to]) => to > from);
}

const sum = (values, step) => values.slice(0, step).reduce((a, b) => a + b, 0);
const times = (ratio) => `${ratio.toFixed(1)} ×`;

// The table of a step: what is counted, with the cache, without.
export function numbers(data, step) {
  const { layers, heads, cached, whole } = data, read = Math.min(step - 1, data.window ? data.window - 1 : Infinity);
  const each = 2 * layers * heads; // vectors that a token needs: a key and a value for each head of each layer
  const given = data.begun ?? 0; // tokens of the text, which is read in one pass with the cache or without
  const since = (values) => (given ? whole[given] + sum(values, step) - sum(values, given + 1) : sum(values, step));
  const all = step > given ? [since(cached), since(whole)] : null;
  return [
    ["", "with the cache", "without", ""],
    ["Tokens that go through the layers", "1", String(step), times(step)],
    ["Keys and values computed", grouped(each), grouped(each * step), times(step)],
    ["Keys and values read from the cache", grouped(each * read), "0", ""],
    ["Multiplications at this step", grouped(cached[step - 1]), grouped(whole[step - 1]), times(whole[step - 1] / cached[step - 1])],
    ...(all ? [[given ? `Multiplications for steps ${given + 1} to ${step}` : `Multiplications up to step ${step}`, grouped(all[0]), grouped(all[1]), times(all[1] / all[0])]] : []),
  ];
}
