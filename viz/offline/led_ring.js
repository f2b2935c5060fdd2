// The ring around what the lecturer points at, wherever it stands in this layout.

import { element } from "../kit/mount.js";
import { rectOf } from "../kit/pointing.js";

const EVERY = 200; // ms: what is ringed may move or be drawn anew
const RESTS = 400; // ms on one thing, after which it is brought into sight
const OWN = 4000; // ms after its reader has moved the page, in which it stays where it is
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

// A component that stands in the lecture alone has another one in its place here, which calls the same things the same.
function boxOf(name) {
  const roots = globalThis.attentionLabRoots ?? new Map(), what = name.slice(name.indexOf("|"));
  if (roots.has(name.slice(0, -what.length))) return rectOf(name);
  return [...roots.keys()].map((other) => rectOf(other + what)).find(Boolean) ?? null;
}

// Brings a box into sight, with so many pixels above it; at once for those who asked for stillness.
function scrollDown(box, above) {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  window.scrollBy({ top: box.top - Math.max(24, above), behavior });
}

// Gives what brings that into sight which the lecturer shows alone; `places` as `viz/kit/offline_parts.py` has them. Where one guesses first
// and the page `hides` what comes, it is the first.
export function bringer(places, hides) {
  let shown = "";
  return ({ lecture, large = "1", guess }) => {
    const [part, selector] = (lecture === "on" && places[guess && hides ? 0 : Number(large) - 1]) || ["", ""];
    if (selector === shown) return;
    shown = selector;
    const box = selector && document.querySelector(`.part-${part}`)?.shadowRoot.querySelector(selector)?.getBoundingClientRect();
    if (box && (box.top < 0 || box.bottom > innerHeight)) scrollDown(box, 0);
  };
}

// Gives what points at a thing by its name; at nothing by none.
export function ring() {
  const node = document.body.appendChild(element("div", "ring"));
  let name = "", timer = null, rest = null, moved = -Infinity;
  node.hidden = true;
  for (const move of MOVES) window.addEventListener(move, () => { moved = performance.now(); }, { passive: true, capture: true });
  window.addEventListener("scroll", () => { if (name) place(); }, { passive: true, capture: true });

  function place() {
    const box = name && boxOf(name);
    node.hidden = !box;
    if (box) Object.assign(node.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
    return box;
  }

  function bring() {
    const box = name && boxOf(name), foot = document.querySelector(".part-timeline") && innerWidth < 761 ? 80 : 0;
    if (!box || performance.now() - moved < OWN || (box.top >= 0 && box.bottom <= innerHeight)) return;
    scrollDown(box, (innerHeight - foot - box.height) / 2);
  }

  return (pointed) => {
    if (pointed !== name) {
      name = pointed;
      clearInterval(timer);
      clearTimeout(rest);
      if (name) {
        timer = setInterval(place, EVERY);
        rest = setTimeout(bring, RESTS);
      }
    }
    place();
  };
}
