// The sentence in the box, kept for a reload of the page: the model may not be there yet, so that nothing else has it.

const KEY = "attention-lab-draft";

/** Keeps a text; `drawn` is the sentence that the page shows, `isAsked` whether its translation is awaited. */
export function keepDraft(text, drawn, isAsked) {
  try {
    if (text.trim() === drawn.trim()) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify({ text, drawn, isAsked }));
  } catch { /* the storage is refused: the text lasts until the page is closed */ }
}

/** Returns { text, isAsked } of a kept text, if it was typed while the page showed `drawn`, else null. */
export function readDraft(drawn) {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEY));
    return draft?.drawn === drawn ? draft : null;
  } catch {
    return null;
  }
}
