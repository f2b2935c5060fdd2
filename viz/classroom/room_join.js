// How to join: one sheet over the whole page, for the last row.

import { button, element } from "../kit/mount.js";
import { follow, spaced } from "./room_parts.js";

const SHUT = ["j", "Escape", "Enter", " ", "ArrowRight", "ArrowLeft", "PageDown", "PageUp"];

// Returns true if an overlay uses a key; keys for blank, full screen and the browser pass through.
export const isOverlayKey = (key) => (key.length === 1 ? !"bf.".includes(key) : /^(Arrow|Page|Home|End|Enter|Escape)/.test(key));

// `state.now` is the current state of the room.
export function joining(state) {
  let sheet = null, back = null;
  const panel = { isOpen: () => Boolean(sheet), close, draw, toggle, pressed };
  return panel;

  function toggle() {
    if (sheet) return close();
    back = document.activeElement;
    sheet = document.body.appendChild(element("div", "lab-join"));
    sheet.setAttribute("role", "dialog");
    sheet.setAttribute("aria-modal", "true");
    sheet.setAttribute("aria-label", "How to join");
    sheet.append(element("div", "qr"), element("div", "how"), button("close", "Close", close));
    draw();
    sheet.querySelector(".close").focus({ preventScroll: true });
  }

  function close() {
    if (!sheet) return;
    sheet.remove();
    sheet = null;
    back?.focus?.({ preventScroll: true });
  }

  function pressed(key) {
    if (key === "Tab") return onward(sheet);
    if (SHUT.includes(key)) close();
    return isOverlayKey(key);
  }

  function draw() {
    if (!sheet) return;
    const { code, link, alone, followers, lost } = state.now, qr = sheet.querySelector(".qr"), how = sheet.querySelector(".how");
    if (!code) {
      qr.replaceChildren();
      how.replaceChildren(element("p", "to", lost || (state.data.served ? "No room is open. Open one under Present." : state.data.notServed)));
      return;
    }
    if (sheet.dataset.code !== code + link) {
      sheet.dataset.code = code + link;
      qr.replaceChildren(...(alone ? [] : [picture(code, link)]));
      const sign = element("p", "code", spaced(code)), place = element("p", "link", typed(link));
      how.replaceChildren(...(alone ? [sign, element("p", "to", alone)] : [element("p", "to", "Join with a phone or a laptop:"), place, element("p", "to", "with the code"), sign]), element("p", "count"));
      sheet.classList.toggle("alone", Boolean(alone));
    }
    how.querySelector(".count").textContent = followers ? follow(followers) : "No followers yet";
  }
}

// Moves the focus to the next button of an overlay.
export function onward(sheet) {
  const all = [...sheet.querySelectorAll("button:not([hidden])")], now = all.indexOf(document.activeElement);
  all[(now + 1) % all.length].focus({ preventScroll: true });
  return true;
}

// The address to type for the form of the code.
export const typed = (link) => link.replace(/^https?:\/\//, "").replace(/\/[^/]*$/, "");

// The QR code of the followers' address.
export function picture(code, link) {
  const image = element("img");
  image.alt = `QR code of ${link}`;
  image.src = `/rooms/${code}/qr.svg`;
  return image;
}
