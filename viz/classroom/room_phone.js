// The screen's side of a presenter view that is connected by the room: commands come with the room's state, and the screen's
// state goes to the room. Each command is passed on at most once.

import { passCommand } from "./room_state.js";
import { request } from "./room_stream.js";
import { sending } from "./room_sending.js";

const received = { code: "", number: 0, waiting: [] }; // the newest command, and those that the page has not taken; another page mounts the component anew

// `state.openRoom` is the room, `state.mine` is true in its active tab.
export function screenLink(state, later = undefined) {
  let sent = "", offset = null, isPassing = false; // the last state; the server's clock minus this one, in ms
  const queue = sending({ send: post, later });
  return { receive, show, forget };

  // The first state says which command is the newest, so that a reloaded page repeats none.
  function receive({ newest, commands }, time) {
    const { code } = state.openRoom;
    offset ??= Math.round(time - Date.now()) || 0;
    if (received.code !== code) Object.assign(received, { code, number: newest, waiting: [] });
    received.waiting.push(...commands.filter(({ number }) => number > received.number));
    received.number = newest; // lower after a restart of the server that lost some
    pass();
  }

  function pass() {
    if (isPassing) return;
    isPassing = true;
    for (let command = received.waiting.shift(); command; command = received.waiting.shift()) {
      if (passCommand(command)) continue;
      received.waiting.unshift(command);
      break;
    }
    isPassing = false;
  }

  // `values` is the state of the screen; `done` is the newest command that the page took.
  function show(values) {
    pass();
    if (!state.openRoom || !state.mine || state.data.exploring || offset === null) return;
    const done = received.waiting.length ? received.waiting[0].number - 1 : received.number;
    const now = { ...values, begun: values.begun && values.begun + offset, done }, text = JSON.stringify(now);
    if (text === sent) return;
    sent = text;
    queue.show({ state: now });
  }

  async function post(content) {
    const room = state.openRoom;
    if (!room) return true;
    const { status, text } = await request(room, "/screen", content);
    if (status === 400 && content.state.talk) queue.show({ state: { ...content.state, talk: null, fault: text } });
    return status > 0 && status < 500 && status !== 429;
  }

  function forget() {
    Object.assign(received, { code: "", waiting: [] });
    queue.forget();
    sent = "";
    offset = null;
  }
}
