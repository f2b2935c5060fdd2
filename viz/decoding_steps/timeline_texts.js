// What stands beside the steps in words: how far the translation is to be trusted, and why this token. Nothing here makes markup
// from text: textContent only.

import { excludeFromPicture } from "../kit/pen.js";
import { button, truncate, element, nth, writeProbabilities } from "../kit/mount.js";

const LONGEST = 12; // characters of a token in a line

// One line under the translation; what it stands on opens over the page, so that nothing moves.
export function doubt({ verdict, signs, meant, head: about }, hidden) {
  const head = about ?? "What makes it doubtful"; // what is about the reading warns of nothing
  const line = element("div", "doubt");
  if (hidden) return line;
  const isAsked = !signs.length && meant && !about; // nothing to warn of: the share of bad translations is in the panel
  const more = [...signs, meant].filter(Boolean);
  if (!more.length) { line.append(element("span", "", verdict)); return line; }
  const panel = element("div", "signs"), open = button(`verdict${signs.length && !about ? " some" : ""}`, isAsked ? "Is this right?" : verdict, null);
  const list = element("ul");
  for (const sign of signs) list.append(element("li", "", sign));
  if (signs.length) panel.append(element("h3", "", head), list);
  else if (isAsked) panel.append(element("h3", "", verdict));
  if (meant) panel.append(element("p", "", meant));
  panel.setAttribute("popover", "auto");
  open.popoverTargetElement = panel;
  open.dataset.focus = "doubt";
  open.title = verdict;
  open.setAttribute("aria-haspopup", "dialog");
  panel.setAttribute("role", "dialog");
  panel.setAttribute("aria-label", head);
  panel.onbeforetoggle = ({ newState }) => {
    open.setAttribute("aria-expanded", String(newState === "open"));
    if (newState === "open") closesAlone(panel, open);
  };
  panel.ontoggle = ({ newState }) => { if (newState === "open") place(panel, open.getBoundingClientRect()); };
  line.append(open, panel);
  return line;
}

// Places an open panel below its button, or as far up and left as keeps it in the window.
function place(panel, { left, bottom }) {
  const { width, height } = panel.getBoundingClientRect();
  panel.style.left = `${Math.max(8, Math.min(left, window.innerWidth - 8 - width))}px`;
  panel.style.top = `${Math.max(8, Math.min(bottom + 4, window.innerHeight - 8 - height))}px`;
}

// A press beside an open panel closes it, and is meant for nothing else.
function closesAlone(panel, opener) {
  const ends = new AbortController(), pressed = (event) => {
    if (!panel.matches(":popover-open")) { ends.abort(); return; }
    if (event.composedPath().some((node) => node === panel || node === opener)) return;
    const once = new AbortController(), stop = (each) => { each.preventDefault(); each.stopImmediatePropagation(); };
    for (const name of ["mousedown", "click"]) window.addEventListener(name, stop, { capture: true, once: true, signal: once.signal });
    window.addEventListener("pointerdown", () => once.abort(), { capture: true, once: true, signal: once.signal });
    ends.abort();
  };
  window.addEventListener("pointerdown", pressed, { capture: true, signal: ends.signal });
}

// Where the row of a step looks most, in what is drawn beside and in the mean of all heads, and what may be asked of it, the choice
// of its token first: [what is told, ...]. `here` holds the row's weights as they are drawn, `one` what they are of; heads are
// asked for by [kind, query, key], counted from 1.
export function whyOf(why, step, source, { here, one, kind = "cross", reason = null, guess = false }) {
  const texts = source.map((token) => token.t), named = (at) => `“${truncate(nth(texts, at), LONGEST)}”`, ways = [];
  if (reason && !guess) ways.push({ text: `Why ${shown(reason[0])}, and not ${shown(reason[1])}?`, tells: ["reason", { step, token: reason[2] }] });
  if (!why) return { told: () => "", ways };
  const hides = guess && kind === "decoder", seen = hides ? here.slice(0, step) : here, most = Math.max(...seen), at = here.indexOf(most), drawn = one[0].toUpperCase() + one.slice(1);
  const tied = (form) => seen.flatMap((weight, key) => (form(weight) === form(most) ? [key] : [])); // as written
  const places = (all) => (all.length > 2 ? `${named(at)} and ${all.length - 1} others` : all.map(named).join(" and "));
  const own = (form) => (most > 0 ? `Most at ${places(tied(form))} (${form(most)}${tied(form).length > 1 ? " each" : ""})` : `${drawn} looks at nothing here`);
  const all = most > 0 && at === why.source ? "so do all heads on average" : `all heads on average at ${named(why.source)}`;
  if (hides && Math.max(why.source, why.word ?? 0) >= step) return { told: (form) => `${own(form)}.`, ways }; // without the causal mask they look at what is not said yet
  const isApart = why.word != null && why.word !== why.source, apart = (form) => (isApart ? `, of the words at ${named(why.word)} (${form(why.onWord)})` : "");
  const told = (form) => `${own(form)}; ${all} (${form(why.weight)})${apart(form)}.`;
  const asks = (kind, query, key) => ["why", { kind, query: query + 1, key: key + 1 }];
  if (guess) return { told, ways }; // the way to the heads would give away what is to be guessed
  if (why.asked) ways.push({ text: isApart || at !== why.word ? `Which heads at ${named(why.word)}?` : "Which heads?", tells: asks(kind, step - 1, why.word) });
  if (why.to != null) ways.push({ text: `Which head links ${named(why.word)} to ${named(why.to)}?`, tells: asks("encoder", why.word, why.to) });
  return { told, ways };
}

const shown = (piece) => `“${truncate(piece.replace(/^·/, ""), LONGEST)}”`;

export function tellWhy(line, { told, ways }, tell) {
  line.replaceChildren(writeProbabilities(element("span"), told));
  ways.forEach(({ text, tells }, n) => {
    const way = excludeFromPicture(button("link", text, () => tell(...tells)));
    way.dataset.focus = `why ${n}`;
    line.append(" ", way);
  });
}
