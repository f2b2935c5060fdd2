// Presenter view: what the lecturer alone sees, in a second window of the browser that shows the lecture. Texts go through textContent.

import { percent100, tallied } from "../bet_parts.js";
import { PRESENTER_CHANNEL, clockText, nowAndNext, storedForm } from "./presenter_parts.js";

const AGAIN_MS = 2000, LOST_MS = 6000, REST_MS = 800, TRIES = 5; // between two questions to the screen; until it counts as lost; after the last letter; sends of the notes
const LOST = "The screen of the lecture does not answer. Keep its tab open, or open this view again under Present.";
const MOST_LISTED = 12; // of a longer list, only what was chosen, and the right answer
const NO_CHANNEL = "This browser cannot reach the screen of the lecture. Use a current version of Chrome, Edge, Firefox or Safari.";
const NO_TALK = "No playlist is chosen. Choose one under Present on the screen.";
const NOT_LECTURE = "Lecture mode is off on the screen. Black and pointer need it: press l there.";
const find = (selector) => document.querySelector(selector), to = new URLSearchParams(location.search).get("screen") ?? "";
const channel = globalThis.BroadcastChannel && new BroadcastChannel(PRESENTER_CHANNEL), notes = find("#notes");
let screen = null, heard = Date.now(), unsent = null, result = null, sending = 0, at = 0; // the last state; its time; notes that are not stored yet; the last question with an answer; a timer; the stop

if (channel) begin();
else trouble(NO_CHANNEL);

function begin() {
  channel.onmessage = ({ data }) => {
    if (data?.from !== to) return;
    heard = Date.now();
    if (data.ready) ask("hello");
    else { screen = data; confirm(); draw(); }
  };
  for (const [name, action] of Object.entries({ previous: "previous", forward: "next", black: "black", pointer: "pointer", reset: "reset", ask: "question" })) find(`.${name}`).onclick = () => ask(action);
  notes.oninput = () => { unsent = { number: screen.number, text: notes.value, tries: 0 }; told(""); clearTimeout(sending); sending = setTimeout(store, REST_MS); };
  notes.onblur = () => { if (unsent && !unsent.tries) store(); };
  window.addEventListener("keydown", pressed);
  window.addEventListener("pagehide", () => { if (unsent) store(); });
  setInterval(() => {
    ask("hello");
    if (unsent?.tries && unsent.tries < TRIES) store();
    if (Date.now() - heard > LOST_MS) trouble(LOST);
  }, AGAIN_MS);
  setInterval(time, 250);
  ask("hello");
  draw();
}

function ask(action, more = {}) { channel.postMessage({ to, ask: action, ...more }); }

function pressed(event) {
  if (event.target === notes || event.altKey || event.ctrlKey || event.metaKey) return;
  const action = { PageDown: "next", ArrowRight: "next", PageUp: "previous", ArrowLeft: "previous", b: "black", ".": "black" }[event.key];
  if (!action) return;
  event.preventDefault();
  ask(action);
}

function store() {
  clearTimeout(sending);
  unsent.tries += 1;
  ask("notes", { number: unsent.number, text: unsent.text });
}

// The screen has the notes, or says why not.
function confirm() {
  if (!unsent?.tries) return;
  if (screen.talk?.stops[unsent.number - 1]?.notes === storedForm(unsent.text)) { unsent = null; told("Saved in the playlist."); }
  else if (screen.talk?.fault) { unsent.tries = TRIES; told(screen.talk.fault, true); }
}

function told(text, isFault = false) {
  find(".saved").textContent = text;
  find(".saved").classList.toggle("fault", isFault);
}

function trouble(text) { find(".trouble").textContent = text; }

function time() { find(".time").textContent = clockText(screen?.begun ? Date.now() - screen.begun : 0); }

function draw() {
  const { now, next, count } = nowAndNext(screen?.talk, screen?.number ?? 0);
  trouble(!screen ? "Looking for the screen of the lecture." : screen.talk === null ? "" : count ? screen.lecture ? "" : NOT_LECTURE : NO_TALK);
  find(".where").textContent = count ? `${now ? `${now.number} of ${count}` : `${count} stops`}, ${screen.talk.title}` : "";
  if (screen?.number !== at) told("");
  at = screen?.number;
  card(".now", now ? `Now: ${now.page}` : count ? "Not started" : "", now ? now.line || "No line" : count ? "Next goes to the first stop." : "");
  card(".next", next ? `Next: ${next.page}` : count ? "Next" : "", next ? next.line || "No line" : count ? "This is the last stop." : "");
  notes.disabled = !now;
  if (unsent && unsent.number !== now?.number && !unsent.tries) store();
  const shown = unsent?.number === now?.number ? unsent?.text : now?.notes;
  if (notes.value !== (shown ?? "") && !(document.activeElement === notes && unsent)) notes.value = shown ?? "";
  find(".previous").disabled = !screen || (count > 0 && (screen.number ?? 0) <= 1);
  find(".forward").disabled = !screen || (count > 0 && !next);
  for (const [name, isOn] of [["black", screen?.blank], ["pointer", screen?.pointerOff]]) { find(`.${name}`).setAttribute("aria-pressed", String(Boolean(isOn))); find(`.${name}`).disabled = !screen?.lecture; }
  find(".reset").disabled = !screen?.begun;
  time();
  people(screen?.room);
}

function card(name, title, line) {
  find(`${name} h2`).textContent = title;
  find(`${name} .line`).textContent = line;
}

// Followers and votes; the shares of the options once the answer is on the screen.
function people(room) {
  find(".class").hidden = !room?.code;
  if (!room?.code) return;
  const { question, followers = 0 } = room;
  if (question?.answer !== undefined) result = question;
  const shown = question ?? result, known = shown?.answer !== undefined, { rows, voted, others } = shown ? tallied({ options: shown.options, model: shown.model ?? [], answer: shown.answer }, known ? shown : { voted: shown.voted }) : { rows: [], voted: 0, others: 0 };
  const count = shown ? `${voted} of ${Math.max(followers, voted)} voted.` : `${followers} ${followers === 1 ? "follower" : "followers"}. No question yet.`;
  const about = shown && `${known ? "" : "The shares follow with the answer. "}${question ? "" : "Last question: "}${shown.text}`;
  find(".votes").textContent = [count, about].filter(Boolean).join(" ");
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
