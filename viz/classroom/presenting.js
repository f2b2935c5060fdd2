// The screen's side of the presenter view: it sends its state to a second window of this browser, and does what that window asks.

import { followRoom, roomNow } from "./room_state.js";
import { PRESENTER_CHANNEL, screenId } from "./rooms/presenter_parts.js";

const FIRST_STOP_TIME = "attention-lab-begun"; // time of the first stop, in ms since 1970

// `actions` are the lecturer's actions by name. `now()` returns the values of the screen. Returns `send` and `close`.
export function presenting(state, actions, now) {
  const channel = globalThis.BroadcastChannel && new BroadcastChannel(PRESENTER_CHANNEL), from = screenId();
  if (!channel) return { send() {}, close() {} };
  let isOn = false;
  channel.onmessage = ({ data: message }) => {
    if (message?.to !== from) return;
    if (message.ask === "hello") { isOn = true; if (!state.data.presented) state.report("presenter", true); }
    else if (message.ask === "notes") state.report("notes", { number: message.number, text: message.text });
    else if (message.ask === "reset") setFirstStopTime(Date.now());
    else if (Object.hasOwn(actions, message.ask)) actions[message.ask]();
    send();
  };
  const stop = followRoom(send);
  channel.postMessage({ from, ready: true });
  return { send, close() { stop(); channel.close(); } };

  function send() {
    const values = now();
    if (values.isBefore) setFirstStopTime(0); // the first stop starts the time
    else if (values.number > 0 && !firstStopTime()) setFirstStopTime(Date.now());
    if (!isOn) return;
    const { code, followers, question } = roomNow();
    channel.postMessage({ from, ...values, talk: state.data.presented, begun: firstStopTime(), room: { code, followers, question } });
  }
}

function firstStopTime() {
  try { return Number(sessionStorage.getItem(FIRST_STOP_TIME)) || globalThis.attentionLabBegun || 0; } catch { return globalThis.attentionLabBegun || 0; }
}

function setFirstStopTime(time) {
  globalThis.attentionLabBegun = time;
  try { sessionStorage.setItem(FIRST_STOP_TIME, time); } catch { /* it lasts until the page is closed */ }
}
