// How a number of the table is coloured, and what is said of a word.

const DEEPEST = 0.55; // of the diverging scale, over which ink can be read

// `share` of a row's largest number, from -1 to 1.
export function shade({ tints, diverging }, share, signed) {
  if (!signed) return tints[Math.round(Math.max(0, Math.min(1, share)) * (tints.length - 1))];
  const middle = (diverging.length - 1) / 2;
  return diverging[Math.round(middle + middle * DEEPEST * Math.max(-1, Math.min(1, share)))];
}

// What hiding a word does to the label; -1 for a token that is no word.
export function wordTold({ words, before, after, turns, label }, word, percent) {
  if (word < 0) return "A control token: it is no word, and is not hidden.";
  const so = turns[word] === label ? "" : `, and the label becomes “${turns[word]}”`;
  return `Without “${words[word]}”: “${label}” ${percent(before[word])} → ${percent(after[word])}${so}.`;
}
