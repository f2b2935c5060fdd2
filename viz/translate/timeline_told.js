// What stands beside the steps in words: how far the translation is to be trusted, and why this token. Nothing here makes markup
// from text: textContent only.

import { button, cut, element, nth } from "../shared/mount.js";

const LONGEST = 12; // characters of a token in a line

// One line under the translation; what it stands on opens over the page, so that nothing moves.
export function doubt({ verdict, signs, meant }, hidden) {
  const line = element("div", "doubt");
  if (hidden) return line;
  const more = [...signs, meant].filter(Boolean);
  if (!more.length) { line.append(element("span", "", verdict)); return line; }
  const panel = element("div", "signs"), open = button(`verdict${signs.length ? " some" : ""}`, verdict, null);
  const list = element("ul");
  for (const sign of signs) list.append(element("li", "", sign));
  if (signs.length) panel.append(element("h3", "", "What makes it doubtful"), list);
  if (meant) panel.append(element("p", "", meant));
  panel.setAttribute("popover", "auto");
  open.popoverTargetElement = panel;
  open.dataset.focus = "doubt";
  open.title = verdict;
  open.setAttribute("aria-haspopup", "dialog");
  panel.setAttribute("role", "dialog");
  panel.setAttribute("aria-label", "Signs of doubt");
  panel.onbeforetoggle = ({ newState }) => {
    open.setAttribute("aria-expanded", String(newState === "open"));
    const { left, bottom } = open.getBoundingClientRect();
    panel.style.left = `${Math.max(8, Math.min(left, window.innerWidth - 8 - Math.min(460, window.innerWidth - 16)))}px`;
    panel.style.top = `${bottom + 4}px`;
  };
  line.append(open, panel);
  return line;
}

// Where a step looks most, and the heads that are to be looked for: [kind, query, key], counted from 1.
export function whyOf(why, step, source, guess = false) { // the way to the heads would give away what is to be guessed
  if (!why) return null;
  const texts = source.map((token) => token.t), named = (at) => `“${cut(nth(texts, at), LONGEST)}”`;
  const found = { told: `Looks most at ${named(why.source)} (${why.weight.toFixed(2)}, mean of all heads).`, ways: [{ text: "Which heads?", pair: ["cross", step, why.source + 1] }] };
  if (guess) found.ways = [];
  else if (why.to != null) found.ways.push({ text: `Which head links ${named(why.source)} to ${named(why.to)}?`, pair: ["encoder", why.source + 1, why.to + 1] });
  return found;
}

export function tellWhy(line, found, go) {
  line.replaceChildren();
  if (!found) return;
  line.append(element("span", "", found.told));
  found.ways.forEach(({ text, pair }, n) => {
    const way = button("link", text, () => go(pair));
    way.dataset.focus = `why ${n}`;
    line.append(" ", way);
  });
}
