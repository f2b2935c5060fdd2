// State and actions of the room, shared between its components by events.

const ROOM = "attention-lab-room", DO = "attention-lab-room-do";
const unkept = (globalThis.attentionLabKept ??= new Map()); // fallback without local storage

export const roomNow = () => globalThis.attentionLabRoom ?? {};

export function tellRoom(now) {
  globalThis.attentionLabRoom = now;
  document.dispatchEvent(new CustomEvent(ROOM));
}

export function followRoom(listen) { // returns a function that stops it
  const heard = () => listen(roomNow());
  document.addEventListener(ROOM, heard);
  return () => document.removeEventListener(ROOM, heard);
}

export const askFor = (what) => document.dispatchEvent(new CustomEvent(DO, { detail: what }));

export function onAsked(handle) { // returns a function that stops it
  const heard = ({ detail }) => handle(detail);
  document.addEventListener(DO, heard);
  return () => document.removeEventListener(DO, heard);
}

// A value in local storage, or null.
export function keeps(name) {
  const key = `attention-lab-${name}`;
  return {
    key,
    get() {
      try { return JSON.parse(localStorage.getItem(key) ?? unkept.get(key) ?? "null"); } catch { return JSON.parse(unkept.get(key) ?? "null"); }
    },
    set(value) {
      const text = JSON.stringify(value);
      unkept.set(key, text);
      try {
        if (value === null) localStorage.removeItem(key);
        else localStorage.setItem(key, text);
      } catch { /* refused, or full */ }
    },
  };
}
