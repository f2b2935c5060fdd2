// Lesson 0: four pictures of one text, each with a sentence and a button to the page that shows more. All text is set as textContent.

import { bars, cells, rowLetters } from "../inside/stages_parts.js";
import { withInflatedGrids } from "../kit/inflated_grids.js";
import { button, element, focusOf, mountComponent, onResize, refocus, unmountComponent } from "../kit/mount.js";
import { thumbnailGrid } from "../kit/thumbnails.js";
import { followed, keepSolved } from "./progress_parts.js";

const PRINTED = 400, MIN_ROW = 9, MAX_ROW = 25; // px on paper: a row for each token, and all of them

export default function (args) {
  const root = args.parentElement.querySelector(".four-pictures");
  return withInflatedGrids(args.data, root, (grids) => fourPictures({ ...args.data, grids }, args));
}

function fourPictures(data, { parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".four-pictures", { cursor: {} }), focused = focusOf(parentElement), repaint = [];
  const row = element("div", "pictures"), top = element("div", "top");
  if (!offline) keepSolved(data.name);
  root.classList.remove("waits");
  root.classList.toggle("large", Boolean(data.large));
  root.classList.toggle("file", Boolean(offline)); // which has the texts at its head
  root.style.setProperty("--row", `${Math.max(MIN_ROW, Math.min(MAX_ROW, PRINTED / data.tokens.length))}px`);
  root.style.setProperty("--hue", `var(--lab-${data.chosen.kind})`);
  top.append(element("h2", "", "What is attention, in four pictures?"), ...(data.large || offline ? [] : [button("way", "Print", () => print()), nextLesson(), press("All lessons", "leave", true)]));
  row.append(...[tokens(), bars(data.weights), cells(data.sum, data, repaint, rowLetters([data.sum])), heads()].map(figure));
  root.replaceChildren(top, row, summary());
  refocus(root, focused);
  onResize(state, root, () => repaint.forEach((paint) => paint()));
  requestAnimationFrame(state.draw); // fonts and sizes are there by then
  return () => unmountComponent(root);

  function press(text, event, value) {
    const node = button("way", text, () => setTriggerValue(event, value));
    node.dataset.focus = `${event} ${value}`;
    return node;
  }

  function nextLesson() {
    const link = element("a", "way", `Lesson 1: ${data.next.question}`);
    link.href = data.next.href;
    link.dataset.focus = "next";
    return followed(link, () => setTriggerValue("begin", data.next.name));
  }

  function figure(picture, n) {
    const [title, sentence, more] = data.pictures[n], box = element("figure"), caption = element("figcaption"), view = element("div", "view"), heading = element("h3", "", title);
    heading.prepend(element("span", "number", n + 1));
    caption.append(heading, element("p", "", sentence || data.answer.text));
    view.append(picture);
    box.append(caption, view, ...(data.large || offline ? [] : [press(more, "more", n)]));
    return box;
  }

  function summary() { // on paper alone: the texts, and the words that a reader needs
    const box = element("section", "summary"), list = element("dl");
    for (const name of data.summary.terms) {
      const entry = element("div");
      entry.append(element("dt", "", name), element("dd", "", data.terms[name]));
      list.append(entry);
    }
    box.append(element("p", "", data.summary.texts.join(" → ")), list);
    return box;
  }

  function tokens() {
    const list = element("ol", "tokens");
    data.tokens.forEach((text, n) => {
      const item = element("li", n === data.query ? "asks" : n === data.key ? "answers" : "", text);
      list.append(item);
    });
    return list;
  }

  function heads() {
    const box = element("div", "grids"), shared = { data, state, colour: (name) => data.style[`--lab-${name}`], sans: () => getComputedStyle(root).fontFamily };
    for (const grid of data.grids) {
      const choose = (own, index) => { const [layer, head] = own.places[index]; setTriggerValue("head", { kind: own.kind, layer, head }); };
      box.append(thumbnailGrid(grid, { places: grid.places.map((_, n) => n), named: false, notes: null, told: "" }, { ...shared, show: () => {}, choose, repaint }));
    }
    return box;
  }
}
