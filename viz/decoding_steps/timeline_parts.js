// What the timeline is made of, and its keys. Nothing here makes markup from text: textContent only.

import { button, svgElement, element, isKeyFree, REVEAL, stepForKey } from "../kit/mount.js";
import { usesArrowKeys, usesSpaceKey } from "../kit/page_keys.js";

const ICONS = {
  first: "M2 2h2v10H2zM12 2v10L5 7z", back: "M10.5 2v10L3 7z", forward: "M3.5 2v10L11 7z", last: "M10 2h2v10h-2zM2 2v10l7-5z",
  play: "M3 1v12l9-6z", pause: "M2 2h4v10H2zM8 2h4v10H8z",
};

export function icon(name) {
  const svg = svgElement("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" });
  svg.append(svgElement("path", { d: ICONS[name] }));
  return svg;
}

export function iconButton(className, label, name, onClick) {
  const node = button(className, null, onClick);
  node.setAttribute("aria-label", label);
  node.title = label;
  node.dataset.focus = name;
  node.append(icon(name));
  return node;
}

// What a row looks at, for telling it: the source where there is one, else the text itself.
export function lookedAt(data, step) {
  if (data.source.length) return { tokens: data.source, weights: data.cross[step], kind: "cross" };
  return { tokens: data.inputs, weights: data.decoder[step], kind: data.own };
}

export function swatch(site) {
  const node = element("i");
  node.style.background = `var(--lab-${site})`;
  return node;
}

export function words(box, tokens, make) { // the pieces of a word stand in one group
  let group, last;
  tokens.forEach((token, n) => {
    if (!group || token.w !== last) { group = element("span", "word"); box.append(group); last = token.w; }
    group.append(make(token, n));
  });
}

// The parts of a meter, [class, from, to]: a probability, and what the edits took from it or gave to it.
export function measured(p, was) {
  const made = [["", 0, was == null ? p : Math.min(p, was)]];
  if (was != null && was > p) made.push(["lost", p, was]);
  if (was != null && was < p) made.push(["won", was, p]);
  return made;
}

export function meter(p, was) {
  const node = element("span", "meter");
  for (const [className, from, to] of measured(p, was)) {
    const part = element("i", className);
    part.style.left = `${from * 100}%`;
    part.style.width = `${Math.max(0, to - from) * 100}%`;
    node.append(part);
  }
  return node;
}

// Whether the space bar means something to what has the focus; on a token of the timeline it plays.
export const pressesHere = (at) => !at.closest?.(".chip") && usesSpaceKey(at);

// The place (from 1) of the blank after the one under view, or before it; from the last to the first. Null where there is none.
export function nextBlank({ data, step }, by) {
  const places = (data.blanks ?? []).map((n) => n + 1);
  if (!places.length) return null;
  return by > 0 ? places.find((place) => place > step) ?? places[0] : places.findLast((place) => place < step) ?? places.at(-1);
}

// Arrow keys, home and end step, and space plays, wherever the focus is, except where they mean something else already.
export function listen(state) {
  state.onKey = (event) => {
    const at = event.composedPath()[0];
    if (event.key === "Enter" && at.tagName === "INPUT") setTimeout(() => at.blur(), 50); // what follows is meant for the steps
    const by = event.shiftKey && { ArrowLeft: -1, ArrowRight: 1 }[event.key], { altKey, ctrlKey, metaKey, defaultPrevented } = event;
    const blank = by && isKeyFree({ altKey, ctrlKey, metaKey, defaultPrevented }, at) && !usesArrowKeys(at) ? nextBlank(state, by) : null;
    if (blank !== null) {
      event.preventDefault();
      event.stopPropagation();
      clearInterval(state.timers.play);
      state.timers.play = null;
      return state.go(blank);
    }
    if (!isKeyFree(event, at)) return;
    const to = stepForKey(event.key, state.step, state.data.target.length);
    if (event.key === " " ? pressesHere(at) : to === null || usesArrowKeys(at)) return;
    event.preventDefault();
    event.stopPropagation();
    if (state.data.hall && state.hidden && event.key === "ArrowRight") return document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } })); // the class has guessed aloud
    if (event.key === " ") return state.toggle();
    clearInterval(state.timers.play);
    state.timers.play = null;
    state.go(to);
  };
  state.onReveal = (event) => state.reveal(event.detail.step);
  document.addEventListener(REVEAL, state.onReveal);
  document.addEventListener("keydown", state.onKey, true); // before a group of buttons takes the arrows
  state.size = sizeOf(state); // it is drawn for it
  state.resize = new ResizeObserver(() => state.go && redraw(state));
  state.resize.observe(state.root);
  if (document.fonts?.size) document.fonts.ready.then(() => { state.size = null; redraw(state); }); // lines end at the chips as they are set then
}

const SIZES = ["long", "longer"]; // of the type, the larger first

const NEEDED = { one: 166, shifted: 196 }; // px that the rows need with all that stands beside them

// In lecture mode: rows that get little height leave out what is not needed.
function pressed(root) {
  root.classList.remove("dense");
  const rows = root.querySelector(".scroll");
  root.classList.toggle("dense", rows.clientHeight > 0 && rows.clientHeight < (root.querySelector(".shifted:not(.alone)") ? NEEDED.shifted : NEEDED.one));
}

// Smaller gaps for rows that would not fit otherwise; they may scroll all the same.
export function fitted(root) {
  const rows = root.querySelector(".scroll");
  rows.classList.remove("tight", "tighter", "smaller");
  for (const name of ["tight", ...(root.classList.contains("hall") ? ["tighter", ...(root.querySelector(".alone") ? ["smaller"] : [])] : [])]) if (rows.scrollWidth > rows.clientWidth) rows.classList.add(name);
  if (rows.scrollWidth > rows.clientWidth) rows.classList.remove("tighter", "smaller"); // what is scrolled all the same keeps its air
  if (root.classList.contains("hall")) pressed(root);
}

// Smaller type for what is said, where it would not fit otherwise; a text that is gone on with (`grows`) has more lines at once.
export function fittedText(root, grows) {
  const text = root.querySelector(".french .text"), over = () => text.scrollHeight - text.clientHeight > 1;
  text.classList.remove(...SIZES);
  text.classList.toggle("grows", grows);
  if (root.classList.contains("hall")) return; // there nothing is set smaller
  for (const size of grows ? [] : SIZES) if (over()) text.classList.add(size);
  reachable(text, over());
}

// What scrolls can be scrolled by the keyboard, too.
function reachable(text, scrolls) {
  for (const [name, value] of [["tabindex", "0"], ["role", "region"], ["aria-label", "The whole text"]]) {
    if (scrolls) text.setAttribute(name, value);
    else text.removeAttribute(name);
  }
}

function sizeOf({ root }) {
  const { width } = root.getBoundingClientRect(), high = root.classList.contains("hall") ? root.querySelector(".scroll").clientHeight : 0; // there the rows stand as far apart as the window lets them
  return `${width} ${high}`;
}

function redraw(state) {
  const size = sizeOf(state);
  if (size === state.size) return;
  state.size = size;
  fitted(state.root);
  state.unfit = true;
  clearTimeout(state.timers.rest);
  state.go(state.step);
}

export function unlisten(state) {
  document.removeEventListener("keydown", state.onKey, true);
  document.removeEventListener(REVEAL, state.onReveal);
  state.resize?.disconnect();
}
