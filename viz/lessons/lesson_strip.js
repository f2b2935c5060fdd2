// The lesson that is on: its question, what to do, and what the screen shows of it. A solved lesson stays solved until it is left.

import { button, element, focusOf, mountComponent, pointAt, refocus } from "../kit/mount.js";
import { followed, keepSolved } from "./progress_parts.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".lesson-strip", {}), focused = focusOf(parentElement);
  if (data.solved) keepSolved(data.name);
  if (first || state.name !== data.name) { build(); state.answer = ""; }
  state.name = data.name;
  if (data.solved) state.answer = data.said;
  const said = root.querySelector(".said"), word = state.answer ? "✓ Solved. " : "", text = state.answer || data.said;
  if (said.textContent !== word + text) said.replaceChildren(element("b", "", word), text); // else nothing is news
  root.classList.toggle("solved", Boolean(state.answer));
  root.classList.toggle("large", Boolean(data.large));
  root.querySelector(".ways").replaceChildren(...ways());
  refocus(root, focused);

  function build() {
    const words = element("div", "words"), head = element("p", "head"), said = element("p", "said");
    head.append(element("span", "place", data.place), element("b", "", data.question));
    said.setAttribute("role", "status");
    words.append(head, element("p", "task", (pointAt() === "Tap" && data.touch) || data.task), said);
    const nav = element("nav", "ways");
    nav.setAttribute("aria-label", "Lessons");
    root.replaceChildren(words, nav);
    root.setAttribute("aria-label", data.place);
  }

  function ways() {
    const made = [];
    if (data.other) made.push(way("other", data.other));
    if (data.previous) made.push(lesson("previous", "‹ Previous", data.previous));
    if (data.next) made.push(lesson("next", "Next ›", data.next));
    if (data.again) made.push(way("again", "Start over"));
    made.push(way("leave", "Leave"));
    return made;
  }

  function way(name, text) {
    const node = button(name, text, () => { state.answer = ""; setTriggerValue(name, true); });
    node.dataset.focus = name;
    return node;
  }

  function lesson(name, text, to) {
    const link = element("a", name, text);
    link.href = to.href;
    link.title = to.question;
    link.dataset.focus = name;
    return followed(link, () => setTriggerValue("begin", to.name));
  }
}
