// A server that was started anew knows no widget of an open page before it has run once: what reaches it earlier is lost. So
// what is done here meanwhile is held back until that run is over, and what was being typed is put back into its box. Measured with a
// server that restarts under an open page: a click and a typed draft survive; without this file the click is lost.
(() => {
  const RERUN = 11, FINISHED = 6; // fields of Streamlit's messages to the server, and from it
  const PATIENCE = 60_000; // ms, for the first run: a server may have to load a model
  const FRAMES = 30; // after it, in which the page draws what it says
  const drafts = new Map(); // what is typed and not sent: the class of a box -> its text
  let connected = false, hasConnected = false;

  // Whether a message has a field at its first level.
  function has(data, field) {
    const bytes = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
    let at = 0;
    const varint = () => {
      let value = 0, scale = 1, byte;
      do { byte = bytes[at++]; value += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return value;
    };
    while (at < bytes.length) {
      const key = varint(), kind = key & 7;
      if (Math.floor(key / 8) === field) return true;
      if (kind === 0) varint();
      else { const length = kind === 2 ? varint() : kind === 1 ? 8 : 4; at += length; }
    }
    return false;
  }

  const Real = window.WebSocket;
  window.WebSocket = class extends Real {
    #waits = ""; // "": for nothing; "asks": for its first run to be asked for; "runs": for its end
    #held = [];

    constructor(address, ...more) {
      super(address, ...more);
      if (!String(address).includes("/_stcore/stream")) return;
      super.addEventListener("open", () => { connected = !hasConnected; this.#waits = hasConnected ? "asks" : ""; hasConnected = true; });
      super.addEventListener("close", () => { connected = false; });
      super.addEventListener("message", ({ data }) => {
        if (this.#waits === "runs" && typeof data !== "string" && has(data, FINISHED)) setTimeout(() => this.#release());
      });
    }

    send(data) {
      const asks = this.#waits && typeof data !== "string" && has(data, RERUN);
      if (asks && this.#waits === "runs") { this.#held.push(data); return; }
      super.send(data);
      if (!asks) return;
      this.#waits = "runs";
      setTimeout(() => this.#release(), PATIENCE);
    }

    #release() {
      if (this.#waits !== "runs") return;
      this.#waits = "";
      connected = true;
      for (const data of this.#held.splice(0)) if (this.readyState === Real.OPEN) super.send(data);
      restore([...drafts], FRAMES);
      drafts.clear();
    }
  };

  const box = (node) => node.matches?.("input[type=text]") && [...(node.closest('[class*="st-key-"]')?.classList ?? [])].find((name) => name.startsWith("st-key-"));
  const sent = ({ target, type, key }) => { if (connected && (type !== "keydown" || key === "Enter")) drafts.delete(box(target)); };
  document.addEventListener("input", ({ target }) => { const name = box(target); if (name) drafts.set(name, target.value); }, true);
  document.addEventListener("keydown", sent, true);
  document.addEventListener("focusout", sent, true);

  // Puts each text back where the run has taken it away, as if it were typed.
  function restore(texts, frames) {
    const left = texts.filter(([name, text]) => {
      const input = document.querySelector(`.${CSS.escape(name)} input[type=text]`);
      if (!input || input.value === text) return true;
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, text);
      input.dispatchEvent(new Event("input", { bubbles: true }));
      return false;
    });
    if (left.length && frames) requestAnimationFrame(() => restore(left, frames - 1));
  }
})();
