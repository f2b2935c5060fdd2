// Lecture mode: keys, the blank screen, the list of keys, the ring around the pointed thing. It is also mounted outside lecture
// mode, for the key that starts it. Texts go through textContent only.

import { element, followStep, headName, isKeyFree, isNewValue, mountComponent, NUMBERS, unmountComponent } from "../kit/mount.js";
import { neighbourStep, usesArrowKeys, usesSpaceKey } from "../kit/page_keys.js";
import { chosenPlace, isQuestion, listed, meaning, MODIFIERS, modifiersOf } from "./keys.js";
import { nameAt, rectOf } from "../kit/pointing.js";
import { presenting } from "./presenting.js";
import { requestRoomAction } from "./room_state.js";

export const BLANK = "attention-lab-blank", POINTER = "attention-lab-pointer"; // the room listens to these
export const OFFERED = "attention-lab-key"; // a key that an overlay can take
const NOTICE_MS = 1800, LETTER_MS = 60, FOLLOWED_MS = 100; // least time of a message, and time per letter; between two updates of the ring
const CHOICE_MS = 10000; // so long a key carries a choice of a head that the server has not confirmed: both may arrive in one run, in any order
const NOTE_LINE = 20; // px of a line of the notes, as in lecture_rules.css
const UNANSWERED_MS = 1000, TRIES = 5; // until a stop without an answer is sent again, and how often
const way = { pending: [], stop: 0, said: null }; // stops of the talk that were asked for; a change of page mounts the component anew
const NEXT = { PageDown: 1, PageUp: -1 }, STEPS = { ArrowLeft: -1, ArrowRight: 1, " ": 1 };

export function mountKeys({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".lecture", { memory: { pending: [] } });
  Object.assign(state, { data, report: setTriggerValue });
  if (first) beginKeys(state);
  document.documentElement.toggleAttribute("data-lab-lecture", data.lecture); // for CSS rules; `:has` at the root would be slow
  markMode(data.lecture);
  if (isNewValue(state.memory, data.step) || state.of !== data.of) state.step = data.step; // else the browser may be ahead of the server
  state.of = data.of;
  if (state.choice?.layer === data.layer && (state.choice.head || 0) === (data.head || 0)) state.choice = null; // the server has it
  if (isNewValue(way, data.stop) || way.stop > data.stops) way.stop = data.stop; // as with steps
  else if (way.stop !== data.stop) goAgain(state, TRIES);
  if (!data.lecture) { shut(state); blank(state, false); point(state, ""); }
  const [number, message] = data.said;
  if (way.said !== null && number !== way.said && message) say(state, message); // what the last key did
  way.said = number;
  state.presenting.send();
  return () => { endKeys(state); unmountComponent(root); };
}

// Reserves lines for the notes above the stage.
function markMode(on) {
  const place = on && document.querySelector(".st-key-lecture_notes"), root = document.documentElement;
  if (place && place.querySelector(".lab-note, .lab-fault")) root.dataset.labNoted = String(linesOf([...place.children]));
  else delete root.dataset.labNoted;
}

// The lines of the notes, one or two; they stand beside each other where they fit.
function linesOf(notes) {
  const top = Math.min(...notes.map((note) => note.offsetTop)), bottom = Math.max(...notes.map((note) => note.offsetTop + note.offsetHeight));
  return bottom - top > 1.5 * NOTE_LINE ? 2 : 1;
}

function beginKeys(state) {
  state.ring = document.body.appendChild(element("div", "lab-ring"));
  state.notice = document.body.appendChild(element("div", "lab-notice"));
  state.notice.setAttribute("role", "status");
  state.ring.hidden = state.notice.hidden = true;
  state.pressed = (event) => { if (handled(state, event)) { event.preventDefault(); event.stopImmediatePropagation(); } };
  state.late = (event) => { if (state.data.lecture && !event.defaultPrevented && stepped(state, event)) event.preventDefault(); };
  state.moved = (event) => { if (state.data.lecture && !state.isPointerOff) point(state, nameAt(event)); };
  state.left = () => point(state, "");
  window.addEventListener("keydown", state.pressed, true); // before other key handlers
  window.addEventListener("keydown", state.late);
  document.addEventListener("mousemove", state.moved, { passive: true });
  document.documentElement.addEventListener("mouseleave", state.left);
  state.resized = () => markMode(state.data.lecture);
  window.addEventListener("resize", state.resized);
  state.presenting = presenting(state, {
    next: () => asKey(state, "PageDown"), previous: () => asKey(state, "PageUp"), question: () => requestRoomAction("ask"),
    black: () => { if (state.data.lecture) blank(state, !state.dark); },
    pointer: () => { state.isPointerOff = !state.isPointerOff; point(state, ""); },
  }, () => ({ number: state.data.talk ? way.stop : 0, isBefore: state.data.talk && !way.stop, lecture: state.data.lecture, blank: Boolean(state.dark), pointerOff: Boolean(state.isPointerOff) }));
  state.unfollow = followStep(({ step }) => { state.step = step; });
}

function endKeys(state) {
  window.removeEventListener("keydown", state.pressed, true);
  window.removeEventListener("keydown", state.late);
  document.removeEventListener("mousemove", state.moved);
  document.documentElement.removeEventListener("mouseleave", state.left);
  window.removeEventListener("resize", state.resized);
  for (const timer of ["again", "silence", "unanswered"]) clearTimeout(state[timer]);
  state.unfollow();
  state.presenting.close();
  for (const name of ["ring", "notice", "sheet", "dark"]) state[name]?.remove();
}

// -- keys ----------------------------------------------------------------------------------------------------------

// True if the key has a fixed meaning and was handled.
function handled(state, event) {
  const { data } = state, target = event.composedPath()[0], { key } = event, keys = modifiersOf(event), plain = isKeyFree(keys, target);
  if (!data.lecture) return plain && key === "l" && (state.report("lecture", true), true);
  if (keys.ctrlKey || keys.metaKey || MODIFIERS.includes(key)) return false; // browser shortcuts
  if (state.dark) return blank(state, false), true; // any key ends the blank screen
  if (state.sheet) return reading(state, key), true;
  if (!document.dispatchEvent(new CustomEvent(OFFERED, { detail: event, cancelable: true }))) return true; // handled by the room
  if (key === "Escape") return escaped(state, target);
  if (key === "Enter" && target.closest?.(".st-key-lecture_bar input")) setTimeout(() => target.blur(), 50); // later keys are for the page
  if (!plain || (key in STEPS && usesArrowKeys(target))) return false;
  if (key in NEXT) return pageOn(state, NEXT[key]);
  const meant = meaning(event, data.keys.map(([name]) => name));
  if (!meant) return false;
  if (/^(layer|head)/.test(meant[0])) return chosen(state, meant);
  const does = { own: () => own(state, key), blank: () => blank(state, true), full, list: () => list(state), leave: () => state.report("lecture", false), before: () => state.report("page", -1), after: () => state.report("page", 1), typing, undo: () => undone(state), numbers: () => numbers(state) };
  does[meant[0]]();
  return true;
}

function own(state, key) {
  const [, does, quiet] = state.data.keys.find(([name]) => name === key);
  if (!quiet) say(state, does);
  const { choice } = state;
  state.choice = null;
  if (choice && performance.now() - choice.time < CHOICE_MS) state.report("key_at", { name: key, layer: choice.layer, head: choice.head || 0 });
  else state.report("key", key);
}

function pageOn(state, by) {
  if (state.data.talk) {
    const { stops } = state.data, target = way.stop + by, to = Math.max(Math.min(1, stops), Math.min(stops, target));
    if (to !== way.stop) { way.stop = to; way.pending.push(to); state.presenting.send(); }
    state.report("go", Math.max(0, target)); // absolute, because only the last of many reports arrives
    goLater(state, TRIES);
  } else document.dispatchEvent(new KeyboardEvent("keydown", { key: by > 0 ? "ArrowRight" : "ArrowLeft", bubbles: true, composed: true, cancelable: true }));
  return true;
}

// A page key from the presenter view: as pressed here, except that a blank screen stays blank.
function asKey(state, key) {
  if (state.data.lecture && !state.dark) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true }));
  else pageOn(state, NEXT[key]);
}

// Asks for the stop again: a server that is busy or changes the page ignores events.
function goAgain(state, tries) {
  state.report("go", way.stop);
  goLater(state, tries);
}

function goLater(state, tries) {
  clearTimeout(state.unanswered);
  state.unanswered = setTimeout(() => {
    if (way.stop === state.data.stop || !tries) return;
    if (document.querySelector(".stApp")?.dataset.testScriptState === "notRunning") goAgain(state, tries - 1);
    else goLater(state, tries);
  }, UNANSWERED_MS);
}

// True if the key moved to another step.
function stepped(state, event) {
  const { steps, only, what } = state.data, target = event.composedPath()[0], [first, last] = only.length ? [only[0], only.at(-1)] : [1, steps];
  if (!steps || !isKeyFree(event, target) || (event.key === " " ? usesSpaceKey(target) : usesArrowKeys(target))) return false;
  const to = { Home: first, End: last }[event.key] ?? (event.key in STEPS ? neighbourStep(state.step, STEPS[event.key], steps, only) : null);
  if (to === null) return false;
  const number = only.length ? only.indexOf(to) + 1 : to;
  if (to !== state.step) { state.step = to; say(state, `${what} ${number} of ${only.length || steps}`); state.memory.pending.push(to); state.report("step", to); }
  else say(state, to === first ? `the first ${what}` : `the last ${what}`);
  return true;
}

function chosen(state, meant) {
  if (!state.data.layers) return false;
  const place = chosenPlace(meant, state.data);
  if (typeof place === "string") return say(state, place), true;
  const { kinds } = state.data, names = kinds.map((kind) => headName(kind, place.layer, place.head || null)).join(", ");
  say(state, place.head || !kinds[1] ? names : `layer ${place.layer}, mean over heads`);
  Object.assign(state.data, place);
  state.choice = { ...place, time: performance.now() };
  state.report("choose", place);
  return true;
}

function escaped(state, target) {
  if (/^(INPUT|TEXTAREA)$/.test(target.tagName)) { target.blur(); return true; }
  return state.data.undo && (undone(state), true);
}

function undone(state) {
  say(state, state.data.undo ? "last change undone" : "nothing to undo");
  if (state.data.undo) state.report("undo", true);
}

function full() {
  if (document.fullscreenElement) document.exitFullscreen();
  else document.documentElement.requestFullscreen?.().then(() => navigator.keyboard?.lock?.(["Escape"])).catch(() => {}); // else Escape only leaves full screen
}

function typing() {
  const box = document.querySelector(".st-key-lecture_bar input");
  box?.focus();
  box?.select();
}

// Writes numbers into the cells of the large maps, or removes them. The first map decides which.
function numbers(state) {
  const detail = { maps: 0, fit: 0, on: null };
  document.dispatchEvent(new CustomEvent(NUMBERS, { detail }));
  if (!detail.maps) say(state, "This picture has no map.");
  else if (!detail.fit) say(state, "These cells are too small for numbers. Heads shows one map large.");
  else say(state, detail.on ? "numbers in the cells" : "no numbers in the cells");
}

// -- overlays ------------------------------------------------------------------------------------------------------

function say(state, text) {
  state.notice.textContent = text;
  state.notice.hidden = false;
  clearTimeout(state.silence);
  state.silence = setTimeout(() => { state.notice.hidden = true; }, Math.max(NOTICE_MS, LETTER_MS * text.length));
}

function blank(state, on) {
  if (Boolean(state.dark) === on) return;
  if (on) {
    state.dark = document.body.appendChild(element("div", "lab-blank", "any key shows the page again"));
    state.dark.setAttribute("role", "status");
    state.dark.onclick = () => blank(state, false);
  } else { state.dark.remove(); state.dark = null; }
  document.dispatchEvent(new CustomEvent(BLANK, { detail: { on } }));
  state.presenting.send();
}

function list(state) {
  const sheet = element("div", "lab-keys"), close = element("button", "", "Close"), lines = listed(state.data);
  sheet.setAttribute("role", "dialog");
  sheet.setAttribute("aria-modal", "true");
  sheet.setAttribute("aria-label", "Keys");
  close.onclick = () => shut(state);
  for (const [title, asks] of [["Questions from the hall", true], ["All keys", false]]) {
    const table = element("dl");
    for (const [keys, does] of lines) if (isQuestion(keys) === asks) table.append(element("dt", "", keys), element("dd", "", does));
    sheet.append(element("h2", "", title), table);
  }
  sheet.append(close);
  state.back = document.activeElement;
  state.sheet = document.body.appendChild(sheet);
  close.focus();
}

// A key while the list is open: closes or scrolls it; the focus stays inside.
function reading(state, key) {
  if (["Escape", "?", "Enter", " "].includes(key)) shut(state);
  else if (key === "Tab") state.sheet.querySelector("button").focus();
  else state.sheet.scrollBy(0, { ArrowDown: 60, ArrowUp: -60, PageDown: 400, PageUp: -400 }[key] ?? 0);
}

function shut(state) {
  if (!state.sheet) return;
  state.sheet.remove();
  state.sheet = null;
  state.back?.focus?.();
}

function point(state, name) {
  if (name === (state.pointed || "")) return;
  state.pointed = name;
  document.dispatchEvent(new CustomEvent(POINTER, { detail: { name } }));
  clearTimeout(state.again);
  ring(state);
}

function ring(state) { // follows the pointed thing, which can move
  const box = state.pointed && rectOf(state.pointed);
  state.ring.hidden = !box;
  if (box) Object.assign(state.ring.style, { left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${box.height}px` });
  if (state.pointed) state.again = setTimeout(() => ring(state), FOLLOWED_MS);
}
