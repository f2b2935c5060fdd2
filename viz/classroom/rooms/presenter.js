// Presenter view: what the lecturer alone sees, in a second window of the browser that shows the lecture, or on a phone by way of
// the room. Texts go through textContent.

import { percent100, tallied } from "../bet_parts.js";
import { channelLink, roomLink, takeKey } from "./presenter_links.js";
import { clockText, storedForm, storedNotes } from "./presenter_parts.js";

const NOTES_MS = 2000, REST_MS = 800, TRIES = 5; // between two sends of notes; after the last letter; sends of the notes
const MOST_LISTED = 12; // of a longer list, only what was chosen, and the right answer
const NO_TALK = "No playlist is chosen. Choose one under Present on the screen.";
const NOT_LECTURE = "Lecture mode is off on the screen. Black and pointer need it: press l there.";
const SAVED = "Saved in the playlist.", NOT_SAVED = "Not saved yet. Keep this page open until the screen answers.";
const find = (selector) => document.querySelector(selector), notes = find("#notes"), unsent = new Map(); // stop: its notes that are not stored yet
let screen = null, room = null, problem = "", lastResult = null, timer = 0, at = 0; // the last states; the last question with an answer; the stop
const link = begin();

function begin() {
  const to = new URLSearchParams(location.search).get("screen"), handlers = { onScreen: receive, onProblem: report };
  const started = to === null ? roomLink(takeKey(), handlers) : channelLink(to, handlers);
  for (const [name, action] of Object.entries({ previous: "previous", forward: "next", black: "black", pointer: "pointer", reset: "reset", ask: "question" })) find(`.${name}`).onclick = () => link.ask(action);
  notes.oninput = () => { unsent.set(screen.talk.now.number, { text: notes.value, tries: 0 }); told(""); clearTimeout(timer); timer = setTimeout(storeNew, REST_MS); };
  notes.onblur = storeNew;
  window.addEventListener("keydown", pressed);
  window.addEventListener("pagehide", storeNew);
  window.addEventListener("hashchange", () => location.reload()); // the link of another room
  setInterval(storeAgain, NOTES_MS);
  setInterval(time, 250);
  draw();
  return started;
}

function receive(news, classNews) {
  [screen, room] = [news, classNews];
  confirm();
  draw();
}

function report(text) {
  if (text === problem) return;
  problem = text;
  if (!text) for (const each of unsent.values()) if (!each.isRefused) each.tries = Math.min(each.tries, 1); // the screen is back
  draw();
}

function pressed(event) {
  if (event.target === notes || event.altKey || event.ctrlKey || event.metaKey) return;
  const action = { PageDown: "next", ArrowRight: "next", PageUp: "previous", ArrowLeft: "previous", b: "black", ".": "black" }[event.key];
  if (!action) return;
  event.preventDefault();
  link.ask(action);
}

// -- notes ---------------------------------------------------------------------------------------------------------

function store(stop, entry) {
  entry.tries += 1;
  link.ask("notes", { stop, text: entry.text });
}

function storeNew() {
  clearTimeout(timer);
  for (const [stop, entry] of unsent) if (!entry.tries) store(stop, entry);
}

function storeAgain() {
  for (const [stop, entry] of unsent) {
    if (entry.tries && entry.tries < TRIES) store(stop, entry);
    else if (entry.tries && !entry.isRefused) told(NOT_SAVED, true);
  }
}

// The screen has the notes, or says why not.
function confirm() {
  for (const [stop, entry] of unsent) {
    if (!entry.tries) continue;
    if (storedNotes(screen.talk, stop) === storedForm(entry.text)) { unsent.delete(stop); told(SAVED); }
    else if (screen.talk?.fault) { Object.assign(entry, { tries: TRIES, isRefused: true }); told(screen.talk.fault, true); }
  }
}

function told(text, isFault = false) {
  find(".saved").textContent = text;
  find(".saved").classList.toggle("fault", isFault);
}

// -- the page ------------------------------------------------------------------------------------------------------

function time() { find(".time").textContent = clockText(screen?.begun ? Date.now() - screen.begun : 0); }

// The one sentence on top.
function trouble() {
  if (problem) return problem;
  if (!screen) return "Looking for the screen of the lecture.";
  if (screen.fault) return screen.fault;
  if (!screen.talk) return "";
  return !screen.talk.count ? NO_TALK : screen.lecture ? "" : NOT_LECTURE;
}

function draw() {
  const { now, next, count = 0, title } = screen?.talk ?? {};
  find(".trouble").textContent = trouble();
  find(".where").textContent = count ? `${now ? `${now.number} of ${count}${plan(now)}` : `${count} stops`}, ${title}` : "";
  if (screen?.number !== at) { told(""); storeNew(); }
  at = screen?.number;
  card(".now", now ? `Now: ${now.page}` : count ? "Not started" : "", now ? now.line || "No line" : count ? "Next goes to the first stop." : "");
  card(".next", next ? `Next: ${next.page}` : count ? "Next" : "", next ? next.line || "No line" : count ? "This is the last stop." : "");
  notes.disabled = !now;
  const shown = unsent.get(now?.number)?.text ?? now?.notes ?? "";
  if (notes.value !== shown && !(document.activeElement === notes && storedForm(notes.value) === shown)) notes.value = shown; // a space at the end stays
  find(".previous").disabled = !screen || (count > 0 && (screen.number ?? 0) <= 1);
  find(".forward").disabled = !screen || (count > 0 && !next);
  for (const [name, isOn] of [["black", screen?.blank], ["pointer", screen?.pointerOff]]) { find(`.${name}`).setAttribute("aria-pressed", String(Boolean(isOn))); find(`.${name}`).disabled = !screen?.lecture; }
  find(".reset").disabled = !screen?.begun;
  time();
  people();
}

// The planned end of a stop, on the clock that the first stop starts.
function plan({ end }) { return end ? `, planned until ${clockText(1000 * end)}` : ""; }

function card(name, title, line) {
  find(`${name} h2`).textContent = title;
  find(`${name} .line`).textContent = line;
}

// Followers and votes; the shares of the options once the answer is on the screen.
function people() {
  find(".class").hidden = !room?.code;
  if (!room?.code) return;
  const { question, followers = 0 } = room;
  if (question?.answer !== undefined) lastResult = question;
  const shown = question ?? lastResult, known = shown?.answer !== undefined, { rows, voted, others } = shown ? tallied({ options: shown.options, model: shown.model ?? [], answer: shown.answer }, known ? shown : { voted: shown.voted }) : { rows: [], voted: 0, others: 0 };
  const count = shown ? `${voted} of ${Math.max(followers, voted)} voted.` : `${followers} ${followers === 1 ? "follower" : "followers"}. No question yet.`;
  const about = shown && `${known ? "" : "The shares follow with the answer. "}${question ? "" : "Last question: "}${shown.text}`;
  find(".votes").textContent = [count, about].filter(Boolean).join(" ");
  find(".ask").textContent = !question ? "Ask the class" : known ? "Back to the page" : "Show the answer";
  const chosen = rows.filter((row) => rows.length <= MOST_LISTED || row.votes || row.right);
  const list = known ? [...chosen, ...(others ? [{ word: "other words", votes: others, share: others / voted }] : [])] : [];
  find(".class ul").replaceChildren(...list.map(({ word, votes: count, share, right }) => {
    const line = document.createElement("li"), [name, bar, number] = ["b", "i", "span"].map((tag) => line.appendChild(document.createElement(tag)));
    name.textContent = word;
    bar.style.setProperty("--share", share);
    number.textContent = `${count} (${percent100(share)})`;
    line.classList.toggle("right", Boolean(right));
    return line;
  }));
}
