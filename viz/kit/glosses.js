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

// Calls `write` with the meanings of words, and again when the list is there.
export function explain(write, ...words) {
  const call = () => write(meaningOf(...words));
  call();
  if (words.some(Boolean) && !globalThis.attentionLabGlosses) document.addEventListener(LOADED, call, { once: true });
}

// Sets the tooltip of a node to the meaning of a word and a text.
export function setTitle(node, text, word) {
  explain((meaning) => { node.title = [meaning, text].filter(Boolean).join(". "); }, word);
}

// Returns the word that a candidate would end, with the pieces of the tokens before it: a piece that begins with · begins a word.
export function wordOf(piece, before) {
  let text = piece;
  for (let n = before.length - 1; n >= 0 && !text.startsWith("·"); n--) text = before[n] + text;
  const word = text.replace(/^·/, "").toLowerCase().replaceAll("’", "'");
  return meaningOf(word) || !/^[\p{L}]/u.test(piece) ? word : word.split(/-|(?<=')/).at(-1);
}
