// What the page of a follower reads from addresses, codes and numbers. Pure: tested without a browser.

import { UNSEEN } from "../offline/led_parts.js";

const LECTURE = ["lecture", "talk", "stop"]; // parameters of the lecturer alone
const WAITS = [1, 2, 4, 8, 12]; // s, between two tries to reach the lab

// What somebody typed, as a code of a room; null where it cannot be one.
export function codeOf(typed, { letters, length }) {
  const code = typed.toUpperCase().replace(/[\s–—-]/g, "");
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : null;
}

// The page of an address, as its last part, and its query.
export function placeOf(address) {
  const { pathname, searchParams } = new URL(address, "http://lab");
  return { page: pathname.replace(/^\/+|\/+$/g, ""), query: Object.fromEntries(searchParams) };
}

// The same view in the lab, for somebody who left a room to look around.
export function labLink(address, code) {
  const url = new URL(address, "http://lab");
  for (const name of LECTURE) url.searchParams.delete(name);
  url.searchParams.set("room", code);
  return url.pathname + url.search;
}

// An address without what changes nothing of what is seen: that of another view is another one.
export function seen(address) {
  const url = new URL(address, "http://lab");
  for (const name of UNSEEN) url.searchParams.delete(name);
  url.searchParams.sort();
  return url.pathname + url.search;
}

// In how many seconds to try again, after so many tries: a hall full of phones does not come back at once. `chance` from 0 to 1.
export const delay = (tries, chance) => WAITS[Math.min(tries, WAITS.length - 1)] * (0.75 + 0.5 * chance);

// What was typed, or the answer that it means: nobody loses for a capital letter.
export function meant(typed, options) {
  const word = typed.trim().replace(/[’ʼ]/g, "'"), plain = word.toLocaleLowerCase();
  return options.find((option) => option.toLocaleLowerCase() === plain) ?? word;
}

// For each answer how much of the class and of the model lay on it; last the words that nobody offered, together.
export function shares({ options, votes, model, answer }) {
  const all = Object.values(votes).reduce((sum, count) => sum + count, 0), of = (count) => (all ? count / all : 0);
  const rows = options.map((word, n) => ({ word, people: of(votes[word] ?? 0), model: model[n], right: word === answer }));
  const others = Object.entries(votes).filter(([word]) => !options.includes(word));
  const left = others.reduce((sum, [, count]) => sum + count, 0);
  if (left) rows.push({ word: others.length === 1 ? others[0][0] : "other words", people: of(left), model: null, right: false });
  return rows;
}

export const percent100 = (share) => (share > 0 && share < 0.005 ? "< 1%" : share < 1 && share >= 0.995 ? "> 99%" : `${Math.round(100 * share)}%`);

export const counted = (count) => (count === 0 ? "Nobody has voted yet" : count === 1 ? "1 has voted" : `${count} have voted`);

// The running score as a sentence; empty before the second question.
export function scored({ asked, people, model }) {
  if (asked < 2) return "";
  return `After ${asked} questions: of the class’s votes ${percent100(people / asked)} were right; the model gave the answers ${percent100(model / asked)}.`;
}
