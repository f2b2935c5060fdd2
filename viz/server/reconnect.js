// Holds back a visitor's actions while a restarted server runs an open page for the first time. Such a server knows no widgets of the
// page before, so earlier messages are lost. A typed text that was not sent is restored. Measured with a server that restarts under
// an open page: a click and a typed draft survive; without this file the click is lost.
(() => {
  const RERUN = 11, FINISHED = 6; // fields of Streamlit's messages to the server, and from it
  const PATIENCE = 60_000; // ms, for the first run: a server may have to load a model
  const FRAMES = 30; // after it, in which the page is drawn
  const drafts = new Map(); // typed texts that are not sent: the class of a box -> its text
  let connected = false, hasConnected = false;

  // Returns true if a message has a field at its first level.
  function has(data, field) {
    const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
    let offset = 0;
    const varint = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[offset++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    while (offset < bytes.length) {
      const key = varint(), kind = key & 7;
      if (Math.floor(key / 8) === field) return true;
      if (kind === 0) varint();
      else { const length = kind === 2 ? varint() : kind === 1 ? 8 : 4; offset += length; }
    }
    return false;
  }

  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    #waits = ""; // "": for nothing; "start": for the request of its first run; "end": for the end of that run
    #queue = [];

    constructor(address, ...more) {
      super(address, ...more);
      if (!String(address).includes("/_stcore/stream")) return;
      super.addEventListener("open", () => { connected = !hasConnected; this.#waits = hasConnected ? "start" : ""; hasConnected = true; });
      super.addEventListener("close", () => { connected = false; });
      super.addEventListener("message", ({ data }) => {
        if (this.#waits === "end" && typeof data !== "string" && has(data, FINISHED)) setTimeout(() => this.#release());
      });
    }

    send(data) {
      const isRerun = this.#waits && typeof data !== "string" && has(data, RERUN);
      if (isRerun && this.#waits === "end") { this.#queue.push(data); return; }
      super.send(data);
      if (!isRerun) return;
      this.#waits = "end";
      setTimeout(() => this.#release(), PATIENCE);
    }

    #release() {
      if (this.#waits !== "end") return;
      this.#waits = "";
      connected = true;
      for (const data of this.#queue.splice(0)) if (this.readyState === Real.OPEN) super.send(data);
      restore([...drafts], FRAMES);
      drafts.clear();
    }
  };

  const box = (node) => node.matches?.("input[type=text]") && [...(node.closest('[class*="st-key-"]')?.classList ?? [])].find((name) => name.startsWith("st-key-"));
  const forgetDraft = ({ target, type, key }) => { if (connected && (type !== "keydown" || key === "Enter")) drafts.delete(box(target)); };
  document.addEventListener("input", ({ target }) => { const name = box(target); if (name) drafts.set(name, target.value); }, true);
  document.addEventListener("keydown", forgetDraft, true);
  document.addEventListener("focusout", forgetDraft, true);

  // Restores each text that the run removed, as if it were typed.
  function restore(texts, frames) {
    const missing = texts.filter(([name, text]) => {
      const input = document.querySelector(`.${CSS.escape(name)} input[type=text]`);
      if (!input || input.value === text) return true;
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      return false;
    });
    if (missing.length && frames) requestAnimationFrame(() => restore(missing, frames - 1));
  }
})();
