// The French words that the tokens of a translation belong to, as viz/kit/glosses.py finds them.

const LONGEST = 4; // words of a phrase: pomme de terre

/** Returns for each token the listed word or phrase that it belongs to, else an empty text. */
export function glossed({ labels, words }, meanings) {
  const parts = []; // words of the sentence
  const owners = []; // for each token, its part
  for (let n = 0; n < labels.length;) {
    let end = n;
    while (end < labels.length && words[end] === words[n]) end += 1;
    const own = labels.slice(n, end).map((label) => label.toLowerCase().replaceAll("’", "'"));
    const pieces = divided(own.join(""), meanings);
    const ends = pieces.map((_, k) => pieces.slice(0, k + 1).join("").length);
    let start = 0;
    for (const label of own) {
      owners.push(parts.length + ends.findIndex((each) => start < each));
      start += label.length;
    }
    parts.push(...pieces);
    n = end;
  }
  return owners.map((part) => phrase(parts, part, meanings));
}

/** Returns the words of a text without spaces: after each apostrophe, and at hyphens that no listed word has. */
function divided(text, meanings) {
  if (meanings.has(text)) return [text];
  const elided = text.match(/[^']*'|[^']+/g) ?? [];
  const found = elided.flatMap((each) => (meanings.has(each) ? [each] : each.match(/-|[^-]+/g) ?? []));
  return found.length ? found : [text];
}

/** Returns the longest listed phrase around a word, else the word if it is listed, else an empty text. */
function phrase(parts, part, meanings) {
  for (let size = LONGEST; size > 0; size -= 1) {
    for (let first = Math.max(0, part - size + 1); first <= part; first += 1) {
      const text = parts.slice(first, first + size).join(" ");
      if (first + size <= parts.length && meanings.has(text)) return text;
    }
  }
  return "";
}
