// Counts and shares of a class's answers, on the big screen and on phones. Pure functions.

// A share in percent; only 0 becomes 0% and only 1 becomes 100%.
export const percent100 = (share) => (share > 0 && share < 0.005 ? "< 1%" : share < 1 && share >= 0.995 ? "> 99%" : `${Math.round(100 * share)}%`);

// Votes and share of each option; `others`: votes for other words, and `word` if that is one word.
export function tallied({ options, model, answer }, { voted = 0, votes = {}, others: uncounted = 0 } = {}) {
  const own = Object.entries(votes).filter(([word]) => !options.includes(word)), of = (count) => (voted ? count / voted : 0);
  const rows = options.map((word, n) => ({ word, votes: votes[word] ?? 0, share: of(votes[word] ?? 0), model: model[n], right: word === answer }));
  const others = own.reduce((sum, [, count]) => sum + count, uncounted);
  return { rows, voted, others, share: of(others), word: own.length === 1 && !uncounted ? own[0][0] : "" };
}

// The running score; empty before the second question. `own`: the number of own bets and of right ones.
export function scored({ asked, people, model } = { asked: 0 }, own = null) {
  if (asked < 2) return "";
  const ownScore = own && own.bets > 1 ? ` You: ${own.right} of ${own.bets} right.` : "";
  const [ours, its] = [people, model].map((sum) => percent100(sum / asked));
  return `Score after ${asked} questions: class ${ours} (votes), model ${its} (probability or weight).${ownScore}`;
}
