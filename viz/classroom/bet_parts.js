// Counts and shares of a class's answers, on the big screen and on phones. Pure functions.

export const SURE = ["not sure", "fairly sure", "sure"]; // steps of confidence, from 1

// A share in percent; only 0 becomes 0% and only 1 becomes 100%.
export const percent100 = (share) => (share > 0 && share < 0.005 ? "< 1%" : share < 1 && share >= 0.995 ? "> 99%" : `${Math.round(100 * share)}%`);

const shareOf = (count, all) => (all ? count / all : 0);

// Votes and share of each option, and `before` of the round before; `others`: votes for other words, and `word` if that is one word.
export function tallied({ options, model = [], answer }, { voted = 0, votes = {}, others: uncounted = 0, rows: numbers, before } = {}) {
  const earlier = (count) => (before ? { before: shareOf(count, before.voted) } : {});
  if (numbers) {
    const groups = numbers.map(([word, count, , then, right]) => ({ word, votes: count, share: shareOf(count, voted), model: null, right, ...earlier(then) }));
    return { rows: groups, voted, others: 0, share: 0, word: "", right: numbers.reduce((sum, [, , count]) => sum + count, 0) };
  }
  const own = Object.entries(votes).filter(([word]) => !options.includes(word));
  const rows = options.map((word, n) => ({ word, votes: votes[word] ?? 0, share: shareOf(votes[word] ?? 0, voted), model: model[n] ?? null, right: word === answer, ...earlier(before?.votes[word] ?? 0) }));
  const others = own.reduce((sum, [, count]) => sum + count, uncounted);
  return { rows, voted, others, share: shareOf(others, voted), word: own.length === 1 && !uncounted ? own[0][0] : "", right: votes[answer] ?? 0 };
}

// Confidence of the class as sentences, the surest first; `sure` holds votes and right votes of each step.
export function calibration({ answer, sure = [] }) {
  const steps = sure.map(([count, right], n) => ({ name: SURE[n], count, right })).filter(({ count }) => count).reverse();
  if (!answer) return steps.length ? [`How sure: ${steps.map(({ name, count }) => `${count} ${name}`).join(", ")}.`] : [];
  return steps.map(({ name, count, right }, n) => {
    const share = percent100(right / count), of = `(${right} of ${count})`;
    return n ? `${name[0].toUpperCase()}${name.slice(1)}: ${share} ${of}.` : `Of those who were ${name}, ${share} were right ${of}.`;
  });
}

// The running score; empty before the second question. `own`: the number of own answers and of right ones.
export function scored({ asked, people, model } = { asked: 0 }, own = null) {
  const ownScore = own && own.bets > 1 ? `You: ${own.right} of ${own.bets} right.` : "";
  if (asked < 2) return ownScore;
  const [ours, its] = [people, model].map((sum) => percent100(sum / asked));
  return `Score after ${asked} questions: class ${ours} (votes), model ${its} (probability or weight).${ownScore && ` ${ownScore}`}`;
}
