// Names and texts that the presenter view and the screen of the lecture share.

export const PRESENTER_CHANNEL = "attention-lab-presenter"; // a BroadcastChannel: it reaches the windows of this browser only
const TAB_KEY = "attention-lab-screen";
let tabNumber = "";

// The number of this tab, which survives a reload.
export function screenId() {
  try { tabNumber ||= sessionStorage.getItem(TAB_KEY) ?? ""; } catch { /* the storage is refused */ }
  tabNumber ||= Math.random().toString(36).slice(2, 12);
  try { sessionStorage.setItem(TAB_KEY, tabNumber); } catch { /* the number lasts until the page is closed */ }
  return tabNumber;
}

// Milliseconds as 4:05 or 1:04:05.
export function clockText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000)), [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60], two = (number) => String(number).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(seconds % 60)}` : `${minutes}:${two(seconds % 60)}`;
}

// Notes as the server stores them.
export const storedForm = (text) => text.split(/\r?\n/).map((line) => line.split(/\s+/).filter(Boolean).join(" ")).join("\n").trim();

// The part of a talk that a presenter view receives: this stop and the next one, and the notes of the stop that was written last.
export function shortTalk(talk, number, written = 0) {
  if (!talk) return null;
  const { now, next, count } = nowAndNext(talk, number), saved = written !== number && talk.stops[written - 1];
  return { title: talk.title, fault: talk.fault, count, now, next: next && { page: next.page, line: next.line }, saved: saved ? { number: written, notes: saved.notes } : null };
}

// The stored notes of a stop; undefined if the talk does not say.
export const storedNotes = (talk, number) => [talk?.now, talk?.saved].find((stop) => stop?.number === number)?.notes;

// Code and secret in the fragment of a link; null for anything else.
export function keyOf(fragment) {
  const [, code, secret] = /^#([0-9A-Z]{6})\.([\w-]{16,64})$/.exec(fragment) ?? [];
  return code ? { code, secret } : null;
}

// The stops now and next, each with its number; null where there is none.
export function nowAndNext(talk, number) {
  const at = (n) => (talk?.stops[n - 1] ? { ...talk.stops[n - 1], number: n } : null);
  return { now: at(number), next: at(number + 1), count: talk?.stops.length ?? 0 };
}
