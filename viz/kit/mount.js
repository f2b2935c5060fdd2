// What the scripts of all components share. Nothing here makes markup from text: textContent only.

const SVG = "http://www.w3.org/2000/svg";
const STEP = "attention-lab-step"; // by which the timeline tells what follows its step
export const REVEAL = "attention-lab-reveal"; // by which the timeline is told that a guess was made
export const REST_MS = 300; // after the last key the server hears of a step, once
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }; // down, and to the right

// -- mounting: a component is called again with new data on the same node ------------------------------------------

const mounts = new WeakMap(); // root -> what must live on between the calls

// The root of a component in the theme's colours, and its state: `fresh` on the first call.
export function mounted({ data, parentElement }, selector, fresh = {}) {
  const root = parentElement.querySelector(selector), first = !mounts.has(root), state = first ? fresh : mounts.get(root);
  mounts.set(root, state);
  root.dataset.component = data.component;
  (globalThis.attentionLabRoots ??= new Map()).set(data.component, root); // where others find what is pointed at
  if (data.picture) root.dataset.picture = data.picture;
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  return { root, state, first };
}

export function unmounted(root) {
  mounts.get(root)?.resize?.disconnect();
  mounts.delete(root);
}

export function onResize(state, root, draw) { // what the last call drew is drawn again in another size
  state.draw = draw;
  if (state.resize) return;
  state.resize = new ResizeObserver(() => state.draw());
  state.resize.observe(root);
}

// -- sizes: within what the stylesheet zooms, in the node's own pixels ---------------------------------------------

// A browser that does not tell it is measured: its window against the node's own pixels.
export const zoomOf = (node) => node.currentCSSZoom || node.getBoundingClientRect?.().width / node.offsetWidth || 1;

// Pixels of a canvas for each of its own, so that it is sharp: not fewer than two.
export const density = (node) => Math.max(2, (globalThis.devicePixelRatio || 1) * zoomOf(node));

// Where a node stands in the window.
export function boxOf(node) {
  const { left, top, right, bottom, width, height } = node.getBoundingClientRect(), zoom = zoomOf(node);
  return { left: left / zoom, top: top / zoom, right: right / zoom, bottom: bottom / zoom, width: width / zoom, height: height / zoom };
}

// Where a pointer is in a node, in the node's own pixels; `offsetX` is in those of the window.
export function spotIn({ clientX, clientY }, node) {
  const { left, top } = node.getBoundingClientRect(), zoom = zoomOf(node);
  return [(clientX - left) / zoom, (clientY - top) / zoom];
}

// What has the focus is known by its `data-focus`, so that what is drawn in its place can have it again.
export const focusOf = (parentElement) => parentElement.activeElement?.dataset?.focus;

export function refocus(root, name) {
  if (name != null) root.querySelector(`[data-focus="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

// -- the step, which is told from component to component without the server ----------------------------------------

export function tellStep(trace, step) {
  document.documentElement.dataset.attentionLabStep = `${trace} ${step}`;
  document.dispatchEvent(new CustomEvent(STEP, { detail: { trace, step } }));
}

export function toldStep() {
  const [trace, step] = (document.documentElement.dataset.attentionLabStep || "").split(" ");
  return step ? { trace, step: Number(step) } : null;
}

export function followStep(listen) { // returns what ends it
  const heard = ({ detail }) => listen(detail);
  document.addEventListener(STEP, heard);
  return () => document.removeEventListener(STEP, heard);
}

// Whether the step that the server says is news. It is none where it has said so before, nor where it answers only now what
// it was told: `told` in `memory` holds what it has not answered yet, and by then the visitor may be steps ahead.
export function isNews(memory, value) {
  const echo = value === memory.said ? -1 : memory.told.indexOf(value), news = value !== memory.said && echo < 0;
  memory.said = value;
  memory.told = news ? [] : memory.told.slice(echo + 1);
  return news;
}

// -- keys ----------------------------------------------------------------------------------------------------------

// `handle` gets the key and its arrow, and says whether the key means something here: then it means nothing elsewhere.
export function onKeys(node, handle) {
  node.onkeydown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !handle(event.key, ARROWS[event.key])) return;
    event.preventDefault();
    event.stopPropagation();
  };
}

// The step from 1 to `last` to which a key leads; null for a key that leads nowhere. It may lie outside.
export function walked(key, step, last) {
  return { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 1, End: last }[key] ?? null;
}

// Whether a key pressed anywhere on the page may be taken: no other key is held, nobody has taken it, nobody is typing.
export function free(event, at) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return false;
  return !at.isContentEditable && (!/^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || /^(checkbox|radio|range)$/.test(at.type));
}

// -- elements ------------------------------------------------------------------------------------------------------

export function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text != null) node.textContent = text;
  return node;
}

export function button(className, text, onClick) {
  const node = element("button", className, text);
  node.type = "button";
  node.onclick = onClick;
  return node;
}

// A term that tells its meaning, as `viz/kit/terms.py` makes it; `terms` are those of the payload.
export function term(terms, name, text = name) {
  const node = element("dfn", "lab-term", text);
  node.tabIndex = 0;
  node.dataset.tip = terms[name];
  node.dataset.focus = `term ${name}`;
  node.setAttribute("aria-description", terms[name]);
  return node;
}

export function drawing(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text != null) node.textContent = text;
  return node;
}

// -- texts ---------------------------------------------------------------------------------------------------------

// The text at a position; where it stands elsewhere too, with which of them this is, as model/edits/kinds.py tells it.
export function nth(texts, at) {
  const text = texts[at], number = texts.slice(0, at + 1).filter((each) => each === text).length;
  if (texts.indexOf(text) === texts.lastIndexOf(text)) return text;
  return `${text} (${ordinal(number)})`;
}

export function ordinal(number) {
  return number + ([11, 12, 13].includes(number % 100) ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] || "th");
}

// "Point at" where there is a pointer, "Tap" where there are fingers alone.
export const pointAt = () => (globalThis.matchMedia?.("(hover: none)").matches ? "Tap" : "Point at");
export const percent = (p) => (p >= 0.9995 && p < 1 ? "> 0.999" : p < 0.0005 && p > 0 ? "< 0.001" : p.toFixed(3));
export const minus = (text) => text.replaceAll("-", "−");
export const signed = (v, plus = "") => `${v < 0 ? "−" : plus}${Math.abs(v).toFixed(2)}`;
export const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
