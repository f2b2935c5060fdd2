// The lecturer's room: this browser holds its secret, sends every move of the page, and asks the class. It draws only overlays.
// Texts go through textContent only.

import { followStep, isKeyFree, mountComponent, publishedStep, unmountComponent } from "../kit/mount.js";
import { modifiersOf } from "./keys.js";
import { BLANK, OFFERED, POINTER } from "./lecture.js";
import { LOCAL_HOST, linkFor, sharedAddress } from "../kit/copy_link.js";
import { betting } from "./room_bets.js";
import { elsewhereBar } from "./room_elsewhere.js";
import { joining } from "./room_join.js";
import { addressOf } from "./room_parts.js";
import { sending } from "./room_sending.js";
import { screenLink } from "./room_phone.js";
import { request, following } from "./room_stream.js";
import { onRoomAction, publishRoom, storedValue } from "./room_state.js";

const LOST = "This room has ended. Open a new one.";
const AWAY = "The room cannot be reached. Trying again.";
const FOREIGN_MS = 300; // so long a step waits for the address of its page
const USED = ["pointerdown", "keydown", "focus"];
const ANYWHERE = ["open", "end", "join", "take"]; // actions that another tab than that of the room may do
const storedRoom = storedValue("room"), storedTab = storedValue("room-tab"); // the tab that has the room; null after it was closed
const thisTab = Math.random();

export function mountRoom({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".room");
  Object.assign(state, { data, report: setTriggerValue });
  state.step = stepOf(data);
  state.trace = publishedStep()?.trace;
  clearTimeout(state.foreign);
  if (first) beginRoom(state);
  showNow(state);
  state.bets.receiveQuestion(data.question);
  return () => { endRoom(state); unmountComponent(root); };
}

// The current step; the timeline may be ahead of the server.
function stepOf({ pageStep }) {
  return (pageStep && globalThis.attentionLabRoots?.get("timeline")?.isConnected && publishedStep()?.step) || pageStep;
}

function beginRoom(state) {
  Object.assign(state, { blank: false, pointer: "", away: false, refused: "", lost: "", roomState: null, sentAddress: "" });
  state.openRoom = storedRoom.get();
  state.queue = sending({ send: (change) => send(state, change) });
  state.showNow = () => showNow(state);
  state.join = joining(state);
  state.bets = betting(state);
  state.phone = screenLink(state);
  state.elsewhere = elsewhereBar(state, { isElsewhere: () => isElsewhere(state), onContinue: () => take(state) });
  const listen = (where, name, call, options) => { where.addEventListener(name, call, options); state.ends.push(() => where.removeEventListener(name, call, options)); };
  state.ends = [
    followStep((published) => { if (state.data.pageStep) moveTo(state, published); }),
    onRoomAction((action, value) => isElsewhere(state) && !ANYWHERE.includes(action) ? state.elsewhere.remind() : ({ open, end: close, take, join: () => state.join.toggle(), screen: () => state.phone.show(value), ask: () => state.bets.go(), askOwn: () => state.bets.askOwn(value), again: () => state.bets.askAgain(value) })[action](state)),
  ];
  listen(document, POINTER, ({ detail }) => {
    const pointer = detail.name.startsWith("room") ? "" : detail.name; // visible to the lecturer only
    if (pointer === state.pointer) return;
    state.pointer = pointer;
    sendChange(state, { pointer });
  });
  listen(document, BLANK, ({ detail }) => { state.blank = detail.on; sendChange(state, { blank: detail.on }); });
  listen(document, OFFERED, (event) => { if (pressed(state, event.detail)) event.preventDefault(); });
  listen(window, "keydown", (event) => {
    if (!state.data.lecture && (state.join.isOpen() || state.bets.isOpen()) && pressed(state, event)) { event.preventDefault(); event.stopImmediatePropagation(); }
  }, true);
  for (const name of USED) listen(window, name, () => claim(state), { capture: true, passive: true });
  listen(document, "visibilitychange", () => { claim(state); showNow(state); });
  listen(window, "pagehide", () => { if (state.mine) { storedTab.set(null); leave(state); } }); // the tab is closed or loaded again
  listen(window, "pageshow", () => claim(state));
  listen(window, "storage", ({ key }) => {
    if (key === storedTab.key && state.mine && storedTab.get() !== thisTab) { state.phone.forget(); state.hadRoom = true; leave(state); }
    else if (key === storedTab.key) publish(state);
    if (key === storedRoom.key) { state.openRoom = storedRoom.get(); leave(state); claim(state); }
  });
  if (document.visibilityState === "visible") claim(state);
  publish(state);
}

// A step of another trace belongs to a page whose address comes next: with the address of this page, followers would see neither.
function moveTo(state, { trace, step }) {
  clearTimeout(state.foreign);
  if (trace !== state.trace) { state.foreign = setTimeout(() => { state.trace = trace; moveTo(state, { trace, step }); }, FOREIGN_MS); return; }
  state.step = step;
  showNow(state);
}

function endRoom(state) {
  clearTimeout(state.foreign);
  for (const each of state.ends) each();
  leave(state);
  state.elsewhere.drop();
  state.join.close();
  state.bets.drop();
}

// -- the active tab: the one that opened the room, or the one in which the lecturer continues ---------------------------

const isActive = (state) => state.openRoom && state.mine && document.visibilityState === "visible" && !state.data.exploring;

const isElsewhere = (state) => Boolean(state.openRoom) && !state.data.exploring && ![null, thisTab].includes(storedTab.get());

// Takes the room if no other tab has it.
function claim(state) {
  if (!state.openRoom || state.data.exploring || document.visibilityState !== "visible") return;
  if (state.mine && state.stop) return;
  if (isElsewhere(state)) { publish(state); return; }
  take(state);
}

function take(state) {
  state.mine = true;
  state.hadRoom = false;
  storedTab.set(thisTab);
  state.stop ??= following(state.openRoom, {
    onState: (news, time) => { state.roomState = news; state.bets.receiveRoomState(news); state.phone.receive(news, time); publish(state); },
    onAway: (away) => { state.away = away; publish(state); },
    onEnd: () => forget(state, LOST),
  });
  state.sentAddress = "";
  sendChange(state, { blank: state.blank, pointer: state.pointer });
  showNow(state);
  publish(state);
}

function leave(state) {
  state.mine = false;
  state.stop?.();
  state.stop = null;
  state.queue.forget();
  publish(state);
}

function forget(state, message) {
  storedRoom.set(null);
  storedTab.set(null);
  Object.assign(state, { openRoom: null, roomState: null, lost: message, refused: "", away: false });
  state.join.close();
  state.phone.forget();
  leave(state);
}

// -- the view --------------------------------------------------------------------------------------------------

function sendChange(state, change) { if (isActive(state)) state.queue.show(change); }

function showNow(state) {
  if (!isActive(state) || state.bets.isUnconfirmed()) return; // the step must not show before the question
  const { page, query, longest, whole, tooLong } = state.data, address = addressOf({ page, query, step: state.data.pageStep && state.step });
  const refused = whole && address.length <= longest ? "" : tooLong;
  if (refused !== state.refused) { state.refused = refused; publish(state); }
  if (refused || address === state.sentAddress) return;
  state.sentAddress = address;
  sendChange(state, { address });
}

async function send(state, change) {
  const openRoom = state.openRoom;
  if (!openRoom) return true;
  const { status, text } = await request(openRoom, "/show", change);
  if (openRoom !== state.openRoom) return true;
  if (status === 404 || status === 403) { forget(state, LOST); return true; }
  const away = !status || status >= 500 || status === 429, refused = status === 400 ? text : state.refused;
  if (away !== state.away || refused !== state.refused) { Object.assign(state, { away, refused }); publish(state); }
  return !away;
}

// -- actions ---------------------------------------------------------------------------------------------------

async function open(state) {
  if (state.openRoom || state.opening || !state.data.served) return;
  state.opening = true;
  const { page, query, pageStep, longest } = state.data, address = addressOf({ page, query, step: pageStep && state.step });
  const body = { address: address.length <= longest ? address : "/" };
  let answer = null, text = AWAY;
  try {
    answer = await fetch("/rooms", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    text = await answer.text();
  } catch { /* reported below */ }
  state.opening = false;
  if (answer?.status !== 201) { state.lost = text || AWAY; publish(state); return; }
  const { code, secret } = JSON.parse(text);
  Object.assign(state, { openRoom: { code, secret }, lost: "", roomState: null });
  storedTab.set(thisTab); // first: other tabs hear of a room that has its tab
  storedRoom.set(state.openRoom);
  claim(state);
}

async function close(state) {
  const openRoom = state.openRoom;
  if (!openRoom) return;
  const { status } = await request(openRoom, "/end", {});
  if (status === 0 || status >= 500) { state.away = true; publish(state); return; }
  forget(state, "");
}

// Handles a key for an overlay or the room; returns true if one of them uses it.
function pressed(state, event) {
  const target = event.composedPath()[0];
  if (event.altKey || event.ctrlKey || event.metaKey) return false;
  if (state.bets.isOpen()) return state.bets.pressed(event.key, target);
  if (state.join.isOpen()) return state.join.pressed(event.key, target);
  if (!isKeyFree(event.key === "R" ? modifiersOf(event) : event, target)) return false;
  const action = { j: state.join.toggle, q: state.bets.go, Q: state.bets.goOwn, R: state.bets.showLast }[event.key];
  if (!action) return false;
  if (isElsewhere(state) && event.key !== "j") state.elsewhere.remind();
  else action();
  return true;
}

// -- state for the other components --------------------------------------------------------------------------------

function publish(state) {
  const { openRoom, roomState, lost, data } = state, { protocol, host, hostname } = window.location;
  const link = openRoom ? linkFor({ protocol, host, hostname, pathname: `/follow/${openRoom.code}`, search: "", hash: "" }, sharedAddress()) : "";
  const alone = openRoom && LOCAL_HOST.test(new URL(link).hostname) ? data.alone : "";
  state.now = { code: openRoom?.code ?? "", link, alone, followers: roomState?.followers, question: roomState?.question ?? null, fault: state.away ? AWAY : state.refused, lost, elsewhere: isElsewhere(state), hasPhone: Boolean(state.mine && roomState?.newest) };
  document.documentElement.toggleAttribute("data-lab-room", Boolean(openRoom || lost));
  publishRoom(state.now);
  state.join?.draw();
  state.elsewhere?.draw();
}
