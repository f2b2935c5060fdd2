// Functions that the scripts of all components share. All text is set as textContent.

const SVG = "http://www.w3.org/2000/svg";
const STEP = "attention-lab-step"; // event: the timeline publishes its step
const CHART_LINE = "attention-lab-line"; // event: a component publishes the value of the lines of a name
export const NUMBERS = "attention-lab-numbers"; // event of lecture mode: numbers in the cells of maps, on or off
export const REVEAL = "attention-lab-reveal"; // event: the student has made a guess
export const REST_MS = 300; // delay after the last key before the server gets the step
export const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }; // down, and to the right

// -- mounting: a component is called again with new data on the same node ------------------------------------------

const mounts = new WeakMap(); // root -> state between the calls

// Returns the root of a component, with the theme's colours set, and its state. The first call stores `initialState`.
export function mountComponent({ data, parentElement }, selector, initialState = {}) {
  const root = parentElement.querySelector(selector), first = !mounts.has(root), state = first ? initialState : mounts.get(root);
  mounts.set(root, state);
  root.dataset.component = data.component;
  (globalThis.attentionLabRoots ??= new Map()).set(data.component, root); // other scripts find pointed elements here
  if (data.picture) root.dataset.picture = data.picture;
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  return { root, state, first };
}

export function unmountComponent(root) {
  mounts.get(root)?.resize?.disconnect();
  mounts.delete(root);
}

export function onResize(state, root, draw) { // calls the latest `draw` when the root changes size
  state.draw = draw;
  if (state.resize) return;
  state.resize = new ResizeObserver(() => state.draw());
  state.resize.observe(root);
}

// Returns a text for display. A byte that is no character, such as an untrained model writes, becomes a dot, and so does a control character.
export const withDots = (text) => text.replace(/\uFFFD|(?!\s)\p{Cc}/gu, "·");

// -- sizes: in the node's own pixels, inside elements that the stylesheet zooms ------------------------------------

// Returns the zoom of a node. Without `currentCSSZoom`, it is the ratio of window pixels to the node's own pixels.
export const zoomOf = (node) => node.currentCSSZoom || node.getBoundingClientRect?.().width / node.offsetWidth || 1;

// Returns the canvas pixels per CSS pixel for a sharp canvas, at least two.
export const density = (node) => Math.max(2, (globalThis.devicePixelRatio || 1) * zoomOf(node));

// Returns the box of a node in the window.
export function boxOf(node) {
  const { left, top, right, bottom, width, height } = node.getBoundingClientRect(), zoom = zoomOf(node);
  return { left: left / zoom, top: top / zoom, right: right / zoom, bottom: bottom / zoom, width: width / zoom, height: height / zoom };
}

// Returns the position of the pointer in a node, in the node's own pixels. `offsetX` uses window pixels.
export function pointerPosition({ clientX, clientY }, node) {
  const { left, top } = node.getBoundingClientRect(), zoom = zoomOf(node);
  return [(clientX - left) / zoom, (clientY - top) / zoom];
}

// Returns the `data-focus` of the focused element, so that its replacement can get the focus.
export const focusOf = (parentElement) => parentElement.activeElement?.dataset?.focus;

export function refocus(root, name) {
  if (name != null) root.querySelector(`[data-focus="${CSS.escape(name)}"]`)?.focus({ preventScroll: true });
}

// -- the step, which components exchange without the server --------------------------------------------------------

export function publishStep(trace, step) {
  document.documentElement.dataset.attentionLabStep = `${trace} ${step}`;
  document.dispatchEvent(new CustomEvent(STEP, { detail: { trace, step } }));
}

export function publishedStep() {
  const [trace, step] = (document.documentElement.dataset.attentionLabStep || "").split(" ");
  return step ? { trace, step: Number(step) } : null;
}

export function followStep(listen) { // returns a function that stops following
  const onStep = ({ detail }) => listen(detail);
  document.addEventListener(STEP, onStep);
  return () => document.removeEventListener(STEP, onStep);
}

// Publishes a value under a name. Charts move their lines of this name to it.
export function publishLine(name, value) {
  (globalThis.attentionLabLines ??= new Map()).set(name, value);
  document.dispatchEvent(new CustomEvent(CHART_LINE, { detail: [name, value] }));
}

export const publishedLines = () => [...(globalThis.attentionLabLines ?? [])];

export function followLines(listen) { // returns a function that stops following
  const onLine = ({ detail: [name, value] }) => listen(name, value);
  document.addEventListener(CHART_LINE, onLine);
  return () => document.removeEventListener(CHART_LINE, onLine);
}

// Returns whether the server's value is new. A value is not new if it equals the last one, or if it only confirms a value that the
// browser has sent: `memory.pending` lists the values without a confirmation. The user may already be several steps ahead.
export function isNewValue(memory, value) {
  const echo = value === memory.lastValue ? -1 : memory.pending.indexOf(value), isNew = value !== memory.lastValue && echo < 0;
  memory.lastValue = value;
  memory.pending = isNew ? [] : memory.pending.slice(echo + 1);
  return isNew;
}

// -- keys ----------------------------------------------------------------------------------------------------------

// Calls `handle` with the key and its arrow. If `handle` returns true, no other element handles the key.
export function onKeys(node, handle) {
  node.onkeydown = (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || !handle(event.key, ARROWS[event.key])) return;
    event.preventDefault();
    event.stopPropagation();
  };
}

// Returns the step that a key leads to, or null for another key. The step may lie outside of 1 to `last`.
export function stepForKey(key, step, last) {
  return { ArrowLeft: step - 1, ArrowRight: step + 1, Home: 1, End: last }[key] ?? null;
}

// Returns whether a component may use a key pressed anywhere on the page: without modifier keys, not handled yet, not typed into a field.
export function isKeyFree(event, target) {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return false;
  return !target.isContentEditable && (!/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || /^(checkbox|radio|range)$/.test(target.type));
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

// Returns a term with a tooltip, like `viz/kit/terms.py`. `terms` maps the names in the payload to their meanings.
export function term(terms, name, text = name) {
  const node = element("dfn", "lab-term", text);
  node.tabIndex = 0;
  node.dataset.tip = terms[name];
  node.dataset.focus = `term ${name}`;
  node.setAttribute("aria-description", terms[name]);
  return node;
}

export function svgElement(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text != null) node.textContent = text;
  return node;
}

// -- texts ---------------------------------------------------------------------------------------------------------

// Returns the text at a position. A text that occurs several times gets its number, such as "a (2nd)", like in model/edits/kinds.py.
export function nth(texts, index) {
  const text = texts[index], number = texts.slice(0, index + 1).filter((each) => each === text).length;
  if (texts.indexOf(text) === texts.lastIndexOf(text)) return text;
  return `${text} (${ordinal(number)})`;
}

export function ordinal(number) {
  return number + ([11, 12, 13].includes(number % 100) ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] || "th");
}

// Returns "Tap" on a touch screen without a pointer, else "Point at".
export const pointAt = () => (globalThis.matchMedia?.("(hover: none)").matches ? "Tap" : "Point at");
export const withMinusSign = (text) => text.replaceAll("-", "−");

// The forms of numbers and of a head's name, like in model/io/numbers.py and model/trace.py. Layer and head count from 1.
export const probability = (p) => (p > 0 && p < 0.01 ? "<0.01" : p > 0.99 && p < 1 ? ">0.99" : p.toFixed(2));

// Returns the exact value of a probability or a weight: four significant digits, at most 7 decimals, and more digits where four would
// round to 1.
export function exactProbability(p) {
  if (!p || p === 1) return String(p);
  if (p < 0.001) return p < 5e-8 ? p.toExponential(3) : p.toFixed(7);
  const text = p.toPrecision(4);
  return Number(text) === 1 ? String(Number((1 - Number((1 - p).toPrecision(2))).toFixed(15))) : text;
}

export const headName = (kind, layer, head) => `${kind} ${layer}${head == null ? ", mean over heads" : `.${head}`}`;

export function threeDigits(value) {
  if (!value || !Number.isFinite(value)) return value === 0 ? "0" : "–";
  const size = Math.abs(value), places = Math.min(3, Math.max(0, 2 - Number(value.toExponential(2).split("e")[1])));
  if (size < 0.0005) return "0.00";
  const text = size >= 1e6 ? value.toPrecision(3) : value.toFixed(places);
  return withMinusSign(places || size >= 1e6 ? text : text.replace(/\B(?=(\d{3})+$)/g, ",")); // `toLocaleString` loads its tables first: 30 ms
}

// Writes a text with probabilities or weights into a node, and the text with the exact values into its tooltip. `text` gets the
// function that formats a value. A text without such a value has no tooltip.
export function writeProbabilities(node, text) {
  const shown = text(probability), exact = text(exactProbability);
  return Object.assign(node, { textContent: shown, title: exact === shown ? "" : exact });
}

export const probabilityElement = (tag, className, p) => writeProbabilities(element(tag, className), (form) => form(p));
export function probabilityLabel(attributes, p) { // in a drawing
  const node = svgElement("text", attributes, probability(p));
  node.append(svgElement("title", {}, exactProbability(p)));
  return node;
}

export const signed = (value) => `${value >= 0.0005 ? "+" : ""}${threeDigits(value)}`;
export const truncate = (text, limit) => (text.length > limit ? `${text.slice(0, limit - 1)}…` : text);
