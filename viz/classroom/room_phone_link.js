// The link of the presenter view for a phone, in the room's part of *Present*. It has the room's secret, so it is drawn on request.

import { button, element } from "../kit/mount.js";
import { copyText, linkFor, sharedAddress } from "../kit/copy_link.js";
import { storedValue } from "./room_state.js";
import { request } from "./room_stream.js";

const COPY_PHONE_LINK = "Copy private link", COPIED_PHONE_MS = 1500;
const WHO = "Anyone with this link controls the screen and reads your notes. Scan it before the lecture, not on the projector.";
const NO_PICTURE = "The room cannot be reached. Copy the link, or try again.";

// `opener` opens and closes it; `draw` returns its element; `alone` says why no phone can reach the lab. `onToggle` draws the panel.
export function phoneLink(onToggle) {
  const box = element("div", "phone"), image = element("img"), opener = button("", "Presenter view on a phone", toggle);
  let code = "", isOpen = false;
  opener.dataset.focus = "phone";
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Presenter view on a phone");
  box.hidden = true;
  image.alt = "QR code of the presenter view";
  return { opener, draw, isOpen: () => isOpen, close: () => { isOpen = false; code = ""; } };

  function toggle() {
    isOpen = !isOpen;
    onToggle();
  }

  function draw(alone) {
    const room = isOpen && storedValue("room").get();
    box.hidden = !room;
    opener.setAttribute("aria-expanded", String(!box.hidden));
    if (!room) { box.replaceChildren(); code = ""; }
    else if (code !== room.code) { code = room.code; fill(room, alone); }
    return box;
  }

  function fill(room, alone) {
    if (alone) { box.replaceChildren(element("p", "alone", alone)); return; }
    const side = element("div", "side"), fault = element("p", "fault"), copied = button("", COPY_PHONE_LINK, async () => {
      copied.textContent = await copyText(phoneAddress(room)) ? "Copied" : "The browser does not copy";
      setTimeout(() => { copied.textContent = COPY_PHONE_LINK; }, COPIED_PHONE_MS);
    });
    copied.dataset.focus = "phone link";
    side.append(element("p", "", WHO), fault, copied);
    image.removeAttribute("src");
    box.replaceChildren(image, side);
    paint(room, fault);
  }

  async function paint(room, fault) {
    const { status, text } = await request(room, "/presenter.svg");
    if (code !== room.code) return;
    if (status === 200) image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    else fault.textContent = status && status < 500 ? text : NO_PICTURE;
  }
}

// The secret is in the fragment, which no request contains.
function phoneAddress({ code, secret }) {
  const { protocol, host, hostname } = window.location;
  return linkFor({ protocol, host, hostname, pathname: "/presenter", search: "", hash: `#${code}.${secret}` }, sharedAddress());
}
