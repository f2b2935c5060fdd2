// Events and requests of the lecturer's room. Both send the secret in a header, never in an address.

import { eventsOf } from "./room_parts.js";

const SILENT = 40_000; // ms: the room gives a sign of life every 15 s
const SIGN = 10_000; // ms between two signs of life
const WAIT_MS = [1000, 2000, 4000, 8000]; // ms
const PATIENCE = 10_000; // ms

// One request: its status (0 if the server is unreachable) and text. `more` are further options of fetch.
export async function request({ code, secret }, what, content, more = {}) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${secret}` };
  try {
    const answer = await fetch(`/rooms/${code}${what}`, { method: content ? "POST" : "GET", headers, body: content && JSON.stringify(content), signal: AbortSignal.timeout(PATIENCE), ...more });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

// Follows a room until it ends: calls `onState` with its state and the server's time in ms, `onAway` with true or false for the
// connection, `onEnd` at the end with the status. `isHere`: this page is the lecturer's, and gives signs of life.
export function following(room, { onState, onAway, onEnd }, { path = "/events", isHere = true } = {}) {
  let ended = false, tries = 0, stop = null, again = null, silence = null, lastSign = performance.now();
  const alive = () => { clearTimeout(silence); silence = setTimeout(() => stop?.abort(), SILENT); };

  // Answers the room, because a connection can die unnoticed. A timer would sleep in a hidden tab.
  function sign() {
    if (!isHere || performance.now() - lastSign < SIGN) return;
    lastSign = performance.now();
    request(room, "/here", {});
  }

  async function open() {
    stop = new AbortController();
    alive();
    try {
      const answer = await fetch(`/rooms/${room.code}${path}`, { headers: { Authorization: `Bearer ${room.secret}` }, signal: stop.signal });
      if ([400, 403, 404].includes(answer.status)) { finish(); onEnd(answer.status); return; }
      if (answer.ok) await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch { /* tried again */ }
    clearTimeout(silence);
    if (ended) return;
    if (tries) onAway(true); // a single failure is not reported
    again = setTimeout(open, WAIT_MS[Math.min(tries, WAIT_MS.length - 1)]);
    tries += 1;
  }

  async function read(reader) {
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done || ended) return;
      alive();
      sign();
      const [events, rest] = eventsOf(text + value);
      text = rest;
      for (const { event, data, time } of events) {
        if (event === "ended") { finish(); onEnd(404); return; }
        if (tries) { tries = 0; onAway(false); }
        onState(JSON.parse(data), 1000 * time);
      }
    }
  }

  function finish() {
    ended = true;
    clearTimeout(again);
    clearTimeout(silence);
    stop?.abort();
  }

  open();
  return finish;
}
