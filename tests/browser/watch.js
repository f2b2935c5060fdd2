// Run in every page before its own scripts: `lab` knows what the page has sent, which runs of the app answer it, which short
// timers have not rung yet, and whether React is at work. So a test can wait until nothing is under way, however slow the machine.
(() => {
  const SHORT = 1000; // ms: longer timers are not waited for
  const LOST = 25_000; // ms: a request that nothing answers, as of a page that is left
  const AFTER = 3000; // ms: what is set later follows from nothing that was done; some scripts ask again and again
  const NEAR = 160; // px, as in lazy.js
  const FRAMES = 3; // in a row, with nothing under way
  const SCRIPT_FINISHED = 6, NEW_SESSION = 4, RERUN_SCRIPT = 11, EARLY_FOR_RERUN = 2; // of Streamlit's messages
  const BUSY = "[data-testid=stStatusWidget], [data-stale=true], [data-testid=stSkeleton], [data-testid=stSpinner]";
  const lab = (window.lab = { sent: 0, owed: 0, runs: 0, running: false, heard: 0, cause: 0, asked: 0, began: 0, timers: new Map(), renders: 0, calm: 0 });
  const INPUT = ["keydown", "keyup", "pointerdown", "pointerup", "click", "mousemove", "input", "popstate", "resize"];
  for (const name of INPUT) window.addEventListener(name, () => { lab.cause = performance.now(); }, true);

  const { setTimeout: later, clearTimeout: never } = window;
  window.setTimeout = (call, ms = 0, ...words) => {
    const id = later(() => { lab.timers.delete(id); call(...words); }, ms);
    if (ms <= SHORT && performance.now() - Math.max(lab.cause, lab.heard) < AFTER) lab.timers.set(id, { ms, call });
    return id;
  };
  window.clearTimeout = (id) => { lab.timers.delete(id); never(id); };

  // React divides its work by messages from port2 to port1 of a channel.
  const Channel = window.MessageChannel;
  window.MessageChannel = class extends Channel {
    constructor() {
      super();
      const { port1, port2 } = this, post = port2.postMessage.bind(port2);
      let waiting = 0;
      port1.addEventListener("message", () => { if (waiting) { waiting -= 1; lab.renders -= 1; } });
      port2.postMessage = (...words) => {
        if (port1.onmessage) { waiting += 1; lab.renders += 1; }
        post(...words);
      };
    }
  };

  // The fields of a message's first level: number -> value, or true where it is no number.
  function fields(data) {
    const bytes = new Uint8Array(data), found = {};
    let at = 0;
    const varint = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    while (at < bytes.length) {
      const key = varint(), kind = key & 7, number = Math.floor(key / 8);
      if (kind === 0) { found[number] = varint(); continue; }
      found[number] = true;
      const length = kind === 2 ? varint() : kind === 1 ? 8 : 4;
      at += length;
    }
    return found;
  }

  function hear({ data }) {
    if (typeof data === "string") return;
    const found = fields(data);
    lab.heard = performance.now();
    if (NEW_SESSION in found) Object.assign(lab, { runs: lab.runs + 1, running: true, began: lab.heard, owed: Math.max(0, lab.owed - 1) });
    if (SCRIPT_FINISHED in found && found[SCRIPT_FINISHED] !== EARLY_FOR_RERUN) {
      lab.running = false;
      if (lab.asked < lab.began) lab.owed = 0; // one run may answer several requests
    }
  }

  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    constructor(...words) { super(...words); super.addEventListener("message", hear); }
    send(data) {
      lab.sent += 1;
      lab.heard = performance.now();
      if (typeof data !== "string" && RERUN_SCRIPT in fields(data)) Object.assign(lab, { owed: lab.owed + 1, asked: lab.heard });
      super.send(data);
    }
  };

  const moving = (each) => each.playState === "running" && each.effect.getComputedTiming().endTime !== Infinity;
  lab.under_way = () => {
    const found = [];
    if (!lab.runs) found.push("the first run");
    if (lab.running) found.push("a run");
    if (lab.owed && performance.now() - lab.heard < LOST) found.push("a request");
    for (const { ms, call } of lab.timers.values()) found.push(`a timer of ${ms} ms: ${String(call).slice(0, 80)}`);
    if (document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning") found.push("the app's state");
    if (lab.renders) found.push("a rendering");
    const calls = window.attentionLabCalls;
    if (calls?.length || calls?.pending) found.push("a component");
    const busy = document.querySelector(BUSY);
    if (busy) found.push(busy.outerHTML.slice(0, 80));
    const awaited = [...document.querySelectorAll('[class*="st-key-lazy-"]')].map((each) => each.getBoundingClientRect());
    if (awaited.some(({ top, bottom }) => bottom > -NEAR && top < innerHeight + NEAR)) found.push("what is asked for once it is seen");
    if (document.getAnimations().some(moving)) found.push("an animation");
    return found;
  };
  // True after some frames in a row in which nothing was under way: asked once a frame.
  lab.idle = () => {
    lab.calm = lab.under_way().length ? 0 : lab.calm + 1;
    if (lab.calm < FRAMES) return false;
    lab.calm = 0;
    return true;
  };
  // Dispatches a key a frame. How many frames were sent meanwhile, and how often a pause was long enough for one.
  lab.walk = async (keys, rest) => {
    const before = lab.sent;
    let pauses = 0, last = performance.now();
    for (const key of keys) {
      document.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true }));
      await new Promise(requestAnimationFrame);
      pauses += performance.now() - last >= rest - 20;
      last = performance.now();
    }
    return [lab.sent - before, pauses];
  };
})();
