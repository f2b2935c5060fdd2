// The end of the sidebar: a button that opens the list of terms, and the facts of the checkpoint.

import { button, element, mountComponent, term } from "../kit/mount.js";

export function mountReference({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".reference");
  if (first) beginTerms(root, state, data.terms);
  const shown = JSON.stringify(data.facts);
  if (shown !== state.shown) drawFacts(state.facts, data);
  state.shown = shown;
  return () => state.list.hidePopover();
}

function beginTerms(root, state, terms) {
  const opener = button("begin", "Terms"), list = element("dl", "glossary");
  for (const name in terms) list.append(element("dt", "", name), element("dd", "", terms[name]));
  list.popover = "auto"; // closes on Escape, and on a click beside it
  list.tabIndex = 0;
  list.setAttribute("role", "dialog");
  list.setAttribute("aria-label", "Terms");
  list.onkeydown = (event) => { if (event.key === "Escape") event.stopPropagation(); };
  list.ontoggle = (event) => {
    if (event.newState === "open") list.focus({ preventScroll: true });
    else if ([list, null].includes(root.getRootNode().activeElement)) opener.focus({ preventScroll: true });
  };
  opener.popoverTargetElement = list;
  Object.assign(state, { list, facts: element("div", "facts") });
  root.replaceChildren(opener, list, state.facts);
}

function drawFacts(root, { facts, terms }) {
  root.replaceChildren();
  if (!facts) return;
  const text = element("p");
  for (const [part, name] of facts.text) text.append(name ? term(terms, name, part) : part);
  root.append(element("b", "", facts.name), text, element("p", "", facts.device));
}
