// What is told of a room, in words and numbers. Pure: no page and no server.

import { tallied } from "./bet_parts.js";

export const spaced = (code) => `${code.slice(0, 3)} ${code.slice(3)}`;
export const follow = (count) => (count === undefined ? "" : `${count} follow${count === 1 ? "s" : ""}`);

// Path and query of what is shown; `step` 0 where there is none.
export function addressOf({ page, query, step }) {
  const words = new URLSearchParams(query);
  words.delete("step");
  if (step) words.set("step", step);
  return `/${page}${words.size ? `?${words}` : ""}`;
}

// The events that a stream has brought so far, and the rest of its text, which is not whole yet.
export function eventsOf(text) {
  const parts = text.replaceAll("\r\n", "\n").split("\n\n"), rest = parts.pop();
  const events = parts.map((part) => {
    const found = { event: "message", data: "" };
    for (const line of part.split("\n")) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) || [];
      if (name) found[name] = value;
    }
    return found;
  });
  return [events.filter(({ data }) => data), rest];
}

// How many have voted, and for what; `known` once the answer is.
export const counted = (question, told) => ({ ...tallied(question, told ?? {}), known: told?.answer !== undefined });

export const have = (voted, from) => (voted ? `${voted}${from > voted ? ` of ${from}` : ""} ${voted === 1 && !(from > voted) ? "has" : "have"} voted` : "Nobody has voted yet");

// What came of it, in one sentence with its numbers.
export function result(question, told) {
  const { rows, voted, known } = counted(question, told), { votes } = rows.find(({ right }) => right);
  const begins = voted && known ? `${votes} of ${voted} said` : "The answer is";
  return `${begins} “${question.answer}”${voted && known ? ";" : ":"} ${question.gave}.`;
}

// The words that were no option, as one sentence; empty where there were none.
export function elsewhere({ others, word }) {
  if (!others) return "";
  return word ? `${others} said “${word}”.` : `${others} said other words.`;
}
