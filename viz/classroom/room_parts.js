// Texts and numbers of a room. Pure functions.

import { tallied } from "./bet_parts.js";

export const spaced = (code) => `${code.slice(0, 3)} ${code.slice(3)}`;
export const follow = (count) => (count === undefined ? "" : `${count} follow${count === 1 ? "s" : ""}`);

// Path and query of the current page; `step` 0 means none.
export function addressOf({ page, query, step }) {
  const words = new URLSearchParams(query);
  words.delete("step");
  if (step) words.set("step", step);
  return `/${page}${words.size ? `?${words}` : ""}`;
}

// The complete events of a stream so far, and the rest of its text.
export function eventsOf(text) {
  const parts = text.replaceAll("\r\n", "\n").split("\n\n"), rest = parts.pop();
  const events = parts.map((part) => {
    const fields = { event: "message", data: "" };
    for (const line of part.split("\n")) {
      const [, name, value] = /^(\w+): ?(.*)$/.exec(line) || [];
      if (name) fields[name] = value;
    }
    return fields;
  });
  return [events.filter(({ data }) => data), rest];
}

// Votes by option; `known` after the answer.
export const counted = (question, roomQuestion) => ({ ...tallied(question, roomQuestion ?? {}), known: roomQuestion?.answer !== undefined });

export const have = (voted, from) => (voted ? `${voted}${from > voted ? ` of ${from}` : ""} ${voted === 1 && !(from > voted) ? "has" : "have"} voted` : "No votes yet");

// The result as one sentence.
export function result(question, roomQuestion) {
  const { voted, known: isRevealed, right } = counted(question, roomQuestion), of = voted && isRevealed;
  if (!question.answer) return `${!isRevealed || !voted ? "" : voted === 1 ? "1 answer. " : `${voted} answers. `}No right answer.`;
  if (question.kind === "number" && of) return `${right} of ${voted} ${right === 1 ? "is" : "are"} right. The answer is “${question.answer}”.`;
  const opening = of ? `${right} of ${voted} said` : "The answer is", gave = question.gave ? `${of ? ";" : ":"} ${question.gave}` : of ? ", the right answer" : "";
  return `${opening} “${question.answer}”${gave}.`;
}

// Votes for other words as one sentence, or empty.
export function elsewhere({ others, word }) {
  if (!others) return "";
  return word ? `${others} said “${word}”.` : `${others} said other words.`;
}
