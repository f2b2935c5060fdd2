// A question to the class: one card over the page, from the question to the answers of class and model.

import { REVEAL } from "../kit/mount.js";
import { request } from "./room_stream.js";
import { card } from "./room_card.js";
import { isOverlayKey } from "./room_join.js";
import { asOwn, nextOwn, rememberAsked } from "./room_questions_store.js";
import { storedValue } from "./room_state.js";

const AGAIN = 1500; // ms before a failed request is repeated
const NEXT_KEYS = ["q", "Q", "Enter", " ", "ArrowRight", "ArrowDown", "PageDown"]; // next: the answer, then the page
const FINAL = [204, 400, 403, 404]; // no repetition: done, no open question, or no room
const NO_ROOM = "No room is open. Open one under Present.", NO_OWN = "No question of your own is left. Write one under Present, or ask one again there.";
const ENDED = "The room has ended. Voting is closed.", NOT_OPENED = "The room cannot be reached. Voting is not open yet.", NOT_REVEALED = "The room cannot be reached. The votes are missing.";
const storedBet = storedValue("bet"), storedResult = storedValue("bet-result"); // the open question; the last one with an answer
const pause = () => new Promise((resolve) => { setTimeout(resolve, AGAIN); });

// `state.openRoom` is the room, `state.report` sends events to the server, `state.showNow` sends the
// page's address to the room.
export function betting(state) {
  let bet = null; // number: of the question; again: number of its round before; phase: "wait", "open" or "shown"; made: the question; room: its number there; since: the room's version by then
  let abandoned = 0, ends = 0, ended = Promise.resolve(); // a question left before it was made; pending requests that close a question
  const cardView = card({ on: go, back: close, again: () => { const { made, room } = bet; leave(true); askAgain({ made, number: room }); } });
  return { isOpen: () => Boolean(bet), isUnconfirmed: () => Boolean(bet) && bet.since === Infinity, go, goOwn, askOwn, askAgain, showLast, receiveQuestion, receiveRoomState, pressed, drop };

  // Next phase: asks, reveals or closes.
  function go() {
    if (!bet) ask();
    else if (bet.phase === "open") { if (bet.since !== Infinity) reveal(); }
    else if (bet.phase === "shown" || bet.made?.fault) close();
  }

  function begin(name, content) {
    abandoned = 0;
    bet = { number: 1 + Math.floor(Math.random() * 2 ** 30), phase: "wait", made: null, since: Infinity };
    draw();
    const timeline = globalThis.attentionLabRoots?.get("timeline");
    timeline?.querySelector(".play[aria-label^=Pause]")?.click(); // stops the animation
    if (!state.openRoom) receiveQuestion({ number: bet.number, fault: state.data.served ? NO_ROOM : state.data.notServed });
    else if (!content) receiveQuestion({ number: bet.number, fault: NO_OWN });
    else state.report(name, { number: bet.number, ...content(timeline) });
  }

  function ask() {
    begin("ask", (timeline) => ({ step: state.data.pageStep ? state.step : 0, hidden: Boolean(timeline?.isConnected && timeline.dataset.hidden) }));
  }

  // Asks a question of the lecturer.
  function askOwn(own) {
    if (!bet) begin("askOwn", () => ({ own: asOwn(own) }));
  }

  // Next phase, or the next question of the lecturer.
  function goOwn() {
    if (bet) { go(); return; }
    const own = nextOwn(state.openRoom?.code);
    if (own) askOwn(own);
    else begin("", null);
  }

  // Asks a question of this room once more.
  function askAgain({ made, number }) {
    if (bet || !state.openRoom) return;
    const { guess: _guess, step: _step, back: _back, ...question } = made; // of the page at the first round
    bet = { number: 1 + Math.floor(Math.random() * 2 ** 30), phase: "open", made: question, again: number, since: Infinity };
    store();
    bet.posted = post(bet, state.openRoom);
    draw();
  }

  // Shows what the class said to the last question.
  function showLast() {
    if (bet) return;
    const last = storedResult.get(), fault = state.openRoom ? "The class has not answered a question yet. Press q to ask one." : "No room is open. Open one under Present.";
    const isHere = last && last.code === state.openRoom?.code;
    bet = isHere ? { ...last.bet, since: 0, isPast: true } : { phase: "wait", made: { fault }, since: 0, isPast: true };
    draw();
  }

  // The question from the server.
  function receiveQuestion(question) {
    if (question && question.number === abandoned) { abandoned = 0; restorePage(question, false); }
    if (!bet || !question || bet.made || question.number !== bet.number) return;
    bet.made = question;
    if (!question.fault) { bet.phase = "open"; store(); bet.posted = post(bet, state.openRoom); }
    draw();
  }

  async function post(current, openRoom) {
    const { kind, text, options, model, columns } = current.made;
    for (await ended; bet === current && openRoom === state.openRoom; await pause()) {
      current.begun = true;
      const { status, text: message } = await request(openRoom, "/ask", { kind, text, options, model, columns, again: current.again });
      if (bet !== current || openRoom !== state.openRoom) return;
      current.fault = status === 204 ? "" : status === 400 ? message : hasEnded(status) ? ENDED : NOT_OPENED;
      draw();
      if (status === 204) return look();
      if (FINAL.includes(status)) return;
    }
  }

  // Reads the room's state, because the stream may be late.
  async function look() {
    const current = bet, openRoom = state.openRoom;
    while (bet === current && openRoom && openRoom === state.openRoom) {
      const { status, text } = await request(openRoom, "");
      if (bet !== current) return;
      if (status === 200) {
        const now = JSON.parse(text);
        if (current.since === Infinity) confirmQuestion(current, now);
        receiveRoomState(now);
        return;
      }
      if (current.since !== Infinity || hasEnded(status)) return;
      await pause();
    }
  }

  // The room has the question: stores its number. Followers see it instead of the page.
  function confirmQuestion(current, now) {
    Object.assign(current, { since: now.version, room: now.question?.number });
    store();
    if (now.question) rememberAsked(state.openRoom.code, current.made, now.question, current.again);
    state.showNow();
  }

  function receiveRoomState(now) {
    if (!bet) restore(now);
    if (!bet?.made || bet.isPast || now.version < bet.since) return;
    if (!now.question || now.question.number !== bet.room) { leave(false); return; } // closed by another tab
    bet.roomQuestion = now.question;
    bet.round = now.question.round;
    bet.score = now.score;
    if (now.question.answer !== undefined) bet.phase = "shown";
    draw();
  }

  async function reveal() {
    const current = bet, openRoom = state.openRoom;
    current.phase = "shown";
    store();
    draw();
    while (bet === current && openRoom && openRoom === state.openRoom) {
      const { status } = await request(openRoom, "/reveal", { answer: current.made.answer });
      if (bet !== current) return;
      current.fault = hasEnded(status) ? ENDED : FINAL.includes(status) ? "" : NOT_REVEALED;
      draw();
      if (!current.fault) await look(); // 400: already revealed, or closed
      if (current.fault !== NOT_REVEALED) return;
      await pause();
    }
  }

  function close() { leave(true); }

  // `closesQuestion`: also closes the question in the room.
  function leave(closesQuestion) {
    if (bet.isPast) return drop();
    if (bet.roomQuestion?.answer !== undefined) storedResult.set({ code: state.openRoom?.code, bet: { ...bet, posted: null } });
    const current = bet, { made: question, phase, number } = current;
    drop();
    if (!question) abandoned = number;
    if (closesQuestion && state.openRoom && (current.begun || current.since !== Infinity)) end(state.openRoom, current.posted);
    else storedBet.set(null);
    if (question) restorePage(question, phase === "shown");
  }

  // Closes the question in the room, with repetitions, after a pending post.
  function end(openRoom, posted) {
    ends += 1;
    storedBet.set(null);
    ended = Promise.all([ended, posted]).then(async () => {
      while (openRoom.code === state.openRoom?.code && !FINAL.includes((await request(openRoom, "/close", {})).status)) {
        if (bet) { bet.fault = NOT_OPENED; draw(); }
        await pause();
      }
      ends -= 1;
    });
  }

  // Restores the page: before the question, or after the answer at its step.
  function restorePage({ guess, step, back }, revealed) {
    if (guess === undefined) return; // the page did not change
    if (revealed) document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } }));
    state.report("close", { guess, step: (revealed ? step : back) || 0 });
  }

  function drop() {
    bet = null;
    cardView.close();
  }

  function store() { storedBet.set({ code: state.openRoom.code, bet: { ...bet, roomQuestion: null, posted: null } }); }

  // Restores the open question after a reload; closes an unknown question in the room.
  function restore(now) {
    if (ends) return;
    const before = storedBet.get(), current = before?.code === state.openRoom?.code ? before?.bet : null, there = now.question;
    const same = current && there && (current.room ? current.room === there.number : current.made.text === there.text);
    if (same) {
      bet = { ...current, begun: true };
      if (!current.room) confirmQuestion(bet, now);
      if (bet.phase === "shown" && there.answer === undefined) reveal();
      return;
    }
    if (there && state.openRoom) end(state.openRoom);
    if (!before) return;
    storedBet.set(null);
    restorePage(before.bet.made, false);
  }

  function pressed(key, target) {
    if (key === "Tab") return cardView.onward();
    if ((key === "Enter" || key === " ") && target.tagName === "BUTTON") target.click();
    else if (NEXT_KEYS.includes(key) || (bet.isPast && key === "R")) go();
    else if (key === "Escape") close();
    return isOverlayKey(key);
  }

  function draw() { cardView.draw(bet, state.now); }
}

const hasEnded = (status) => status === 403 || status === 404;
