// What is said of the likeliest tokens: what is left for all others, and what a guess was worth.

import { isKeyFree, probability, REVEAL } from "../kit/mount.js";

// In lecture mode the keys up and down go from candidate to candidate, wherever the keyboard is, and what a step hides is shown once
// the timeline is told to. Returns what ends it.
export function walking(root, state) {
  const ends = new AbortController(), { signal } = ends;
  document.addEventListener("keydown", (event) => {
    const at = event.composedPath()[0], by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!state.data.hall || !by || !isKeyFree(event, at) || at.closest?.("[role=application],[role=listbox],[role=menu],[role=radiogroup]")) return;
    const rows = [...root.querySelectorAll(".row:not(:disabled)")], now = rows.indexOf(root.getRootNode().activeElement);
    if (!rows.length) return;
    rows[now < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, now + by))].focus();
    event.preventDefault();
  }, { signal });
  document.addEventListener(REVEAL, ({ detail }) => {
    if (detail.step !== state.step || state.revealed === detail.step) return;
    state.revealed = detail.step;
    state.draw();
  }, { signal });
  return () => ends.abort();
}

export function judged(rows, guessed, form = probability) {
  const plain = (text) => text.replace(/^·/, "").trim().toLowerCase(), guess = plain(guessed);
  const whole = rows.findIndex(([piece]) => plain(piece) === guess), part = rows.findIndex(([piece]) => plain(piece).length > 1 && guess.startsWith(plain(piece)));
  const at = whole >= 0 ? whole : part;
  if (at < 0) return `“${guessed.trim()}” is not among its top ${rows.length} tokens.`;
  const what = whole >= 0 ? `“${guessed.trim()}”` : `“${rows[at][0].replace(/^·/, "")}”, with which your guess begins,`;
  return `${what} is its number ${at + 1}, with probability ${form(rows[at][4])}.`;
}

// The probability that is left for all other tokens.
export function rest(rows, form = probability) {
  const sum = rows.reduce((all, row) => all + row[4], 0);
  return `All others: ${form(Math.max(0, 1 - sum))}`;
}

// Puts the token that was chosen among the rows, where it is not one of the likeliest; in lecture mode it is the last of them. Of a
// text that is read (`stands`) it stands first, apart from the list.
export function withChosen(rows, chosen, { sampling, hall, stands }) {
  if (rows.some(([, id]) => id === chosen[1])) return rows;
  rows.splice(hall ? 4 : stands ? 0 : sampling ? 3 : 4, hall ? 1 : 0, chosen);
  return rows;
}
