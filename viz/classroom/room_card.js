// The card of a question: options and the number of votes, then the answers of class and model.

import { button, element, writeProbabilities } from "../kit/mount.js";
import { onward, picture, typed } from "./room_join.js";
import { scored } from "./bet_parts.js";
import { counted, elsewhere, follow, have, result, spaced } from "./room_parts.js";

// `on` goes to the answer and then to the page, `back` directly to the page.
export function card({ on, back }) {
  let box = null, before = null;
  return { draw, close, onward: () => onward(box) };

  function open() {
    before = document.activeElement;
    box = document.body.appendChild(element("div", "lab-bet"));
    box.setAttribute("role", "dialog");
    box.setAttribute("aria-modal", "true");
    const top = element("p", "about"), heading = element("h2", "asks"), gap = element("p", "gap"), rows = element("ul", "rows"), aside = element("div", "aside");
    const foot = element("div", "foot"), summary = element("p", "summary"), buttons = element("div", "buttons");
    buttons.append(button("on", "", on), button("back", "", back));
    foot.append(summary, element("p", "more"), element("p", "fault"), buttons);
    box.append(top, heading, gap, rows, aside, foot);
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
    const state = `${phase} ${over}`, news = box.dataset.phase !== state;
    box.dataset.phase = state;
    box.className = `lab-bet ${over ? "wait" : phase}`;
    box.setAttribute("aria-label", over ? "The class bets" : question.text);
    find("about").textContent = over ? "The class bets" : question.about;
    find("asks").textContent = over ? question?.fault ?? "One moment …" : question.asks;
    if (news) find("gap").replaceChildren(...(over ? [] : gapped(question, phase === "shown")));
    find("fault").textContent = bet.fault ?? "";
    find("on").textContent = over ? "Close" : phase === "open" ? "Show the answer" : "Back to the page";
    find("back").textContent = phase === "open" ? "Cancel the question" : "";
    find("back").hidden = phase !== "open" || over;
    find("summary").setAttribute("aria-live", phase === "shown" ? "polite" : "off"); // not each vote
    if (!over) answers(bet, now, news);
    if (news) find("on").focus({ preventScroll: true });
  }

  function answers({ phase, made: question, roomQuestion, score, fault }, now, news) {
    const find = (name) => box.querySelector(`.${name}`), revealed = phase === "shown", tally = counted(question, roomQuestion);
    if (news) {
      find("rows").replaceChildren(...tally.rows.map((row) => answer(row, revealed)));
      if (revealed) find("aside").replaceChildren(legend(question.kind));
      else find("aside").replaceChildren(...join(now));
    }
    if (!revealed) {
      const count = find("aside").querySelector(".count");
      if (count) count.textContent = now.followers ? follow(now.followers) : "";
      find("summary").textContent = have(tally.voted, now.followers ?? 0);
      find("more").textContent = "";
      return;
    }
    [...find("rows").children].forEach((node, n) => filled(node, tally.rows[n]));
    find("summary").textContent = tally.known || fault ? result(question, roomQuestion) : "One moment …";
    find("more").textContent = [question.note, elsewhere(tally), scored(score)].filter(Boolean).join(" ");
  }
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

function legend(kind) {
  const box = element("div", "legend");
  for (const [name, text] of [["people", "the class"], ["model", kind === "head" ? "the weight" : "the model"]]) {
    const line = element("p");
    line.append(element("i", name), text);
    box.append(line);
  }
  return box;
}

function answer({ word, right }, revealed) {
  const row = element("li", revealed && right ? "right" : ""), bars = element("div", "bars");
  row.append(element("b", "", word));
  if (revealed && right) row.firstChild.append(element("span", "mark", "✓"));
  if (revealed) {
    for (const name of ["people", "model"]) {
      const bar = element("div", `bar ${name}`);
      bar.append(element("i"), element("span"));
      bars.append(bar);
    }
    row.append(bars);
  }
  return row;
}

function filled(row, { votes, share, model }) {
  const [people, own] = row.querySelectorAll(".bar");
  people.firstChild.style.width = `${share * 100}%`;
  people.lastChild.textContent = votes;
  own.firstChild.style.width = `${model * 100}%`;
  writeProbabilities(own.lastChild, (form) => form(model));
}
