// How a number of the table is coloured, and what is said of a word.

import { boxOf, probability } from "../kit/mount.js";

const DEEPEST = 0.55; // of the diverging scale, over which ink can be read

// `share` of a row's largest number, from -1 to 1.
export function shade({ tints, diverging }, share, signed) {
  if (!signed) return tints[Math.round(Math.max(0, Math.min(1, share)) * (tints.length - 1))];
  const middle = (diverging.length - 1) / 2;
  return diverging[Math.round(middle + middle * DEEPEST * Math.max(-1, Math.min(1, share)))];
}

// What hiding a word does to the label; -1 for a token that is no word.
export function wordTold({ words, before, after, turns, label }, word, form = probability) {
  if (word < 0) return "A control token: it is no word, and is not hidden.";
  const so = turns[word] === label ? "" : `, and the label becomes “${turns[word]}”`;
  return `Without “${words[word]}”: “${label}” ${form(before[word])} → ${form(after[word])}${so}.`;
}

// Which words a table has room for, from the first to the last, both from 0: so that `chosen` (-1: none) is among them, as near to
// what began with `first` as may be, and no column is cut.
export function inSight(widths, room, first, chosen) {
  const end = (from) => { let to = from, sum = widths[from]; while (to + 1 < widths.length && sum + widths[to + 1] <= room) sum += widths[++to]; return to; };
  let from = Math.max(0, Math.min(first, widths.length - 1));
  if (chosen >= 0 && chosen < from) from = chosen;
  while (from < chosen && end(from) < chosen) from++;
  while (from > 0 && end(from - 1) === widths.length - 1) from--; // at the end there is no empty room
  return [from, end(from)];
}

// Scrolls the table, and never the page, and makes it as wide as the columns that are whole: the first of
// them, and what is said unless it is all.
export function scrolled(scroll, first, chosen) {
  scroll.style.maxWidth = "";
  const cells = [...scroll.querySelectorAll("thead .w")];
  if (!cells.length || !(scroll.scrollWidth > scroll.clientWidth)) return [0, ""];
  const width = (cell) => boxOf(cell).width, sum = (of) => of.reduce((all, each) => all + each, 0);
  const widths = cells.map(width), beside = width(scroll.querySelector("thead .name")) + width(scroll.querySelector("thead .rho"));
  const [from, to] = inSight(widths, boxOf(scroll).width - beside, first, chosen);
  scroll.style.maxWidth = `${Math.ceil(beside + sum(widths.slice(from, to + 1)))}px`;
  scroll.scrollLeft = sum(widths.slice(0, from));
  return [from, `${widths.length} words: step on, or scroll, for those out of sight.`];
}
