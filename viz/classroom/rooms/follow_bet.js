// A question on a phone: one card in the place of the page, with an answer and how sure it is. Nothing here makes markup from text.

import { button, element } from "../../kit/mount.js";
import { answerCells, hasCells } from "../answer_cells.js";
import { SURE } from "../bet_parts.js";
import { answerResult } from "./follow_result.js";
import { counted, isLong, meant, numberOf, parted } from "./follow_parts.js";

const OPEN = "You can change it until the answer is shown.", HOW_SURE = "How sure are you?";
const NO_NUMBER = "This is not a number. Write it with digits, such as 12 or 0.58.";

// `vote` sends a word and its confidence, and returns an error message or an empty text; `storedBets` stores the answers of this browser.
export function bets(box, { vote, storedBets, longest, onClose, onVote = () => {} }) {
  let question = null, chosen = "", level = 0; // on the screen
  let accepted = { word: "", sure: 0 }, acceptedSend = 0, sends = 0, late = "", message = "", lastScore = null, closedFor = 0;
  const speak = element("p", "unseen"), take = () => { if (!box.contains(document.activeElement)) box.focus({ preventScroll: true }); };
  box.tabIndex = -1;
  speak.setAttribute("aria-live", "polite");
  box.after(speak);
  return {
    // Returns true while the card covers the page: an open question, or its answer until the lecturer continues.
    show(now, score, onward) {
      if (now && now.number !== question?.number && now.answer === undefined) begin(now);
      if (!now || now.number !== question?.number) { question = null; box.hidden = true; return false; }
      const revealed = now.answer !== undefined, isNew = revealed && question.answer === undefined;
      if (question.answer !== undefined && onward) closedFor = now.number;
      question = now;
      if (closedFor === now.number) { box.hidden = true; return false; }
      const opens = box.hidden;
      box.hidden = false;
      lastScore = score;
      if (revealed) { if (isNew) answer(); }
      else box.querySelector(".voted").textContent = counted(now.voted);
      if (opens || isNew) take(); // the page behind must not have the focus
      return true;
    },
    isUnlocked: () => question?.answer !== undefined || Boolean(accepted.word), // the answer may be looked up
  };

  function begin(now) {
    question = now;
    message = late = "";
    accepted = storedBets.get(now.number);
    chosen = accepted.word;
    level = accepted.sure;
    const [heading, about] = parted(now.text), state = element("p", "choice"), kind = now.round > 1 ? "The same question again" : "Your answer";
    state.setAttribute("role", "status");
    box.replaceChildren(element("p", "kind", kind), element("h1", "", heading), ...(about ? [element("p", "about", about)] : []), ...answers(now), confidence(), state, element("p", "voted"));
    box.classList.remove("revealed");
    box.scrollTop = 0;
    speak.textContent = `A question: ${now.text}`;
    paint();
  }

  function answers(now) {
    const option = (word, text) => { const node = button(hasCells(now) ? "option cell" : "option", text, () => choose(word)); node.dataset.word = word; if (!text) node.setAttribute("aria-label", word); return node; };
    if (now.kind === "number") return [typing("Your number", "decimal", "Set", (typed) => numberOf(typed))];
    const group = hasCells(now) ? answerCells(now, option) : element("div", now.options.some(isLong) ? "options long" : "options");
    if (!hasCells(now)) group.append(...now.options.map((word) => option(word, word)));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Answers");
    return [group, ...(now.kind === "next" ? [typing("Another word", "text", "Set", (typed) => meant(typed, now.options))] : [])];
  }

  function typing(name, mode, does, read) {
    const form = element("form", "word"), input = element("input"), go = element("button", "go", does);
    Object.assign(input, { name: "word", placeholder: name, maxLength: longest, inputMode: mode, autocomplete: "off", spellcheck: false, enterKeyHint: "done" });
    input.setAttribute("aria-label", name);
    input.setAttribute("autocapitalize", "none");
    if (chosen && !question.options.includes(chosen)) input.value = chosen;
    form.onsubmit = (event) => {
      event.preventDefault();
      if (!input.value.trim()) return;
      const word = read(input.value);
      if (word === null) { message = NO_NUMBER; paint(); } else { input.blur?.(); choose(word); }
    };
    form.append(input, go);
    return form;
  }

  function confidence() {
    const group = element("div", "sure"), steps = element("div", "steps");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", HOW_SURE);
    SURE.forEach((name, n) => { const node = button("step", name[0].toUpperCase() + name.slice(1), () => send(n + 1)); node.dataset.level = n + 1; steps.append(node); });
    group.append(element("p", "", HOW_SURE), steps);
    return group;
  }

  function choose(word) {
    if (word !== chosen) level = 0;
    chosen = word;
    message = late = "";
    if (word === accepted.word) level = accepted.sure;
    paint();
    if (!level) box.querySelector(".sure").scrollIntoView?.({ block: "nearest" });
  }

  async function send(sure) {
    const number = question.number, word = chosen, sendNumber = (sends += 1);
    level = sure;
    message = late = "";
    paint();
    const fault = await vote(number, word, sure);
    if (!fault && sendNumber > acceptedSend) { acceptedSend = sendNumber; storedBets.set(number, word, sure); }
    if (number !== question?.number) return;
    if (!fault && sendNumber === acceptedSend) accepted = { word, sure };
    if (sendNumber === sends) {
      message = fault;
      late = fault && word;
      if (fault && chosen === word) { chosen = accepted.word || word; level = chosen === accepted.word ? accepted.sure : 0; }
    }
    onVote();
    if (question.answer === undefined) paint();
    else { answer(); if (!box.hidden) take(); }
  }

  function paint() {
    for (const node of box.querySelectorAll(".option")) node.setAttribute("aria-pressed", String(node.dataset.word === chosen));
    for (const node of box.querySelectorAll(".step")) node.setAttribute("aria-pressed", String(node.dataset.level === level || Number(node.dataset.level) === level));
    const own = chosen && !question.options.includes(chosen), form = box.querySelector(".word"), isSent = Boolean(accepted.word && level) && chosen === accepted.word && level === accepted.sure;
    form?.classList.toggle("on", Boolean(own));
    box.querySelector(".sure").hidden = !chosen;
    const said = !chosen ? "" : isSent ? `You answered “${chosen}”, ${SURE[level - 1]}. ${OPEN}` : level ? "Sending …" : `You chose “${chosen}”. Say how sure you are to send it.`;
    box.querySelector(".choice").textContent = message || said;
    box.querySelector(".choice").classList.toggle("fault", Boolean(message));
    box.querySelector(".voted").textContent = counted(question.voted);
  }

  // Judges the accepted answer; one on its way is judged on arrival.
  function answer() {
    const unsent = !level && chosen !== accepted.word ? chosen : "";
    const { nodes, spoken } = answerResult(question, { ...accepted, late: late !== accepted.word ? late : "", unsent }, lastScore, (right) => storedBets.judged(question.number, right));
    const on = button("main on", "Back to the page", () => { closedFor = question.number; box.hidden = true; onClose(); });
    box.classList.add("revealed");
    box.replaceChildren(...nodes, on);
    box.scrollTop = 0;
    speak.textContent = spoken;
  }
}
