// Keys that a component takes wherever the page has the focus.

import { free } from "./mount.js";

const TAKEN = "[role=radiogroup],[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox]"; // these have arrows of their own

// Whether the space bar means something to what has the focus; on what is chosen already it does not.
export const presses = (at) => !at.closest?.("[role=radio][aria-checked=true]") && Boolean(at.closest?.("button,summary,a,input:not(.range),[role=radio],[role=switch],[role=treeitem]"));
// Whether the arrow keys do.
export const moves = (at) => Boolean(at.closest?.("[role=slider],[role=listbox],[role=menu],[role=tree],[role=tablist],[role=combobox]")) || (at.type === "range" && at.className !== "range") || Boolean(at.matches?.("[role=application]"));

// `handle` gets the key and what has the focus, and says whether it means something here; not where somebody types, nor within what has arrows of its
// own or matches `own`. Returns what ends it.
export function onPageKeys(own, handle) {
  const pressed = (event) => {
    const at = event.composedPath()[0];
    if (!free(event, at) || /^(INPUT|CANVAS)$/.test(at.tagName) || at.closest?.(`${TAKEN},${own}`)) return;
    if (handle(event.key, at)) event.preventDefault();
  };
  document.addEventListener("keydown", pressed);
  return () => document.removeEventListener("keydown", pressed);
}
