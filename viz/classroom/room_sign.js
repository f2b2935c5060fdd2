// The code and the number of followers, in the bar of lecture mode.

import { button, mountComponent, unmountComponent } from "../kit/mount.js";
import { follow, spaced } from "./room_parts.js";
import { requestRoomAction, followRoom, roomNow } from "./room_state.js";

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".room-sign");
  draw(root);
  if (first) state.unfollow = followRoom(() => draw(root));
  return () => { state.unfollow(); unmountComponent(root); };
}

function draw(root) {
  const { code, followers, fault, lost, elsewhere } = roomNow(), wrong = fault || lost;
  if (!code && !lost) { root.replaceChildren(); return; }
  const node = root.querySelector("button") ?? root.appendChild(button("", "", () => requestRoomAction("join")));
  node.textContent = !code ? "No room" : [spaced(code), fault ? "not reached" : elsewhere ? "other tab" : followers ? follow(followers) : ""].filter(Boolean).join(" · ");
  node.title = wrong || "How to join (j)";
  node.classList.toggle("away", Boolean(wrong));
}
