// The lecturer's own questions in *Present*: a list, a form, and the questions that this room was asked.

import { button, element } from "../kit/mount.js";
import { questionForm } from "./question_form.js";
import { askedIn, ownQuestions, saveOwn } from "./room_questions_store.js";
import { requestRoomAction, roomNow } from "./room_state.js";

const KIND_NAMES = { choice: "choice", token: "token", grid: "head", number: "number", next: "next token", head: "head" };

// `saveAnswers` downloads the answers of the room and returns an error message or an empty text.
export function questionLists({ saveAnswers }) {
  const box = element("div", "own"), written = element("ul", "written"), asked = element("div", "asked"), place = element("div", "place");
  const add = button("add", "Write a question", () => edit(null)), form = questionForm({ onSave, onAsk, onClose: close });
  let edited = null, before = "";
  add.dataset.focus = "write";
  box.append(element("h3", "", "Your questions"), written, place, asked);
  place.append(form.hasDraft() ? form.node : add);
  return { node: box, draw };

  // Draws the lists if they changed. The form stays, with what is typed in it.
  function draw(force = false) {
    const { code } = roomNow(), own = ownQuestions(), earlier = askedIn(code), now = JSON.stringify([code, own, earlier]);
    if (now === before && !force) return;
    before = now;
    written.replaceChildren(...own.map((each, n) => line(each, [
      ...(code ? [questionButton("Ask", `ask${n}`, () => requestRoomAction("askOwn", each))] : []),
      questionButton("Edit", `edit${n}`, () => edit(n)), questionButton("Remove", `remove${n}`, () => { saveOwn(own.filter((_, other) => other !== n)); if (edited !== null) close(); draw(); }),
    ], each.asked && each.asked === code ? "asked" : "")));
    asked.replaceChildren(...(earlier.length ? [element("h3", "", "Asked in this room"), list(earlier), saving()] : []));
  }

  function list(earlier) {
    const rows = element("ul");
    rows.append(...earlier.map((each) => line(each.made, [questionButton("Ask again", `again${each.number}`, () => requestRoomAction("again", each))], each.round > 1 ? `round ${each.round}` : "")));
    return rows;
  }

  function saving() {
    const row = element("div", "row"), fault = element("p", "fault");
    fault.setAttribute("role", "status");
    row.append(questionButton("Save answers as CSV", "answers", async () => { fault.textContent = await saveAnswers(); }), fault);
    return row;
  }

  function edit(n) {
    edited = n;
    form.open(n === null ? null : ownQuestions()[n]);
    place.replaceChildren(form.node);
    form.focus();
  }

  function close() {
    edited = null;
    place.replaceChildren(add);
    add.focus({ preventScroll: true });
  }

  function onSave(question) {
    const list = ownQuestions();
    saveOwn(edited === null ? [...list, question] : list.map((each, n) => (n === edited ? question : each)));
    close();
    draw();
  }

  function onAsk(question) {
    onSave(question);
    requestRoomAction("askOwn", question);
  }
}

function line({ kind, text }, buttons, note = "") {
  const row = element("li"), words = element("p", "words", text);
  words.append(element("small", "", [KIND_NAMES[kind] ?? kind, note].filter(Boolean).join(" · ")));
  row.append(words, ...buttons);
  return row;
}

function questionButton(text, name, does) {
  const node = button("", text, does);
  node.dataset.focus = name;
  return node;
}
