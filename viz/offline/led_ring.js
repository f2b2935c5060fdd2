// The ring around what the lecturer points at, wherever it stands in this layout.

import { element } from "../shared/mount.js";
import { rectOf } from "../shared/lecture/pointing.js";

const EVERY = 200; // ms: what is ringed may move or be drawn anew
const RESTS = 400; // ms on one thing, after which it is brought into sight
const OWN = 4000; // ms after its reader has moved the page, in which it stays where it is
const MOVES = ["wheel", "touchmove", "keydown", "pointerdown"];

// Gives what points at a thing by its name; at nothing by none.
export function ring() {
  const node = document.body.appendChild(element("div", "ring"));
  let name = "", timer = null, rest = null, moved = -Infinity;
  node.hidden = true;
  for (const move of MOVES) window.addEventListener(move, () => { moved = performance.now(); }, { passive: true, capture: true });
  window.addEventListener("scroll", () => { if (name) place(); }, { passive: true, capture: true });

  function place() {
    const box = name && rectOf(name);
    node.hidden = !box;
    if (box) Object.assign(node.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
    return box;
  }

  function bring() {
    const box = name && rectOf(name), foot = document.querySelector(".part-timeline") && innerWidth < 761 ? 80 : 0;
    if (!box || performance.now() - moved < OWN || (box.top >= 0 && box.bottom <= innerHeight)) return;
    const behavior = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
    window.scrollBy({ top: box.top - Math.max(24, (innerHeight - foot - box.height) / 2), behavior });
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
