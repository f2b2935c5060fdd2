// Keys that a component takes wherever the page has the focus.

import { free } from "./mount.js";

const TAKEN = "[role=radiogroup],[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox]"; // these have arrows of their own

// Whether the space bar means something to what has the focus; on what is chosen already it does not.
export const presses = (at) => !at.closest?.("[role=radio][aria-checked=true]") && Boolean(at.closest?.("button,summary,a,input:not(.range),[role=radio],[role=switch],[role=treeitem]"));
// Whether the arrow keys do.
export const moves = (at) => Boolean(at.closest?.("[role=slider],[role=listbox],[role=menu],[role=tree],[role=tablist],[role=combobox]")) || (at.type === "range" && at.className !== "range") || Boolean(at.matches?.("[role=application]"));

// The step beside one, from 1 to `steps`; of a page that has some of them alone, the next of these.
export function neighbourStep(step, by, steps, only = []) {
  if (!only.length) return Math.max(1, Math.min(steps, step + by));
  return (by > 0 ? only.find((n) => n > step) : only.findLast((n) => n < step)) ?? step;
}

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
