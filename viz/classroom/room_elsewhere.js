// A room belongs to one tab of the browser. In another tab, a bar says so and offers to continue there. Texts go through textContent.

import { button, element } from "../kit/mount.js";
import { spaced } from "./room_parts.js";

const OPEN = "is open in another tab.", MOVED = "continues in another tab.";

// The bar of a tab: `draw` shows or removes it, `remind` shows it again after it was closed. `isElsewhere()` tells whether the room is
// in another tab, and `onContinue` takes it over. `state.hadRoom`: this tab had the room before.
export function elsewhereBar(state, { isElsewhere, onContinue }) {
  let bar = null, isClosed = false;
  return { draw, remind() { isClosed = false; draw(); }, drop };

  function drop() {
    bar?.remove();
    bar = null;
  }

  function close() {
    isClosed = true;
    drop();
  }

  function draw() {
    if (!isElsewhere()) isClosed = false;
    if (!isElsewhere() || isClosed) { drop(); return; }
    const text = `Your room ${spaced(state.openRoom.code)} ${state.hadRoom ? MOVED : OPEN}`;
    if (bar?.firstChild.textContent === text) return;
    bar ??= document.body.appendChild(element("div", "lab-elsewhere"));
    bar.setAttribute("role", "status");
    bar.replaceChildren(element("span", "", text), button("", "Continue here", onContinue), button("", "Close", close));
  }
}
