// Handles keys for a component anywhere on the page.

import { isKeyFree } from "./mount.js";

const ARROW_WIDGETS = "[role=radiogroup],[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox]"; // widgets that use the arrow keys

// Returns whether the focused element uses the space bar. A selected radio button does not.
export const usesSpaceKey = (target) => !target.closest?.("[role=radio][aria-checked=true]") && Boolean(target.closest?.("button,summary,a,input:not(.range),[role=radio],[role=switch],[role=treeitem]"));
// Returns whether the focused element uses the arrow keys.
export const usesArrowKeys = (target) => Boolean(target.closest?.("[role=slider],[role=listbox],[role=menu],[role=tree],[role=tablist],[role=combobox]")) || (target.type === "range" && target.className !== "range") || Boolean(target.matches?.("[role=application]"));

// Returns the neighbouring step, from 1 to `steps`. If `only` lists the available steps, returns the next of these.
export function neighbourStep(step, by, steps, only = []) {
  if (!only.length) return Math.max(1, Math.min(steps, step + by));
  return (by > 0 ? only.find((n) => n > step) : only.findLast((n) => n < step)) ?? step;
}

// Calls `handle` with the key and the focused element. `handle` returns whether it used the key. Keys are ignored while the user types,
// inside widgets that use the arrow keys and inside elements that match `own`. Returns a function that removes the listener.
export function onPageKeys(own, handle) {
  const onKeyDown = (event) => {
    const target = event.composedPath()[0];
    if (!isKeyFree(event, target) || /^(INPUT|CANVAS)$/.test(target.tagName) || target.closest?.(`${ARROW_WIDGETS},${own}`)) return;
    if (handle(event.key, target)) event.preventDefault();
  };
  document.addEventListener("keydown", onKeyDown);
  return () => document.removeEventListener("keydown", onKeyDown);
}
