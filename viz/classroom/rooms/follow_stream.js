// The stream of what a room shows. It comes back by itself: after a network that was away, a phone that slept, a server that
// was started anew.

import { delay } from "./follow_parts.js";

const SILENT = 40_000; // ms without an event after which it is looked whether there should have been one
const SLEPT = 15_000; // ms out of sight, after which a stream may be dead without knowing it
const LATER = 20_000; // ms, where the lab says that there is no room now
const TRIED = 3; // streams that did not begin though the room is there: then it is asked why

// `told` gets what the room shows, `stands` how the stream is ("live", "away", "refused", "over") and the server's sentence.
export function follow(code, { told, stands }) {
  const at = `/rooms/${code}`;
  let source = null, timer = null, tries = 0, failed = 0, version = -1, heard = 0, hidden = 0, over = false;

  function hear(news) {
    heard = performance.now();
    if (news.version < version) return; // an answer that was overtaken
    version = news.version;
    told(news);
  }

  function open() {
    source?.close();
    source = new EventSource(`${at}/events`);
    source.onopen = () => { tries = failed = 0; heard = performance.now(); stands("live"); };
    source.onmessage = ({ data }) => hear(JSON.parse(data));
    source.addEventListener("ended", end);
    source.onerror = () => { failed += 1; lose(); };
  }

  function end() {
    over = true;
    close();
    stands("over", "");
  }

  function close() {
    source?.close();
    source = null;
    clearTimeout(timer);
  }

  function lose() { // what went wrong an EventSource does not say
    close();
    stands("away", "");
    again(1000 * delay(tries++, Math.random()));
  }

  function again(ms) {
    clearTimeout(timer);
    timer = setTimeout(look, ms);
  }

  async function look() { // asks once, and opens the stream where there is none
    if (over) return;
    let answer, sentence = "";
    try {
      const full = failed >= TRIED, stop = new AbortController();
      answer = await fetch(full ? `${at}/events` : at, { cache: "no-store", signal: stop.signal });
      if (full && answer.ok) stop.abort();
      else if (answer.ok) hear(await answer.json());
      else if (answer.status < 500 || answer.headers.get("content-type")?.startsWith("text/plain")) sentence = (await answer.text()).slice(0, 300);
    } catch { lose(); return; }
    if (over) return;
    if (answer.ok) { if (!source) open(); return; }
    close();
    if (answer.status === 404 || answer.status === 400) { over = true; stands("over", sentence); return; }
    if (!sentence) { lose(); return; }
    stands("refused", sentence);
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
  window.addEventListener("offline", () => { if (!over) stands("away", ""); });
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted && !over) renew(); });
  setInterval(async () => {
    if (over || document.hidden || !source || performance.now() - heard < SILENT) return;
    heard = performance.now();
    const known = version;
    await look();
    if (source && version > known) open(); // the stream did not say so: it is dead
  }, SILENT / 4);
  look();
}
