// What a key means in a lecture, on any keyboard, and the list of keys. Nothing here knows the page.

export const FIXED = { b: "blank", ".": "blank", f: "full", "?": "list", l: "leave", "[": "before", "]": "after", "<": "before", ">": "after", "/": "typing", u: "undo" };
export const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock", "NumLock", "Fn"]; // alone they mean nothing
const PRINTED = { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓" };

// The modifiers that count. A sign that is typed with AltGr, which Windows tells as Ctrl and Alt, is a sign like others.
export function held(event) {
  const sign = event.getModifierState?.("AltGraph") && event.key?.length === 1;
  return { altKey: event.altKey && !sign, ctrlKey: event.ctrlKey && !sign, metaKey: event.metaKey };
}

// [what, which] for a key that is pressed without Ctrl, Alt or Meta; null where it means nothing. First what is printed on it: a key
// of the page, then one of all pages. A digit that is typed chooses a layer, and 0 the next head; the same key in its other state
// (Shift where digits are typed without, no Shift on French keyboards) chooses a head, unless it types a sign that means something.
export function meaning({ key, code }, own) {
  if (own.includes(key)) return ["own", key];
  if (Object.hasOwn(FIXED, key)) return [FIXED[key]];
  if (/^\d$/.test(key)) return key === "0" ? ["head on"] : ["layer", Number(key)];
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  return digit ? ["head", Number(digit)] : null;
}

// Layer and head after a choice, or one sentence that says what there is.
export function chosenPlace([what, number], { layers, heads, layer, head }) {
  if (what === "head on") return { layer, head: head === heads ? 0 : (head || 0) + 1 };
  const most = what === "layer" ? layers : heads;
  if (number > most) return `There ${most === 1 ? `is one ${what}` : `are ${what}s 1 to ${most}`}.`;
  return what === "layer" ? { layer: number, head } : { layer, head: number };
}

const printed = (name) => PRINTED[name] || (/^[A-Z]$/.test(name) ? `Shift ${name}` : name);
const upTo = (count) => (count > 1 ? `1 … ${Math.min(9, count)}` : "1");

// [keys, what they do] of what there is on the page: its own keys stand first, and in place of what they mean elsewhere.
export function listed({ keys, steps, layers, heads, talk }) {
  const own = keys.map(([name, does]) => [printed(name), does]), taken = new Set(own.flatMap(([names]) => names.split(/[ ,]+/))), arrows = taken.has("→");
  return [...own, ...[
    [steps && !arrows, "→ ←", "a step on, a step back"], [steps && !taken.has("space"), "space", "a step on"], [steps && !taken.has("Home"), "Home, End", "the first step, the last one"],
    [talk, "Page down, page up", "the next stop of the playlist, the one before: a clicker sends these"], [!talk && (steps || arrows), "Page down, page up", "the same as → ←: a clicker sends these"],
    [layers, upTo(layers), "a layer"], [layers && heads, `Shift ${upTo(heads)}`, "a head"], [layers && heads, "0", "the next head"], [layers && heads, "Shift 0", "the mean over heads"],
    [true, "< > or [ ]", "the page before, the next one"], [true, "/", "type another sentence"], [true, "j", "how to join the room"], [true, "q", "ask the class, then the answer"],
    [true, "b or .", "blank the screen"], [true, "f", "full screen"], [true, "Esc or u", "take the last change back"], [true, "l", "lecture mode on and off"], [true, "?", "this list"],
  ].filter(([is]) => is).map(([, ...line]) => line)];
}
