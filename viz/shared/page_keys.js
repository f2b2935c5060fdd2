// Keys that a component takes wherever the page has the focus.

import { free } from "./mount.js";

const TAKEN = "[role=radiogroup],[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox]"; // these have arrows of their own

// `handle` gets the key and says whether it means something here; not where somebody types, nor within what has arrows of its
// own or matches `own`. Returns what ends it.
export function onPageKeys(own, handle) {
  const pressed = (event) => {
    const at = event.composedPath()[0];
    if (!free(event, at) || /^(INPUT|CANVAS)$/.test(at.tagName) || at.closest?.(`${TAKEN},${own}`)) return;
    if (handle(event.key)) event.preventDefault();
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
