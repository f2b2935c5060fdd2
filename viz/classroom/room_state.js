// State and actions of the room, shared between its components by events.

const ROOM = "attention-lab-room", DO = "attention-lab-room-do", COMMAND = "attention-lab-command";
const memory = (globalThis.attentionLabMemory ??= new Map()); // fallback without local storage

export const roomNow = () => globalThis.attentionLabRoom ?? {};

export function publishRoom(now) {
  globalThis.attentionLabRoom = now;
  document.dispatchEvent(new CustomEvent(ROOM));
}

export function followRoom(listen) { // returns a function that stops it
  const listener = () => listen(roomNow());
  document.addEventListener(ROOM, listener);
  return () => document.removeEventListener(ROOM, listener);
}

export const requestRoomAction = (action, value) => document.dispatchEvent(new CustomEvent(DO, { detail: { action, value } }));

export function onRoomAction(handle) { // returns a function that stops it
  const listener = ({ detail }) => handle(detail.action, detail.value);
  document.addEventListener(DO, listener);
  return () => document.removeEventListener(DO, listener);
}

// A command of a presenter view on a phone, for the page. Returns true if the page took it.
export const passCommand = (command) => !document.dispatchEvent(new CustomEvent(COMMAND, { detail: command, cancelable: true }));

export function onCommand(handle) { // returns a function that stops it
  const listener = (event) => { event.preventDefault(); handle(event.detail); };
  document.addEventListener(COMMAND, listener);
  return () => document.removeEventListener(COMMAND, listener);
}

// A value in local storage, or null.
export function storedValue(name) {
  const key = `attention-lab-${name}`;
  return {
    key,
    get() {
      try { return JSON.parse(localStorage.getItem(key) ?? memory.get(key) ?? "null"); } catch { return JSON.parse(memory.get(key) ?? "null"); }
    },
    set(value) {
      const text = JSON.stringify(value);
      memory.set(key, text);
      try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, text);
      } catch { /* refused, or full */ }
    },
  };
}
