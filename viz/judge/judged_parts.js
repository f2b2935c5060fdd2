// What is said of a text that is judged.

import { boxOf, nth, exactProbability, probability } from "../kit/mount.js";

const AIR = 3; // px that the ring of a token needs

// The next label beside the likeliest.
export function against(best, next, tie, form = probability) {
  const both = `“${best.name}” ${form(best.p)} against “${next.name}” ${form(next.p)}`;
  return tie ? `A near-tie: ${both}. Little tips it.` : `${both}.`;
}

// A token with its weight.
export function tokenTold({ tokens, weights, whose }, n) {
  return `“${nth(tokens.map(({ t }) => t), n)}”: weight ${exactProbability(weights[n])} (${whose})`;
}

// Scrolls the tokens, and never the page, so that one of them is seen.
export function intoSight(tokens, chip) {
  if (!chip || !(tokens.scrollHeight > tokens.clientHeight)) return;
  const all = boxOf(tokens), one = boxOf(chip);
  tokens.scrollTop += Math.min(0, one.top - all.top - AIR) + Math.max(0, one.bottom - all.bottom + AIR);
}
