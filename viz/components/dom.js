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

const percent = (p) => (p >= 0.9995 && p < 1 ? "> 0.999" : p < 0.0005 && p > 0 ? "< 0.001" : p.toFixed(3));
