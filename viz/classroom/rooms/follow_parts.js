// Addresses, codes and numbers of the followers' page. Pure functions.

import { UNSEEN } from "../../offline/remote_fields.js";
import { tallied } from "../bet_parts.js";

const LECTURE = ["lecture", "large", "talk", "stop", "assignment", "task", "author"]; // private parameters of the lecturer
const WAITS = [1, 2, 4, 8, 12]; // s between two attempts to reach the lab

// Typed text as a code, or null.
export function codeOf(typed, { letters, length }) {
  const code = typed.toUpperCase().replace(/[\s–—-]/g, "");
  return code.length === length && [...code].every((letter) => letters.includes(letter)) ? code : null;
}

// A URL on this site; the first page for any other address.
export function local(address) {
  const home = "http://lab";
  try {
    const url = new URL(address, home);
    if (url.origin === home && !url.pathname.startsWith("//")) return url;
  } catch { /* it is none */ }
  return new URL(home);
}

// The text after /follow/ in an address, decoded if possible.
export function typedIn(pathname) {
  const part = pathname.split("/")[2] ?? "";
  try { return decodeURIComponent(part); } catch { return part; }
}

// The page name and query of an address.
export function placeOf(address) {
  const { pathname, searchParams } = local(address);
  return { page: pathname.replace(/^\/+|\/+$/g, ""), query: Object.fromEntries(searchParams) };
}

// The address of the view in the lab, for a follower who explores.
export function labLink(address, code) {
  const url = local(address);
  for (const name of LECTURE) url.searchParams.delete(name);
  url.searchParams.set("room", code);
  return url.pathname + url.search;
}

// An address without parameters that do not change the picture; a key of the view.
export function viewKey(address) {
  const url = local(address);
  for (const name of UNSEEN) url.searchParams.delete(name);
  url.searchParams.sort();
  return url.pathname + url.search;
}

// The state of the page in a word or two; `exploring`: the reader has moved on.
export function standing({ stream, exploring, away }) {
  if (stream === "joins") return "joining";
  if (stream !== "live") return "paused";
  if (exploring) return "your view";
  return away ? "paused" : "live";
}

// A time of day, such as 10:42; `ms` since 1970.
export const timeOf = (ms) => new Date(ms).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

// Seconds before the next attempt; random, so that phones do not return together. `chance` is from 0 to 1.
export const delay = (tries, chance) => WAITS[Math.min(tries, WAITS.length - 1)] * (0.75 + 0.5 * chance);

// The typed word, or the option equal to it without regard to case.
export function meant(typed, options) {
  const word = typed.trim().replace(/[’ʼ]/g, "'"), plain = (text) => text.replace(/^…/, "").toLocaleLowerCase();
  return options.find((option) => plain(option) === plain(word)) ?? word;
}

// A question, split after its question mark.
export const parted = (text) => /^(.*?\?) (.+)$/s.exec(text)?.slice(1) ?? [text, ""];

// Votes and shares of each option, last the other words.
export function shares(question) {
  const { rows, others, share, word } = tallied(question, question);
  return others ? [...rows, { word: word || "other words", votes: others, share, model: null, right: false }] : rows;
}

export const counted = (count) => (count === 0 ? "No votes yet" : count === 1 ? "1 has voted" : `${count} have voted`);

export const isLong = (word) => word.length > 14; // one column

// Returns true for a right answer; a number is right if it rounds to the answer as typed.
export function isRight({ kind, answer }, word) {
  if (!answer || !word) return false;
  if (kind !== "number") return word === answer;
  return Math.abs(Number(word) - Number(answer)) <= 0.5 * 10 ** -(answer.split(".")[1]?.length ?? 0) + 1e-12 * Math.abs(Number(answer));
}

// A typed number with a point, or null.
export function numberOf(typed) {
  const text = typed.trim().replace(",", ".").replace("−", "-");
  return text && Math.abs(Number(text)) <= 1e15 && /^[\d.+-][\d.e+-]*$/i.test(text) ? text : null;
}
