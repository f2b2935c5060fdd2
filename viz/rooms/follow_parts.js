// What the page of a follower reads from addresses, codes and numbers. Pure: tested without a browser.

import { UNSEEN } from "../offline/led_parts.js";

const LECTURE = ["lecture", "large", "talk", "stop"]; // parameters of the lecturer alone
const WAITS = [1, 2, 4, 8, 12]; // s, between two tries to reach the lab

// What somebody typed, as a code of a room; null where it cannot be one.
export function codeOf(typed, { letters, length }) {
  const code = typed.toUpperCase().replace(/[\s–—-]/g, "");
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : null;
}

// An address of a room, on this very site; that of the first page for one that leads out of it.
export function local(address) {
  const home = "http://lab";
  try {
    const url = new URL(address, home);
    if (url.origin === home && !url.pathname.startsWith("//")) return url;
  } catch { /* it is none */ }
  return new URL(home);
}

// What stands behind /follow/ in an address, as it was typed; what cannot be read stays as it is.
export function typedIn(pathname) {
  const part = pathname.split("/")[2] ?? "";
  try { return decodeURIComponent(part); } catch { return part; }
}

// The page of an address, as its last part, and its query.
export function placeOf(address) {
  const { pathname, searchParams } = local(address);
  return { page: pathname.replace(/^\/+|\/+$/g, ""), query: Object.fromEntries(searchParams) };
}

// The same view in the lab, for somebody who left a room to look around.
export function labLink(address, code) {
  const url = local(address);
  for (const name of LECTURE) url.searchParams.delete(name);
  url.searchParams.set("room", code);
  return url.pathname + url.search;
}

// An address without what changes nothing of what is seen: that of another view is another one.
export function seen(address) {
  const url = local(address);
  for (const name of UNSEEN) url.searchParams.delete(name);
  url.searchParams.sort();
  return url.pathname + url.search;
}

// In how many seconds to try again, after so many tries: a hall full of phones does not come back at once. `chance` from 0 to 1.
export const delay = (tries, chance) => WAITS[Math.min(tries, WAITS.length - 1)] * (0.75 + 0.5 * chance);

// What was typed, or the answer that it means: nobody loses for a capital letter.
export function meant(typed, options) {
  const word = typed.trim().replace(/[’ʼ]/g, "'"), plain = (text) => text.replace(/^…/, "").toLocaleLowerCase();
  return options.find((option) => plain(option) === plain(word)) ?? word;
}

// A question as its question mark parts it: what is asked, and what it is asked about.
export const parted = (text) => /^(.*?\?) (.+)$/s.exec(text)?.slice(1) ?? [text, ""];

// For each answer how many of the class, which share of it and of the model, were for it; last the words that nobody offered.
export function shares({ options, votes, model, answer }) {
  const all = Object.values(votes).reduce((sum, count) => sum + count, 0);
  const row = (word, count, own, right) => ({ word, votes: count, people: all ? count / all : 0, model: own, right });
  const rows = options.map((word, n) => row(word, votes[word] ?? 0, model[n], word === answer));
  const others = Object.entries(votes).filter(([word]) => !options.includes(word));
  const left = others.reduce((sum, [, count]) => sum + count, 0);
  return left ? [...rows, row(others.length === 1 ? others[0][0] : "other words", left, null, false)] : rows;
}

export const percent100 = (share) => (share > 0 && share < 0.005 ? "< 1%" : share < 1 && share >= 0.995 ? "> 99%" : `${Math.round(100 * share)}%`);

export const counted = (count) => (count === 0 ? "Nobody has voted yet" : count === 1 ? "1 has voted" : `${count} have voted`);

// The running score as a sentence; empty before the second question. `own`: of how many bets how many were right.
export function scored({ asked, people, model }, own = null) {
  if (asked < 2) return "";
  const mine = own && own.bets > 1 ? ` You were right in ${own.right} of ${own.bets}.` : "";
  const [ours, its] = [people, model].map((sum) => percent100(sum / asked));
  return `Score after ${asked} questions: class ${ours}, model ${its} (of the votes, and of its probability or weight, on the answers).${mine}`;
}
