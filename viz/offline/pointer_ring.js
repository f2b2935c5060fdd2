// The ring around the thing under the lecturer's pointer.

import { element } from "../kit/mount.js";
import { rectOf } from "../kit/pointing.js";

const EVERY = 200; // ms between two updates of the ring
const RESTS = 400; // ms on one thing before it is scrolled into view
const OWN = 4000; // ms without scrolling after the reader moved the page
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

// A component of lecture mode has a replacement here with the same names of things.
function boxOf(name) {
  const roots = globalThis.attentionLabRoots ?? new Map(), what = name.slice(name.indexOf("|"));
  if (roots.has(name.slice(0, -what.length))) return rectOf(name);
  return [...roots.keys()].map((other) => rectOf(other + what)).find(Boolean) ?? null;
}

// Scrolls a box into view, `above` pixels from the top; without animation for reduced motion.
function scrollDown(box, above) {
  const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  window.scrollBy({ top: box.top - Math.max(24, above), behavior });
}

// Returns a function that scrolls to the lecturer's large picture; `places` come from viz/kit/offline_parts.py. While the page
// `hides` later tokens, that is the first picture.
export function pictureScroller(places, hides) {
  let current = "";
  return ({ lecture, large = "1", guess }) => {
    const [part, selector] = (lecture === "on" && places[guess && hides ? 0 : Number(large) - 1]) || ["", ""];
    if (selector === current) return;
    current = selector;
    const box = selector && document.querySelector(`.part-${part}`)?.shadowRoot.querySelector(selector)?.getBoundingClientRect();
    if (box && (box.top < 0 || box.bottom > innerHeight)) scrollDown(box, 0);
  };
}

// Returns a function that moves the ring to a thing by name; no name hides it.
export function ring() {
  const node = document.body.appendChild(element("div", "ring"));
  let name = "", timer = null, pause = null, lastMove = -Infinity;
  node.hidden = true;
  for (const move of MOVES) window.addEventListener(move, () => { lastMove = performance.now(); }, { passive: true, capture: true });
  window.addEventListener("scroll", () => { if (name) place(); }, { passive: true, capture: true });

  function place() {
    const box = name && boxOf(name);
    node.hidden = !box;
    if (box) Object.assign(node.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
    return box;
  }

  function bring() {
    const box = name && boxOf(name), foot = document.querySelector(".part-timeline") && innerWidth < 761 ? 80 : 0;
    if (!box || performance.now() - lastMove < OWN || (box.top >= 0 && box.bottom <= innerHeight)) return;
    scrollDown(box, (innerHeight - foot - box.height) / 2);
  }

  return (pointed) => {
    if (pointed !== name) {
      name = pointed;
      clearInterval(timer);
      clearTimeout(pause);
      if (name) {
        timer = setInterval(place, EVERY);
        pause = setTimeout(bring, RESTS);
      }
    }
    place();
  };
}
