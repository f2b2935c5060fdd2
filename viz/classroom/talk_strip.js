// Strip of the current talk: the line of the stop, its number, and the buttons.

import { button, element, focusOf, mountComponent, onResize, refocus, unmountComponent } from "../kit/mount.js";

const ENDS = { first: "This is the first stop.", last: "This is the last stop." };

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mountComponent({ data, parentElement }, ".talk-strip"), focused = focusOf(parentElement), { number, count } = data;
  const line = element("p", "line", data.line || (number || !count ? "" : data.title)), place = element("p", "place"), words = element("div", "words");
  const where = number ? `${number} of ${count}` : count ? `${count} stops` : "";
  place.append(element("b", "", where), ...(data.large ? [] : [` ${data.title}`]));
  const alone = number === 1 && count === 1 ? "Page keys change the stop, arrows the step." : "";
  const note = element("p", "note", data.ended ? ENDS[data.ended] : number || !count ? alone : data.large ? "Page down starts." : "Next starts.");
  note.setAttribute("role", "status");
  words.append(...(data.large ? [line] : [place, line]), ...data.faults.map((fault) => element("p", "fault", fault)), note);
  const way = (name, text, action, off) => Object.assign(button(name, data.large ? text.replace(/\w+| /g, "") : text, action), { disabled: off, ariaLabel: text.replace(/[‹›]/g, "").trim() });
  const ways = element("nav", "ways");
  ways.setAttribute("aria-label", "Talk");
  ways.append(way("back", "‹ Back", () => setTriggerValue("go", -1), number <= 1), way("next", "Next ›", () => setTriggerValue("go", 1), number >= count));
  if (!data.large) ways.append(way("leave", "Leave", () => setTriggerValue("leave", true), false));
  for (const node of ways.children) node.dataset.focus = node.className;
  root.replaceChildren(words, ...(data.large ? [place] : []), ways);
  root.classList.toggle("large", data.large);
  root.classList.toggle("ended", Boolean(data.ended));
  root.setAttribute("aria-label", `${data.title}: ${where}`);
  refocus(root, focused);
  const page = document.documentElement.style;
  onResize(state, root, () => { if (data.large) page.setProperty("--foot", `${root.getBoundingClientRect().height}px`); else page.removeProperty("--foot"); });
  state.draw();
  return () => { page.removeProperty("--foot"); unmountComponent(root); };
}
