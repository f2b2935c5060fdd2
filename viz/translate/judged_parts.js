// What is said of a text that is judged.

import { nth, percent } from "../shared/mount.js";

// The next label beside the likeliest.
export function against(best, next, tie) {
  const both = `“${best.name}” ${percent(best.p)} against “${next.name}” ${percent(next.p)}`;
  return tie ? `A near-tie: ${both}. Little tips it.` : `${both}.`;
}

// A token with its weight.
export function tokenTold({ tokens, weights, whose }, n) {
  return `“${nth(tokens.map(({ t }) => t), n)}”: weight ${weights[n].toFixed(4)} (${whose})`;
}
