// The class bets before the model answers: one card in the place of the page. Nothing here makes markup from text.

import { button, element, probabilityElement } from "../../kit/mount.js";
import { percent100, scored } from "../bet_parts.js";
import { counted, meant, parted, shares } from "./follow_parts.js";

const OPEN = "You can change it until the answer.";

// `vote` sends a word and returns an error message or an empty text; `storedBets` stores the bets of this browser.
export function bets(box, { vote, storedBets, longest, onClose }) {
  let question = null, chosen = "", sure = "", late = "", message = "", sends = 0, accepted = 0, lastScore = null, closedFor = 0; // sure: the accepted word
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
  };

  function begin(now) {
    question = now;
    message = late = "";
    chosen = sure = storedBets.get(now.number);
    const [heading, about] = parted(now.text), group = element("div", "options"), voted = element("p", "voted"), state = element("p", "choice");
    state.setAttribute("role", "status");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", "Answers");
    now.options.forEach((word) => { const node = button("option", word, () => choose(word)); group.append(node); });
    box.replaceChildren(element("p", "kind", "Your bet"), element("h1", "", heading), ...(about ? [element("p", "about", about)] : []), group, ...(now.kind === "next" ? [typing()] : []), state, voted);
    box.classList.remove("revealed");
    box.scrollTop = 0;
    speak.textContent = `A question: ${now.text}`;
    paint();
  }

  function typing() {
    const form = element("form", "word"), input = element("input"), go = element("button", "go", "Bet");
    Object.assign(input, { name: "word", placeholder: "Another word", maxLength: longest, autocomplete: "off", spellcheck: false, enterKeyHint: "send" });
    input.setAttribute("aria-label", "Another word");
    input.setAttribute("autocapitalize", "none");
    if (chosen && !question.options.includes(chosen)) input.value = chosen;
    form.onsubmit = (event) => { event.preventDefault(); if (input.value.trim()) choose(meant(input.value, question.options)); };
    form.append(input, go);
    return form;
  }

  async function choose(word) {
    const number = question.number, sendNumber = (sends += 1);
    chosen = word;
    message = late = "";
    paint();
    const fault = await vote(number, word);
    if (!fault && sendNumber > accepted) { accepted = sendNumber; storedBets.set(number, word); }
    if (number !== question?.number) return;
    if (!fault && sendNumber === accepted) sure = word;
    if (sendNumber === sends) { chosen = sure; message = fault; late = fault && word; }
    if (question.answer === undefined) paint();
    else { answer(); if (!box.hidden) take(); }
  }

  function paint() {
    for (const node of box.querySelectorAll(".option")) node.setAttribute("aria-pressed", String(node.textContent === chosen));
    const own = chosen && !question.options.includes(chosen), form = box.querySelector(".word");
    form?.classList.toggle("on", Boolean(own));
    box.querySelector(".choice").textContent = message || (chosen ? `You bet on “${chosen}”. ${OPEN}` : "");
    box.querySelector(".choice").classList.toggle("fault", Boolean(message));
    box.querySelector(".voted").textContent = counted(question.voted);
  }

  // Judges the accepted word; a vote on its way is judged on arrival.
  function answer() {
    const parts = shares(question), part = parts.find(({ right }) => right).share, right = sure === question.answer;
    const missed = late && late !== sure ? `Your bet on “${late}” came too late.` : "";
    const verdict = !sure ? missed || "You did not bet this time." : right ? `You were right${question.voted > 1 ? `, like ${percent100(part)} of the class` : ""}.` : [`You said “${sure}”.`, missed].filter(Boolean).join(" ");
    const rows = element("ul", "shares"), total = scored(lastScore, sure ? storedBets.judged(question.number, right) : null), key = element("p", "key");
    for (const [name, text] of [["class", "the class"], ["model", question.kind === "head" ? "the weight" : "the model"]]) key.append(element("i", name), text);
    rows.append(...parts.map(share));
    const on = button("main on", "Back to the page", () => { closedFor = question.number; box.hidden = true; onClose(); });
    box.classList.add("revealed");
    box.replaceChildren(element("p", "kind", question.text), element("h1", right ? "right" : "", `It is “${question.answer}”`), element("p", "verdict", verdict),
      rows, key, element("p", "voted", counted(question.voted)), ...(total ? [element("p", "score", total)] : []), on);
    box.scrollTop = 0;
    speak.textContent = `It is ${question.answer}. ${verdict}`;
  }

  function share({ word, votes, share: people, model, right }) {
    const row = element("li", right ? "right" : ""), name = element("span", "name", word), bars = element("div", "bars");
    for (const [kind, part] of [["class", people], ["model", model]]) {
      const line = element("div", `line ${kind}`), bar = element("i");
      if (part === null) continue; // no probability for other words
      bar.style.setProperty("--share", part);
      bar.setAttribute("role", "img");
      bar.setAttribute("aria-label", kind);
      line.append(bar, kind === "model" ? probabilityElement("span", "", part) : element("span", "", votes ? `${votes} (${percent100(part)})` : "0"));
      bars.append(line);
    }
    if (word === sure) name.append(element("small", "", "your bet"));
    row.append(name, bars);
    return row;
  }
}
