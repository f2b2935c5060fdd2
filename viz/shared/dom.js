// What the components share; put before each of them. Nothing here makes markup from text: textContent only.

const SVG = "http://www.w3.org/2000/svg";
const STEP = "attention-lab-step", REVEAL = "attention-lab-reveal"; // events by which the timeline and what follows its step talk

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text != null) node.textContent = text;
  return node;
}

function drawing(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text != null) node.textContent = text;
  return node;
}

// The text at a position; where it stands elsewhere too, with which of them this is, as model/edits/kinds.py tells it.
function nth(texts, at) {
  const text = texts[at], number = texts.slice(0, at + 1).filter((each) => each === text).length;
  if (texts.indexOf(text) === texts.lastIndexOf(text)) return text;
  const ending = [11, 12, 13].includes(number % 100) ? "th" : { 1: "st", 2: "nd", 3: "rd" }[number % 10] || "th";
  return `${text} (${number}${ending})`;
}

const percent = (p) => (p >= 0.9995 && p < 1 ? "> 0.999" : p < 0.0005 && p > 0 ? "< 0.001" : p.toFixed(3));
