// The card of a question: options and the number of votes, then the answers of class and model.

import { button, element, writeProbabilities } from "../kit/mount.js";
import { answerCells, fillCell, hasCells } from "./answer_cells.js";
import { onward, picture, typed } from "./room_join.js";
import { calibration, percent100, scored } from "./bet_parts.js";
import { counted, elsewhere, follow, have, result, spaced } from "./room_parts.js";

const MANY = 6; // rows, more of which are lower
const NUMBER = "Type a number on your phone.";

// `on` goes to the answer and then to the page, `back` directly to the page, `again` asks the same question once more.
export function card({ on, back, again }) {
  let box = null, before = null;
  return { draw, close, onward: () => onward(box) };

  function open() {
    before = document.activeElement;
    box = document.body.appendChild(element("div", "lab-bet"));
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-modal", "true");
    const top = element("p", "about"), heading = element("h2", "asks"), gap = element("p", "gap"), rows = element("ul", "rows"), aside = element("div", "aside");
    const foot = element("div", "foot"), summary = element("p", "summary"), buttons = element("div", "buttons");
    buttons.append(button("on", "", on), button("again", "Ask again", again), button("back", "", back));
    foot.append(summary, element("p", "more"), element("p", "fault"), buttons);
    box.append(top, heading, gap, rows, element("div", "field"), aside, foot);
  }

  function close() {
    box?.remove();
    box = null;
    before?.focus?.({ preventScroll: true });
  }

  // `bet` is the state of room_bets.js, `now` the state of the room.
  function draw(bet, now) {
    if (!bet) return;
    if (!box) open();
    const { phase, made: question } = bet, find = (name) => box.querySelector(`.${name}`), over = !question || Boolean(question.fault);
    const state = `${phase} ${over} ${Boolean(bet.roomQuestion?.rows)} ${Boolean(bet.roomQuestion?.before)}`, news = box.dataset.phase !== state;
    box.dataset.phase = state;
    box.className = `lab-bet ${over ? "wait" : phase}`;
    box.setAttribute("aria-label", over ? "The class answers" : question.text);
    find("about").textContent = over ? "The class answers" : [bet.round > 1 ? `Round ${bet.round}` : "", question.about].filter(Boolean).join(" · ");
    find("asks").textContent = over ? question?.fault ?? "One moment …" : question.asks;
    if (news) find("gap").replaceChildren(...(over ? [] : gapped(question, phase === "shown")));
    find("fault").textContent = bet.fault ?? "";
    find("on").textContent = over ? "Close" : phase === "open" ? "Show the answer" : "Back to the page";
    find("back").textContent = phase === "open" ? "Close without the answer" : "";
    find("back").hidden = phase !== "open" || over;
    find("again").hidden = phase !== "shown" || over || !bet.room;
    find("summary").setAttribute("aria-live", phase === "shown" ? "polite" : "off"); // not each vote
    if (!over) answers(bet, now, news);
    if (news) find("on").focus({ preventScroll: true });
  }

  function answers({ phase, made: question, roomQuestion, score, fault }, now, news) {
    const find = (name) => box.querySelector(`.${name}`), revealed = phase === "shown", tally = counted(question, roomQuestion), isField = hasCells(question);
    if (news) {
      find("rows").replaceChildren(...(isField ? [] : tally.rows.map((row) => answer(row, revealed))));
      find("rows").classList.toggle("many", tally.rows.length > MANY);
      find("field").replaceChildren(...(isField ? [answerCells(question, cell)] : question.kind === "number" && !tally.rows.length ? [element("p", "", NUMBER)] : []));
      if (revealed) find("aside").replaceChildren(...legend(question.kind, tally.rows[0]));
      else find("aside").replaceChildren(...join(now));
    }
    if (!revealed) {
      const count = find("aside").querySelector(".count");
      if (count) count.textContent = now.followers ? follow(now.followers) : "";
      find("summary").textContent = have(tally.voted, now.followers ?? 0);
      find("more").textContent = "";
      return;
    }
    if (!isField) [...find("rows").children].forEach((node, n) => filled(node, tally.rows[n]));
    else {
      const most = Math.max(...tally.rows.map(({ votes }) => votes));
      find("field").querySelectorAll(".cell").forEach((node, n) => fillCell(node, tally.rows[n], most, question.kind === "token" ? tally.rows[n].word : ""));
    }
    find("aside").replaceChildren(...legend(question.kind, tally.rows[0]));
    find("summary").textContent = tally.known || fault ? result(question, roomQuestion) : "One moment …";
    find("more").textContent = [...calibration(roomQuestion ?? {}), earlier(question, roomQuestion), question.note, elsewhere(tally), scored(score)].filter(Boolean).join(" ");
  }
}

// The class of the round before, in a question with a right answer.
function earlier({ kind, answer }, roomQuestion) {
  const { before, rows } = roomQuestion ?? {};
  if (!before || !answer) return "";
  const right = rows ? rows.reduce((sum, [, , , then, holds]) => sum + (holds ? then : 0), 0) : before.votes[answer] ?? 0;
  return before.voted ? `Before: ${percent100(right / before.voted)} ${kind === "number" ? "in that row" : "right"} (${right} of ${before.voted}).` : "";
}

// The text with its gap or the answer.
function gapped({ before: textBefore, gap, after: textAfter, answer }, revealed) {
  return gap ? [textBefore, revealed ? element("u", "", answer.replace(/^…/, "")) : gap, textAfter] : [];
}

// QR code and address for late followers.
function join({ code, link, alone }) {
  if (!code || alone) return [];
  return [picture(code, link), element("p", "link", typed(link)), element("p", "code", spaced(code)), element("p", "count")];
}

function legend(kind, { model = null, before } = {}) {
  const names = [["people", before === undefined ? "the class" : "now"], ["before", "before"], ["model", kind === "head" ? "the weight" : "the model"]];
  const shown = names.filter(([name]) => (name === "people" ? model !== null || before !== undefined : name === "model" ? model !== null : before !== undefined));
  if (!shown.length || hasCells({ kind })) return [];
  const box = element("div", "legend");
  for (const [name, text] of shown) {
    const line = element("p");
    line.append(element("i", name), text);
    box.append(line);
  }
  return [box];
}

function cell(option, text) {
  const node = element("span", "cell", text);
  node.title = option;
  return node;
}

function answer({ word, right, model, before }, revealed) {
  const row = element("li", revealed && right ? "right" : ""), bars = element("div", "bars");
  row.append(element("b", "", word));
  if (revealed && right) row.firstChild.append(element("span", "mark", "✓"));
  if (revealed) {
    for (const name of ["people", ...(before === undefined ? [] : ["before"]), ...(model === null ? [] : ["model"])]) {
      const bar = element("div", `bar ${name}`);
      bar.append(element("i"), element("span"));
      bars.append(bar);
    }
    row.append(bars);
  }
  return row;
}

function filled(row, { votes, share, model, before }) {
  const bar = (name, part, text) => {
    const node = row.querySelector(`.bar.${name}`);
    if (!node) return null;
    node.firstChild.style.width = `${part * 100}%`;
    if (text !== undefined) node.lastChild.textContent = text;
    return node;
  };
  bar("people", share, before === undefined ? votes : `${percent100(share)} (${votes})`);
  bar("before", before, percent100(before ?? 0));
  const own = bar("model", model);
  if (own) writeProbabilities(own.lastChild, (form) => form(model));
}
