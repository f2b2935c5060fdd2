// The room's part of *Present*; room.js does the actions.

import { button, element, focusOf, mountComponent, refocus, unmountComponent } from "../kit/mount.js";
import { copyText } from "../kit/copy_link.js";
import { phoneLink } from "./room_phone_link.js";
import { picture } from "./room_join.js";
import { questionLists } from "./room_questions.js";
import { follow, spaced } from "./room_parts.js";
import { request } from "./room_stream.js";
import { requestRoomAction, followRoom, roomNow, storedValue } from "./room_state.js";

const SAID_MS = 1500;
const HINT = "In lecture mode, press g to hide the next token, then q to ask.";
const PHONE_TEST = "Test with a phone: scan, does it open? If not, the guide for lecturers has help.";
const COPY_LINK = "Copy link", END = "End", END_FOR_ALL = "End it for all?";

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".room-panel");
  if (first) {
    Object.assign(state, { now: element("div", "now"), questions: questionLists({ saveAnswers }), phone: phoneLink(() => state.draw()) });
    root.replaceChildren(state.now, state.questions.node);
  }
  Object.assign(state, { data, draw: () => draw(state, parentElement) });
  state.draw();
  if (first) state.unfollow = followRoom(() => state.draw());
  return () => { state.phone.close(); state.unfollow(); unmountComponent(root); };
}

function draw(state, parentElement) {
  const now = roomNow(), focused = focusOf(parentElement), parts = [element("h2", "", "Room")];
  if (!state.data.served) parts.push(element("p", "", state.data.notServed));
  else if (!now.code) {
    if (now.lost) parts.push(faultLine(now.lost));
    parts.push(element("p", "", "Phones and laptops see your page and answer your questions."), act("Open a room", "open", true));
  } else parts.push(...openParts(state, now));
  state.now.replaceChildren(...parts);
  state.questions.node.hidden = !state.data.served;
  state.questions.draw();
  refocus(parentElement, focused);
}

function openParts(state, { code, link, alone, followers, fault, elsewhere }) {
  const top = element("div", "top"), side = element("div", "side"), row = element("div", "row"), codeLine = element("p", "code", spaced(code));
  codeLine.setAttribute("aria-label", `Code ${[...code].join(" ")}`);
  side.append(codeLine);
  const address = element("a", "link", link.replace(/^https?:\/\//, ""));
  Object.assign(address, { href: link, target: "_blank", rel: "noopener" });
  side.append(address);
  if (alone) side.append(element("p", "alone", alone));
  else if (!state.phone.isOpen()) top.append(picture(code, link)); // one QR code at a time
  side.append(element("p", "count", followers ? follow(followers) : elsewhere ? "" : "No followers yet"));
  top.append(side);
  if (!alone) row.append(copy(link));
  row.append(act("Show large (j)", "join"), act("Ask the class (q)", "ask"), state.phone.opener, ending(state));
  if (!alone) side.append(element("p", "count", PHONE_TEST));
  if (elsewhere) row.prepend(act("Continue here", "take", true));
  const other = elsewhere ? "This room is open in another tab." : fault;
  return [top, ...(other ? [faultLine(other)] : []), row, state.phone.draw(alone), element("p", "hint", HINT)];
}

function faultLine(text) {
  const line = element("p", "fault", text);
  line.setAttribute("role", "status");
  return line;
}

function act(text, what, first = false) {
  const node = button(first ? "first" : "", text, () => requestRoomAction(what));
  node.dataset.focus = what;
  return node;
}

function copy(link) {
  const node = button("", COPY_LINK, async () => {
    node.textContent = await copyText(link) ? "Copied" : "Copy it from here";
    setTimeout(() => { node.textContent = COPY_LINK; }, SAID_MS);
  });
  node.dataset.focus = "copy";
  return node;
}

// Ends the room at the second press.
function ending(state) {
  const node = button("end", state.sure ? END_FOR_ALL : END, () => {
    if (state.sure) { state.sure = false; requestRoomAction("end"); return; }
    state.sure = true;
    node.textContent = END_FOR_ALL;
  });
  node.onblur = () => { state.sure = false; node.textContent = END; };
  node.dataset.focus = "end";
  return node;
}

// Downloads the answers of the room; returns an error message or an empty text.
async function saveAnswers() {
  const room = storedValue("room").get();
  if (!room) return "No room is open.";
  const { status, text } = await request(room, "/answers.csv");
  if (status !== 200) return status && status < 500 ? text : "The room cannot be reached. Try again.";
  const link = element("a"), address = URL.createObjectURL(new Blob(["\ufeff", text], { type: "text/csv" })); // `text` has lost its mark
  Object.assign(link, { href: address, download: `answers-${room.code}.csv` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
  return "";
}
