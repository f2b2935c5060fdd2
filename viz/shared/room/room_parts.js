// What is told of a room, in words and numbers. Pure: no page and no server.

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

// How many have voted, and for what: `rows` of a question, and the votes for words that were no option.
export function counted(question, told) {
  const votes = told?.votes ?? {}, known = new Set(question.options);
  const others = Object.entries(votes).filter(([word]) => !known.has(word));
  const voted = told?.voted ?? 0, of = (count) => (voted ? count / voted : 0);
  const rows = question.options.map((word, n) => ({ word, votes: votes[word] ?? 0, share: of(votes[word] ?? 0), model: question.model[n], right: word === question.answer }));
  return { rows, voted, known: told?.answer !== undefined, others: others.reduce((sum, [, count]) => sum + count, 0), words: others.map(([word]) => word) };
}

export const have = (voted, from) => (voted ? `${voted}${from > voted ? ` of ${from}` : ""} ${voted === 1 && !(from > voted) ? "has" : "have"} voted` : "Nobody has voted yet");

// What came of it, in one sentence with its numbers.
export function result(question, told) {
  const { rows, voted, known } = counted(question, told), { votes } = rows.find(({ right }) => right);
  const begins = voted && known ? `${votes} of ${voted} said` : "The answer is";
  return `${begins} “${question.answer}”${voted && known ? ";" : ":"} ${question.gave}.`;
}

// The words that were no option, as one sentence; empty where there were none.
export function elsewhere({ others, words }) {
  if (!others) return "";
  return words.length === 1 ? `${others} said “${words[0]}”.` : `${others} said other words.`;
}

const hundredths = (share) => `${Math.round(100 * share)}%`;

// The running score, which says what it counts; empty before the second question.
export function scored({ asked, people, model } = { asked: 0 }) {
  if (asked < 2) return "";
  const [ours, its] = [people, model].map((sum) => hundredths(sum / asked));
  return `Score after ${asked} questions: class ${ours}, model ${its} (of the votes, and of its probability or weight, on the answers).`;
}
