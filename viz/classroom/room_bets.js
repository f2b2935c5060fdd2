// The class bets: one card over the page, from the question to the answers of class and model.

import { REVEAL } from "../kit/mount.js";
import { asked } from "./room_stream.js";
import { card } from "./room_card.js";
import { isTaken } from "./room_join.js";
import { keeps } from "./room_told.js";

const AGAIN = 1500; // ms before a failed request is repeated
const ON = ["q", "Enter", " ", "ArrowRight", "ArrowDown", "PageDown"]; // next: the answer, then the page
const DONE = [204, 400, 403, 404]; // no repetition: done, no open question, or no room
const ENDED = "The room has ended. Voting is closed.", UNHEARD = "The room cannot be reached. Voting is not open yet.", UNTOLD = "The room cannot be reached. The votes are missing.";
const keptBet = keeps("bet");
const pause = () => new Promise((done) => { setTimeout(done, AGAIN); });

// `state.held` is the room, `state.told` its last state, `state.report` sends events to the server, `state.showNow` sends the
// page's address to the room.
export function betting(state) {
  let bet = null; // number: of what was asked; phase: "wait", "open" or "shown"; made: the question; room: its number there; since: the room's version by then
  let left = 0, ends = 0, ended = Promise.resolve(); // a question left before it was made; those that the room is told to close
  const shown = card({ on: go, back: close });
  return { isOpen: () => Boolean(bet), isUnheard: () => Boolean(bet) && bet.since === Infinity, go, made, told, pressed, drop };

  // Next phase: asks, reveals or closes.
  function go() {
    if (!bet) ask();
    else if (bet.phase === "open") { if (bet.since !== Infinity) reveal(); }
    else if (bet.phase === "shown" || bet.made?.fault) close();
  }

  function ask() {
    left = 0;
    bet = { number: 1 + Math.floor(Math.random() * 2 ** 30), phase: "wait", made: null, since: Infinity };
    draw();
    const timeline = globalThis.attentionLabRoots?.get("timeline");
    timeline?.querySelector(".play[aria-label^=Pause]")?.click(); // stops the animation
    if (!state.held) made({ number: bet.number, fault: state.data.served ? "No room is open. Open one under Present." : state.data.notServed });
    else state.report("ask", { number: bet.number, step: state.data.step ? state.step : 0, hidden: Boolean(timeline?.isConnected && timeline.dataset.hidden) });
    state.tell();
  }

  // The question from the server.
  function made(question) {
    if (question && question.number === left) { left = 0; put(question, false); }
    if (!bet || !question || bet.made || question.number !== bet.number) return;
    bet.made = question;
    if (!question.fault) { bet.phase = "open"; keep(); bet.posted = post(bet, state.held); }
    draw();
  }

  async function post(mine, held) {
    const { kind, text, options, model } = mine.made;
    for (await ended; bet === mine && held === state.held; await pause()) {
      mine.begun = true;
      const { status, text: said } = await asked(held, "/ask", { kind, text, options, model });
      if (bet !== mine || held !== state.held) return;
      mine.fault = status === 204 ? "" : status === 400 ? said : gone(status) ? ENDED : UNHEARD;
      draw();
      if (status === 204) return look();
      if (DONE.includes(status)) return;
    }
  }

  // Reads the room's state, because the stream may be late.
  async function look() {
    const mine = bet, held = state.held;
    while (bet === mine && held && held === state.held) {
      const { status, text } = await asked(held, "");
      if (bet !== mine) return;
      if (status === 200) {
        const now = JSON.parse(text);
        if (mine.since === Infinity) heard(mine, now);
        told(now);
        return;
      }
      if (mine.since !== Infinity || gone(status)) return;
      await pause();
    }
  }

  // The room has the question: stores its number. Followers see it instead of the page.
  function heard(mine, now) {
    Object.assign(mine, { since: now.version, room: now.question?.number });
    keep();
    state.showNow();
  }

  function told(now) {
    if (!bet) restore(now);
    if (!bet?.made || now.version < bet.since) return;
    if (!now.question || now.question.number !== bet.room) { leave(false); return; } // closed by another tab
    bet.told = now.question;
    bet.score = now.score;
    if (now.question.answer !== undefined) bet.phase = "shown";
    draw();
  }

  async function reveal() {
    const mine = bet, held = state.held;
    mine.phase = "shown";
    keep();
    draw();
    while (bet === mine && held && held === state.held) {
      const { status } = await asked(held, "/reveal", { answer: mine.made.answer });
      if (bet !== mine) return;
      mine.fault = gone(status) ? ENDED : DONE.includes(status) ? "" : UNTOLD;
      draw();
      if (!mine.fault) await look(); // 400: already revealed, or closed
      if (mine.fault !== UNTOLD) return;
      await pause();
    }
  }

  function close() { leave(true); }

  // `tells`: also closes the question in the room.
  function leave(tells) {
    const mine = bet, { made: question, phase, number } = mine;
    drop();
    if (!question) left = number;
    if (tells && state.held && (mine.begun || mine.since !== Infinity)) end(state.held, mine.posted);
    else keptBet.set(null);
    if (question && "guess" in question) put(question, phase === "shown");
    state.tell();
  }

  // Closes the question in the room, with repetitions, after a pending post.
  function end(held, posted) {
    ends += 1;
    keptBet.set(null);
    ended = Promise.all([ended, posted]).then(async () => {
      while (held.code === state.held?.code && !DONE.includes((await asked(held, "/close", {})).status)) {
        if (bet) { bet.fault = UNHEARD; draw(); }
        await pause();
      }
      ends -= 1;
    });
  }

  // Restores the page: before the question, or after the answer at its step.
  function put({ guess, step, back }, known) {
    if (known) document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } }));
    state.report("close", { guess, step: (known ? step : back) || 0 });
  }

  function drop() {
    bet = null;
    shown.close();
  }

  function keep() { keptBet.set({ code: state.held.code, bet: { ...bet, told: null, posted: null } }); }

  // Restores the open question after a reload; closes an unknown question in the room.
  function restore(now) {
    if (ends) return;
    const before = keptBet.get(), mine = before?.code === state.held?.code ? before?.bet : null, there = now.question;
    const same = mine && there && (mine.room ? mine.room === there.number : mine.made.text === there.text);
    if (same) {
      bet = { ...mine, begun: true };
      if (!mine.room) heard(bet, now);
      if (bet.phase === "shown" && there.answer === undefined) reveal();
      return;
    }
    if (there && state.held) end(state.held);
    if (!before) return;
    keptBet.set(null);
    put(before.bet.made, false);
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

const gone = (status) => status === 403 || status === 404;
