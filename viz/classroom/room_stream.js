// Events and requests of the lecturer's room. Both send the secret in a header, never in an address.

import { eventsOf } from "./room_parts.js";

const SILENT = 40_000; // ms: the room gives a sign of life every 15 s
const SIGN = 10_000; // ms between two signs of life
const WAIT_MS = [1000, 2000, 4000, 8000]; // ms
const PATIENCE = 10_000; // ms

// One request: its status (0 if the server is unreachable) and text.
export async function asked({ code, secret }, what, said) {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${secret}` };
  try {
    const answer = await fetch(`/rooms/${code}${what}`, { method: said ? "POST" : "GET", headers, body: said && JSON.stringify(said), signal: AbortSignal.timeout(PATIENCE) });
    return { status: answer.status, text: await answer.text() };
  } catch {
    return { status: 0, text: "" };
  }
}

// Follows a room until it ends: calls `told` with its state, `away` with true or false for the connection, `gone` at the end.
export function following(held, { told, away, gone }) {
  let ended = false, tries = 0, stop = null, again = null, silence = null, signed = performance.now();
  const alive = () => { clearTimeout(silence); silence = setTimeout(() => stop?.abort(), SILENT); };

  // Answers the room, because a connection can die unnoticed. A timer would sleep in a hidden tab.
  function sign() {
    if (performance.now() - signed < SIGN) return;
    signed = performance.now();
    asked(held, "/here", {});
  }

  async function open() {
    stop = new AbortController();
    alive();
    try {
      const answer = await fetch(`/rooms/${held.code}/events`, { headers: { Authorization: `Bearer ${held.secret}` }, signal: stop.signal });
      if ([400, 403, 404].includes(answer.status)) { finish(); gone(); return; }
      if (answer.ok) await read(answer.body.pipeThrough(new TextDecoderStream()).getReader());
    } catch { /* tried again */ }
    clearTimeout(silence);
    if (ended) return;
    if (tries) away(true); // a single failure is not reported
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
      for (const { event, data } of events) {
        if (event === "ended") { finish(); gone(); return; }
        if (tries) { tries = 0; away(false); }
        told(JSON.parse(data));
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
