// A handout: draws each stop's components from the data that stand beside this script, one after the other, and makes each picture
// as small as its page asks for. Nothing here makes markup from text: textContent only.

import { inflated, restoring } from "./offline.js";

const OLD = "This browser is too old to draw the pictures: Firefox 113, Chrome 80 or Safari 16.4 can, or later ones.";
const SHARP = 2; // pixels of a canvas for one of the page: it is printed
const ON_PAPER = ".timeline .french, .timeline .bar > :not(.where), .timeline .label.middle button { display: none; }"; // players, and what stands above already
const turn = () => new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); });

export async function startHandout(components) {
  const said = document.getElementById("said"), print = document.getElementById("print"), read = new TextDecoder();
  if (!globalThis.DecompressionStream || !("adoptedStyleSheets" in document)) { said.textContent = OLD; return; }
  Object.defineProperty(globalThis, "devicePixelRatio", { value: Math.max(SHARP, globalThis.devicePixelRatio) });
  await document.fonts.ready; // what stands on a canvas is drawn once
  const style = JSON.parse(read.decode(await inflated("style"))), pictures = [...document.querySelectorAll(".picture")];
  for (const [at, picture] of pictures.entries()) {
    said.textContent = `Drawing ${at + 1} of ${pictures.length}`;
    const { stop } = picture.dataset, view = JSON.parse(read.decode(await inflated(`view-${stop}`))), restored = restoring(view, await inflated(`numbers-${stop}`));
    for (const [name, part] of Object.entries(view.parts)) draw(components[name], rootOf(picture, name), { ...restored(part), style });
    await turn();
    await turn(); // what was unpacked meanwhile is drawn too
    fitted(picture);
  }
  said.textContent = "";
  print.hidden = false;
  print.onclick = () => globalThis.print();
  document.documentElement.dataset.drawn = "";
}

function draw(component, parentElement, data) {
  const told = () => {}; // nothing is chosen on paper
  component({ data, parentElement, setStateValue: told, setTriggerValue: told, offline: true });
}

function rootOf(picture, name) {
  const root = picture.querySelector(`.part-${name}`).attachShadow({ mode: "open" }), sheet = new CSSStyleSheet();
  sheet.replaceSync(`${document.getElementById(`style-${name}`).textContent}\n${ON_PAPER}`);
  root.adoptedStyleSheets = [sheet];
  root.append(document.getElementById(`markup-${name}`).content.cloneNode(true));
  return root;
}

function fitted(picture) {
  const frame = picture.parentElement, most = frame.clientHeight, own = picture.scrollHeight, scale = Math.min(1, most / own);
  picture.style.transform = `scale(${scale})`;
  picture.style.left = `${(frame.clientWidth - picture.offsetWidth * scale) / 2}px`;
}
