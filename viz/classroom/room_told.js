// How the parts of a room hear of one another: one script knows it and shows it, others draw it and say what is to be done.

const ROOM = "attention-lab-room", DO = "attention-lab-room-do";
const unkept = (globalThis.attentionLabKept ??= new Map()); // where the browser refuses to keep anything

export const roomNow = () => globalThis.attentionLabRoom ?? {};

export function tellRoom(now) {
  globalThis.attentionLabRoom = now;
  document.dispatchEvent(new CustomEvent(ROOM));
}

export function followRoom(listen) { // returns what ends it
  const heard = () => listen(roomNow());
  document.addEventListener(ROOM, heard);
  return () => document.removeEventListener(ROOM, heard);
}

export const askFor = (what) => document.dispatchEvent(new CustomEvent(DO, { detail: what }));

export function onAsked(handle) { // returns what ends it
  const heard = ({ detail }) => handle(detail);
  document.addEventListener(DO, heard);
  return () => document.removeEventListener(DO, heard);
}

// What this browser keeps, under a name: a value, or null.
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
