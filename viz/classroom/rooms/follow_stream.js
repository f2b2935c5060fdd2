// Stream of a room's state. It reconnects after a lost network, a sleeping phone or a server restart.

import { delay } from "./follow_parts.js";

const SILENT = 40_000; // ms without an event before a check
const SLEPT = 15_000; // ms hidden, after which a stream may be dead
const LATER = 20_000; // ms before a refused request is repeated
const PATIENCE = 10_000; // ms for an answer: a sleeping machine gives none
const TRIED = 3; // failed streams of an existing room before the reason is requested

// `onState` gets the room's state, `onConnection` the stream's state ("live", "away", "refused", "over") the server's message,
// and the time of its last sign (ms since 1970).
export function follow(code, { onState, onConnection }) {
  const address = `/rooms/${code}`;
  let source = null, timer = null, tries = 0, failed = 0, version = -1, lastEvent = 0, hidden = 0, over = false, lastSeen = Date.now();
  const sign = () => { lastEvent = performance.now(); lastSeen = Date.now(); };

  function receive(news) {
    sign();
    if (news.version < version) return; // an older answer
    version = news.version;
    onState(news);
  }

  function open() {
    source?.close();
    source = new EventSource(`${address}/events`);
    source.onopen = () => { tries = failed = 0; sign(); onConnection("live"); };
    source.onmessage = ({ data }) => receive(JSON.parse(data));
    source.addEventListener("ended", end);
    source.onerror = () => { failed += 1; lose(); };
  }

  function end() {
    over = true;
    close();
    onConnection("over", "");
  }

  function close() {
    source?.close();
    source = null;
    clearTimeout(timer);
  }

  function lose() { // an EventSource gives no reason
    close();
    onConnection("away", "", lastSeen);
    again(1000 * delay(tries++, Math.random()));
  }

  function again(ms) {
    clearTimeout(timer);
    timer = setTimeout(look, ms);
  }

  async function look() { // requests the state once, and opens the stream if there is none
    if (over) return;
    let answer, sentence = "";
    const full = failed >= TRIED, stop = new AbortController(), timeout = setTimeout(() => stop.abort(), PATIENCE);
    try {
      answer = await fetch(full ? `${address}/events` : address, { cache: "no-store", signal: stop.signal });
      if (full && answer.ok) stop.abort();
      else if (answer.ok) receive(await answer.json());
      else if (answer.status < 500 || answer.headers.get("content-type")?.startsWith("text/plain")) sentence = (await answer.text()).slice(0, 300);
    } catch { lose(); return; } finally { clearTimeout(timeout); }
    if (over) return;
    if (answer.ok) { if (!source) open(); return; }
    close();
    if (answer.status === 404 || answer.status === 400) { over = true; onConnection("over", sentence); return; }
    if (!sentence) { lose(); return; }
    onConnection("refused", sentence, lastSeen);
    again(LATER * (1 + Math.random()));
  }

  function renew() { close(); tries = 0; look(); }

  document.addEventListener("visibilitychange", () => {
    if (over) return;
    if (document.hidden) { hidden = performance.now(); return; }
    if (!source || performance.now() - hidden > SLEPT) renew();
    else look();
  });
  window.addEventListener("online", () => { if (!over) renew(); });
  window.addEventListener("offline", () => { if (!over) onConnection("away", "", lastSeen); });
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted && !over) renew(); });
  setInterval(async () => {
    if (over || document.hidden || !source || performance.now() - lastEvent < SILENT) return;
    lastEvent = performance.now();
    const versionBefore = version;
    await look();
    if (source && version > versionBefore) open(); // the stream missed it: it is dead
  }, SILENT / 4);
  look();
}
