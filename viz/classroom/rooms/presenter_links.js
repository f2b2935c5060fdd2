// The two ways from a presenter view to the screen: a channel of this browser, or the room. Both call `onScreen` with the screen's
// state and with that of the class, and `onProblem` with a sentence, or "" where there is none. `ask` sends an action.

import { following, request } from "../room_stream.js";
import { PRESENTER_CHANNEL, keyOf } from "./presenter_parts.js";

const AGAIN_MS = 2000, LOST_MS = 6000, SLEPT_MS = 10_000; // between two questions to the screen; until it counts as lost; hidden, after which a stream may be dead
const KEY = "attention-lab-presenter-key";
const LOST = "The screen of the lecture does not answer. Keep its tab open, or open this view again under Present.";
const NO_CHANNEL = "This browser cannot reach the screen of the lecture. Use a current version of Chrome, Edge, Firefox or Safari.";
const NO_KEY = "This address lacks the key of the room. Scan the code again: Present, Presenter view on a phone.";
const OVER = "This room has ended, or its address is wrong. Scan the code of an open room: Present, Presenter view on a phone.";
const WRONG = "This link does not belong to the open room. Scan the code again: Present, Presenter view on a phone.";
const NOT_SENT = "The room cannot be reached. Press again.", AWAY = "The room cannot be reached. Trying again.";

// The code and the secret of the room: from the address, which then hides them, or of this tab.
export function takeKey() {
  const { hash, pathname, search } = window.location;
  let text = hash;
  try {
    if (hash) sessionStorage.setItem(KEY, hash);
    text ||= sessionStorage.getItem(KEY) ?? "";
  } catch { /* the storage is refused: the key lasts until the page is closed */ }
  if (hash) window.history.replaceState(null, "", pathname + search);
  return keyOf(text);
}

export function channelLink(to, { onScreen, onProblem }) {
  const channel = globalThis.BroadcastChannel && new BroadcastChannel(PRESENTER_CHANNEL);
  if (!channel) { onProblem(NO_CHANNEL); return { ask() {} }; }
  let heard = Date.now();
  const ask = (action, more = {}) => channel.postMessage({ to, action, ...more });
  channel.onmessage = ({ data }) => {
    if (data?.from !== to) return;
    heard = Date.now();
    onProblem("");
    if (data.ready) ask("hello");
    else onScreen(data, data.room);
  };
  setInterval(() => {
    ask("hello");
    if (Date.now() - heard > LOST_MS) onProblem(LOST);
  }, AGAIN_MS);
  ask("hello");
  return { ask };
}

export function roomLink(key, { onScreen, onProblem }) {
  if (!key) { onProblem(NO_KEY); return { ask() {} }; }
  let stop = null, late = 0, hidden = 0, unsent = "", away = false, over = "", sending = Promise.resolve(), news = null; // late: since when a command waits for the screen
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) hidden = Date.now();
    else if (Date.now() - hidden > SLEPT_MS) begin();
  });
  window.addEventListener("online", begin);
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) begin(); });
  setInterval(report, AGAIN_MS / 2);
  begin();
  return { ask };

  function begin() {
    stop?.();
    if (over) return;
    stop = following(key, { onState: receive, onAway: (is) => { away = is; if (!is) unsent = ""; report(); }, onEnd: end }, { path: "/presenter/events", isHere: false });
    ask("hello"); // the screen sends its state
  }

  function receive(room, time) {
    news = room;
    if (!room.screen || room.screen.done >= room.newest) late = room.newest && !room.screen ? late || Date.now() : 0;
    else late ||= Date.now();
    report();
    if (room.screen) onScreen({ ...room.screen, begun: room.screen.begun && room.screen.begun - (time - Date.now()) }, { code: key.code, followers: room.followers, question: room.question });
  }

  function report() {
    const isLost = news?.away || (late && Date.now() - late > LOST_MS);
    onProblem(over || unsent || (away ? AWAY : isLost ? LOST : ""));
  }

  function end(status) {
    over = status === 403 ? WRONG : OVER;
    stop?.();
    report();
  }

  // One request after the other. A command that did not arrive is not repeated: it may have arrived.
  function ask(action, more = {}) {
    sending = sending.then(async () => {
      if (over) return;
      const { status, text } = await request(key, "/act", { action, ...more }, { keepalive: true });
      if (status === 403 || status === 404) { end(status); return; }
      unsent = status === 204 ? "" : action === "hello" ? unsent : status === 400 || status === 413 || status === 429 ? text : NOT_SENT;
      report();
    });
  }
}
