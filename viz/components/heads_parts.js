// What the view of all heads is made of; put before heads.js. Nothing here makes markup from text: textContent only.

const LEFT = 22, TOP = 16, GAP = 2;
const NUMBERS = ["Entropy, nats", "Largest weight", "Mean distance", "On previous", "On same", "On next", "On </s>", "On punctuation"];
const MEASURES = { weights: "weights", contribution: "contribution: weight × norm of the value", rollout: "rollout of all layers up to here, heads together" };

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function unpacked(grid) { // the weights of the allowed cells, head by head, and where these cells are
  grid.raw ||= atob(grid.bytes);
  grid.cells ||= [...grid.allowed].map((cell, at) => (cell === "1" ? at : -1)).filter((at) => at >= 0);
  return grid;
}

// A head under the pointer as a map, to the nearest 1/255.
function previewed(grid, index) {
  const [m, n] = grid.shape, { raw, cells } = unpacked(grid), values = Array.from({ length: m }, () => new Array(n).fill(0)), allowed = values.map((row) => [...row]);
  cells.forEach((at, k) => {
    const i = Math.floor(at / n), j = at % n;
    values[i][j] = raw.charCodeAt(index * cells.length + k) / 255;
    allowed[i][j] = 1;
  });
  const kept = values.map((row) => row.map((w) => (w > 0.08 ? 1 : 0)));
  return { values, kept, allowed, queries: grid.queries, keys: grid.keys, row: null, rough: true };
}
