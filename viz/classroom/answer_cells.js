// Answers that are tokens, or heads in a row for each layer, as cells. On the big screen and on phones.

import { element } from "../kit/mount.js";

export const hasCells = ({ kind }) => kind === "token" || kind === "grid";

// `make` returns the node of an option, with the text of its cell.
export function answerCells({ kind, options, columns }, make) {
  const box = element("div", `cells ${kind}`);
  if (kind === "token") { box.append(...options.map((option) => make(option, option))); return box; }
  box.style.setProperty("--columns", columns);
  box.style.setProperty("--rows", options.length / columns);
  box.append(element("span", "corner", "head"), ...Array.from({ length: columns }, (_, n) => element("span", "axis", String(n + 1))));
  options.forEach((option, n) => {
    if (n % columns === 0) box.append(element("span", "axis", `layer ${n / columns + 1}`));
    box.append(make(option, ""));
  });
  return box;
}

// A cell with its votes: more votes fill it further. `most` is the largest number of votes.
export function fillCell(node, { word, votes, before, right }, most, text) {
  node.style.setProperty("--share", most ? votes / most : 0);
  node.classList.toggle("right", right);
  const parts = [element("b", "", votes ? String(votes) : "")];
  if (text) parts.unshift(element("span", "", text));
  node.replaceChildren(...parts);
  node.title = `${word}: ${votes}${before === undefined ? "" : `, before ${Math.round(100 * before)}%`}${right ? ", right" : ""}`;
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", node.title);
}
