// Short English meanings of French words. The component of the frame brings the list once (`glosses.py`); until then there are none.

const LOADED = "attention-lab-glosses"; // event: the list is there

export function loadGlosses(text) {
  if (globalThis.attentionLabGlosses) return;
  globalThis.attentionLabGlosses = new Map(text.split(/; |\n/).filter(Boolean).map((entry) => entry.split(/: (.*)/)));
  document.dispatchEvent(new Event(LOADED));
}

// Returns the meanings of words, each once: “chat”: cat. Empty for words that the list lacks.
export function meaningOf(...words) {
  const known = [...new Set(words)].filter((word) => globalThis.attentionLabGlosses?.has(word));
  return known.map((word) => `“${word}”: ${globalThis.attentionLabGlosses.get(word)}`).join(". ");
}

// Sets the tooltip of a node to a text and the meaning of a word, as soon as the list is there.
export function setTitle(node, text, word) {
  const write = () => { node.title = [meaningOf(word), text].filter(Boolean).join(". "); };
  write();
  if (word && !globalThis.attentionLabGlosses) document.addEventListener(LOADED, write, { once: true });
}

// Returns the word that a candidate would end, with the pieces of the tokens before it: a piece that begins with · begins a word.
export function wordOf(piece, before) {
  let text = piece;
  for (let n = before.length - 1; n >= 0 && !text.startsWith("·"); n--) text = before[n] + text;
  const word = text.replace(/^·/, "").toLowerCase().replaceAll("’", "'");
  return meaningOf(word) || !/^[\p{L}]/u.test(piece) ? word : word.split(/-|(?<=')/).at(-1);
}
