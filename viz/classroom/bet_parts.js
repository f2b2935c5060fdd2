// What a class said, as numbers and in words: the same on the beamer and on every phone. Pure: no page and no server.

// A share in hundredths: nothing that is not 0 becomes 0, and nothing that is not all becomes all.
export const percent100 = (share) => (share > 0 && share < 0.005 ? "< 1%" : share < 1 && share >= 0.995 ? "> 99%" : `${Math.round(100 * share)}%`);

// The votes for each option, with their share of all who voted; what was said beside them: how many `others`, and `word` where
// it was one and the same.
export function tallied({ options, model, answer }, { voted = 0, votes = {}, others: untold = 0 } = {}) {
  const own = Object.entries(votes).filter(([word]) => !options.includes(word)), of = (count) => (voted ? count / voted : 0);
  const rows = options.map((word, n) => ({ word, votes: votes[word] ?? 0, share: of(votes[word] ?? 0), model: model[n], right: word === answer }));
  const others = own.reduce((sum, [, count]) => sum + count, untold);
  return { rows, voted, others, share: of(others), word: own.length === 1 && !untold ? own[0][0] : "" };
}

// The running score, which says what it counts; empty before the second question. `own`: of how many bets of one's own how many
// were right.
export function scored({ asked, people, model } = { asked: 0 }, own = null) {
  if (asked < 2) return "";
  const mine = own && own.bets > 1 ? ` You were right in ${own.right} of ${own.bets}.` : "";
  const [ours, its] = [people, model].map((sum) => percent100(sum / asked));
  return `Score after ${asked} questions: class ${ours}, model ${its} (of the votes, and of its probability or weight, on the answers).${mine}`;
}
