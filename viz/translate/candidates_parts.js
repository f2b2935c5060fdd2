// What a guess of the next token was worth, among the likeliest ones.

import { percent } from "../shared/mount.js";

export function judged(rows, guessed) {
  const plain = (text) => text.replace(/^·/, "").trim().toLowerCase(), guess = plain(guessed);
  const whole = rows.findIndex(([piece]) => plain(piece) === guess), part = rows.findIndex(([piece]) => plain(piece).length > 1 && guess.startsWith(plain(piece)));
  const at = whole >= 0 ? whole : part;
  if (at < 0) return `“${guessed.trim()}” is not among its ${rows.length} likeliest.`;
  const what = whole >= 0 ? `“${guessed.trim()}”` : `“${rows[at][0].replace(/^·/, "")}”, with which your guess begins,`;
  return `${what} is its number ${at + 1}, with probability ${percent(rows[at][4])}.`;
}
