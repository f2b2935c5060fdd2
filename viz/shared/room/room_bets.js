// The class bets: one card over the page, from the question to its answer beside the model's.

import { REVEAL } from "../mount.js";
import { asked } from "./room_stream.js";
import { card } from "./room_card.js";
import { isTaken } from "./room_join.js";
import { keeps } from "./room_told.js";

const AGAIN = 1500; // ms until a question that did not arrive is posted again
const ON = ["q", "Enter", " ", "ArrowRight", "ArrowDown", "PageDown"]; // a step on: the answer, then the page
const keptBet = keeps("bet");

// `state.held` is the room, `state.told` what it last said, `state.report` speaks to the server.
export function betting(state) {
  let bet = null; // number: of what was asked; phase: "wait", "open" or "shown"; made: the question; since: the room's version by then
  const shown = card({ on: go, back: close });
  return { isOpen: () => Boolean(bet), go, made, told, pressed, drop };

  // On: asks, reveals, closes.
  function go() {
    if (!bet) ask();
    else if (bet.phase === "open") reveal();
    else if (bet.phase === "shown" || bet.made?.fault) close();
  }

  function ask() {
    bet = { number: 1 + Math.floor(Math.random() * 2 ** 30), phase: "wait", made: null, since: Infinity };
    draw();
    globalThis.attentionLabRoots?.get("timeline")?.querySelector(".play[aria-label^=Pause]")?.click(); // it would play on
    if (!state.held) made({ number: bet.number, fault: state.data.served ? "No room is open yet: open one under Present, and the class can vote." : state.data.notServed });
    else state.report("ask", { number: bet.number, step: state.data.step ? state.step : 0 });
    state.tell();
  }

  // What the server made of it.
  function made(question) {
    if (!bet || !question || bet.made || question.number !== bet.number) return;
    bet.made = question;
    if (!question.fault) { bet.phase = "open"; keep(); post(bet); }
    draw();
  }

  async function post(mine) {
    const { kind, text, options, model } = mine.made, held = state.held;
    const { status, text: said } = await asked(held, "/ask", { kind, text, options, model });
    if (bet !== mine || held !== state.held) return;
    mine.fault = status === 204 ? "" : status === 400 ? said : "The room cannot be reached: nobody can vote yet.";
    draw();
    if (status === 204) await look();
    else if (status !== 400) setTimeout(() => { if (bet === mine) post(mine); }, AGAIN);
  }

  // What the room knows by now: the stream may be behind.
  async function look() {
    const mine = bet, { status, text } = await asked(state.held, "");
    if (bet !== mine) return;
    if (status !== 200) { if (mine.since === Infinity) setTimeout(() => { if (bet === mine) look(); }, AGAIN); return; }
    const now = JSON.parse(text);
    if (mine.since === Infinity) { Object.assign(mine, { since: now.version, room: now.question?.number }); keep(); }
    told(now);
  }

  function told(now) {
    if (!bet) restore(now);
    if (!bet?.made || now.version < bet.since) return;
    if (!now.question || now.question.number !== bet.room) { close(); return; } // closed by another tab
    bet.told = now.question;
    bet.score = now.score;
    if (now.question.answer !== undefined) bet.phase = "shown";
    draw();
  }

  async function reveal() {
    const mine = bet;
    mine.phase = "shown";
    keep();
    draw();
    const { status } = await asked(state.held, "/reveal", { answer: mine.made.answer });
    if (bet !== mine) return;
    if (status === 204) await look();
    else { mine.fault = "The room cannot be reached: the votes are not here."; draw(); }
  }

  function close() {
    const { made: question, since, phase } = bet;
    drop();
    keptBet.set(null);
    if (state.held && since !== Infinity) asked(state.held, "/close", {});
    if (phase === "shown") document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } }));
    if (question && "guess" in question) state.report("close", question.guess);
    state.tell();
  }

  function drop() {
    bet = null;
    shown.close();
  }

  function keep() { keptBet.set({ code: state.held.code, bet: { ...bet, told: null } }); }

  // A question that was open when this page was loaded anew; one that is over is forgotten.
  function restore(now) {
    const before = keptBet.get();
    if (!before) return;
    if (before.code === state.held?.code && before.bet.room && now.question?.number === before.bet.room) { bet = before.bet; return; }
    keptBet.set(null);
    state.report("close", before.bet.made.guess);
  }

  function pressed(key, at) {
    if (key === "Tab") return shown.onward();
    if ((key === "Enter" || key === " ") && at.tagName === "BUTTON") at.click();
    else if (ON.includes(key)) go();
    else if (key === "Escape") close();
    return isTaken(key);
  }

  function draw() { shown.draw(bet, state.now); }
}
