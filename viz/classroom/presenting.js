// The screen's side of the presenter view: it sends its state to a second window of this browser and, once a phone has connected,
// to the room. It does what they ask.

import { followRoom, onCommand, requestRoomAction, roomNow } from "./room_state.js";
import { PRESENTER_CHANNEL, screenId, shortTalk } from "./rooms/presenter_parts.js";

const FIRST_STOP_TIME = "attention-lab-begun"; // time of the first stop, in ms since 1970

// `actions` are the lecturer's actions by name. `now()` returns the values of the screen. Returns `send` and `close`.
export function presenting(state, actions, now) {
  const channel = globalThis.BroadcastChannel && new BroadcastChannel(PRESENTER_CHANNEL), from = screenId();
  let hasWindow = false, written = 0, isRequested = false; // written: the stop whose notes were written last
  if (channel) channel.onmessage = ({ data: message }) => { if (message?.to === from) { hasWindow = true; act(message); } };
  const ends = [followRoom(send), onCommand(act)];
  channel?.postMessage({ from, ready: true });
  return { send, close() { for (const end of ends) end(); channel?.close(); } };

  function act({ action, stop, text }) {
    if (action === "hello") isRequested = false;
    else if (action === "notes") { written = stop; state.report("notes", { number: stop, text }); }
    else if (action === "reset") setFirstStopTime(Date.now());
    else if (Object.hasOwn(actions, action)) actions[action]();
    send();
  }

  function send() {
    const values = now(), { code, followers, question, hasPhone } = roomNow();
    if (values.isBefore) setFirstStopTime(0); // the first stop starts the time
    else if (values.number > 0 && !firstStopTime()) setFirstStopTime(Date.now());
    if (!hasWindow && !hasPhone) return;
    if (!state.data.presented && !isRequested) { isRequested = true; state.report("presenter", true); }
    const screen = { ...values, talk: shortTalk(state.data.presented, values.number, written), begun: firstStopTime() };
    if (hasWindow) channel.postMessage({ from, ...screen, room: { code, followers, question } });
    if (hasPhone) requestRoomAction("screen", screen);
  }
}

function firstStopTime() {
  try { return Number(sessionStorage.getItem(FIRST_STOP_TIME)) || globalThis.attentionLabBegun || 0; } catch { return globalThis.attentionLabBegun || 0; }
}

function setFirstStopTime(time) {
  globalThis.attentionLabBegun = time;
  try { sessionStorage.setItem(FIRST_STOP_TIME, time); } catch { /* it lasts until the page is closed */ }
}
