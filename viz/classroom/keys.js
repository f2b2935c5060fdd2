// Keys in a lecture: their meaning on any keyboard layout, and the list of keys.

export const FIXED = { b: "blank", ".": "blank", f: "full", "?": "list", l: "leave", "[": "before", "]": "after", "<": "before", ">": "after", "/": "typing", u: "undo", N: "numbers" };
export const QUESTIONS = ["O", "m", "M", "T", "N", "K", "R"]; // keys for the commonest questions of a hall, listed first
export const MODIFIERS = ["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock", "NumLock", "Fn"]; // ignored alone
const PRINTED = { ArrowRight: "→", ArrowLeft: "←", ArrowUp: "↑", ArrowDown: "↓" };

// The active modifiers, without those of AltGr, which Windows reports as Ctrl and Alt.
export function modifiersOf(event) {
  const sign = event.getModifierState?.("AltGraph") && event.key?.length === 1;
  return { altKey: event.altKey && !sign, ctrlKey: event.ctrlKey && !sign, metaKey: event.metaKey };
}

// [action, number] of a key without Ctrl, Alt or Meta; null without a meaning. Keys of the page come before keys of all pages.
// A typed digit chooses a layer, 0 the next head. The same key in its other state (Shift, or no Shift on French keyboards)
// chooses a head, unless it types a character with a meaning.
export function meaning({ key, code }, own) {
  if (own.includes(key)) return ["own", key];
  if (Object.hasOwn(FIXED, key)) return [FIXED[key]];
  if (/^\d$/.test(key)) return key === "0" ? ["head on"] : ["layer", Number(key)];
  const digit = /^Digit(\d)$/.exec(code)?.[1];
  return digit ? ["head", Number(digit)] : null;
}

// Layer and head after a choice, or a message with the valid numbers.
export function chosenPlace([what, number], { layers, heads, layer, head }) {
  if (what === "head on") return { layer, head: head === heads ? 0 : (head || 0) + 1 };
  const limit = what === "layer" ? layers : heads;
  if (number > limit) return `There ${limit === 1 ? `is one ${what}` : `are ${what}s 1 to ${limit}`}.`;
  return what === "layer" ? { layer: number, head } : { layer, head: number };
}

const printed = (name) => PRINTED[name] || (/^[A-Z]$/.test(name) ? `Shift ${name}` : name);
const digits = (count) => (count > 1 ? `1 … ${Math.min(9, count)}` : "1");

// True for a listed key that answers a common question of a hall.
export const isQuestion = (names) => QUESTIONS.includes(names.replace("Shift ", ""));

// [keys, action] of all keys of the page; its own keys come first and replace general meanings.
export function listed({ keys, steps, layers, heads, talk }) {
  const own = keys.map(([name, does]) => [printed(name), does]), used = new Set(own.flatMap(([names]) => names.split(/[ ,]+/))), arrows = used.has("→");
  return [...own, ...[
    [steps && !arrows, "→ ←", "next step, previous step"], [steps && !used.has("space"), "space", "next step"], [steps && !used.has("Home"), "Home, End", "first step, last step"],
    [talk, "Page down, page up", "next stop, previous stop (clicker keys)"], [!talk && (steps || arrows), "Page down, page up", "same as → ← (clicker keys)"],
    [layers, digits(layers), "choose a layer"], [layers && heads, `Shift ${digits(heads)}`, "choose a head"], [layers && heads, "0", "next head"], [layers && heads, "Shift 0", "mean over heads"],
    [true, "< > or [ ]", "previous page, next page"], [true, "/", "type another sentence"], [true, "j", "show how to join"], [true, "q", "ask the class, then show the answer"], [true, "Shift Q", "ask your own next question"], [true, "Shift R", "what did the class say"], [true, "Shift N", "numbers in the cells of the map"],
    [true, "b or .", "blank the screen"], [true, "f", "full screen"], [true, "Esc or u", "undo the last change"], [true, "l", "lecture mode on or off"], [true, "?", "this list"],
  ].filter(([is]) => is).map(([, ...line]) => line)];
}
