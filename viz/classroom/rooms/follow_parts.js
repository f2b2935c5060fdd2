// What the page of a follower reads from addresses, codes and numbers. Pure: tested without a browser.

import { UNSEEN } from "../../offline/led_parts.js";
import { tallied } from "../bet_parts.js";

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

// What a phone says of a room, in a word or two: how the stream is, whether its owner looks around, whether the lecturer is away.
export function standing({ stream, paused, away }) {
  if (stream !== "live") return stream === "joins" ? "joining" : "away";
  if (paused) return "paused";
  return away ? "no lecturer" : "live";
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
export function shares(question) {
  const { rows, others, share, word } = tallied(question, question);
  return others ? [...rows, { word: word || "other words", votes: others, share, model: null, right: false }] : rows;
}

export const counted = (count) => (count === 0 ? "Nobody has voted yet" : count === 1 ? "1 has voted" : `${count} have voted`);
