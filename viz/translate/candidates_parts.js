// What is said of the likeliest tokens: what is left for all others, and what a guess was worth.

import { percent } from "../shared/mount.js";

export function judged(rows, guessed) {
  const plain = (text) => text.replace(/^·/, "").trim().toLowerCase(), guess = plain(guessed);
  const whole = rows.findIndex(([piece]) => plain(piece) === guess), part = rows.findIndex(([piece]) => plain(piece).length > 1 && guess.startsWith(plain(piece)));
  const at = whole >= 0 ? whole : part;
  if (at < 0) return `“${guessed.trim()}” is not among its ${rows.length} likeliest.`;
  const what = whole >= 0 ? `“${guessed.trim()}”` : `“${rows[at][0].replace(/^·/, "")}”, with which your guess begins,`;
  return `${what} is its number ${at + 1}, with probability ${percent(rows[at][4])}.`;
}

// What the tokens in the list have together, those that are scrolled to with them, and what all others have.
export function rest(rows, size) {
  const sum = rows.reduce((all, row) => all + row[4], 0), others = size - rows.length;
  return `${rows.length} listed: ${percent(Math.min(1, sum))}; ${others.toLocaleString("en")} others: ${percent(Math.max(0, 1 - sum))}`;
}
