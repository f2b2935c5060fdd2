// The form of a question. What is typed stays in this browser until it is saved.

import { button, element } from "../kit/mount.js";
import { roomNow, storedValue } from "./room_state.js";

const MIN_OPTIONS = 2, MAX_OPTIONS = 8;
const LONGEST_TEXT = { text: 300, option: 80 }; // characters
const KIND_CHOICES = [["choice", "Several options"], ["token", "A token of the page"], ["grid", "A head of the shown kind"], ["number", "A number"]];
const RIGHT_FIELDS = { token: ["Right token, if any", "dog, or: the (2nd)"], grid: ["Right head, if any", "2.3"], number: ["Right number, if any", "0.58"] };
const EMPTY_QUESTION = { kind: "choice", text: "", options: ["", ""], right: "", side: "source" };
const storedDraft = storedValue("own-draft");
const tidy = (text) => text.trim().replace(/\s+/g, " ");

// The first fault of a question as a sentence, or an empty text.
export function faultOf({ kind, text, options, right }) {
  if (!tidy(text)) return "The question has no text. Type one.";
  const filled = options.map(tidy).filter(Boolean);
  if (kind === "choice" && filled.length < MIN_OPTIONS) return "A question needs at least 2 options. Type another one.";
  if (kind === "choice" && new Set(filled).size < filled.length) return "Two options are equal. Change one of them.";
  if (kind === "number" && tidy(right) && !/^[+−-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(tidy(right))) return `“${tidy(right)}” is not a number. Write it with digits, such as 12 or 0.58.`;
  if (kind === "grid" && tidy(right) && !/^(\S+ )?\d+\.\d+$/.test(tidy(right))) return `“${tidy(right)}” is not a head. Write layer and head, such as 2.3.`;
  return "";
}

// The question as it is stored, without empty options.
export function questionOf({ kind, text, options, right, side }) {
  return { kind, text: tidy(text), options: kind === "choice" ? options.map(tidy).filter(Boolean) : [], right: tidy(right), side };
}

// `onSave` and `onAsk` get a question, `onClose` is called after a cancel.
export function questionForm({ onSave, onAsk, onClose }) {
  const node = element("form", "question"), kind = element("select"), text = element("textarea"), fields = element("div", "fields"), fault = element("p", "fault");
  let draft = { ...EMPTY_QUESTION, ...storedDraft.get() };
  for (const [name, title] of KIND_CHOICES) kind.append(Object.assign(element("option", "", title), { value: name }));
  Object.assign(text, { rows: 2, maxLength: LONGEST_TEXT.text });
  fault.setAttribute("role", "alert");
  kind.onchange = () => { keep({ kind: kind.value, right: "" }); draw(); };
  text.oninput = () => keep({ text: text.value });
  node.onsubmit = (event) => { event.preventDefault(); done(onSave); };
  const row = element("div", "row"), save = element("button", "first", "Save");
  const ask = button("ask-now", "Ask now", () => { if (roomNow().code) done(onAsk); else fault.textContent = "No room is open. Open one above, or save the question."; });
  row.append(save, ask, button("", "Cancel", () => { storedDraft.set(null); onClose(); }));
  node.append(labelled("Kind", kind), labelled("Question", text), fields, fault, row);
  draw();
  return { node, open, focus: () => text.focus(), hasDraft: () => Boolean(storedDraft.get()) };

  function open(question) {
    draft = { ...EMPTY_QUESTION, ...question };
    if (draft.kind === "choice" && draft.options.length < MIN_OPTIONS) draft.options = EMPTY_QUESTION.options;
    draw();
  }

  function keep(change) {
    draft = { ...draft, ...change };
    storedDraft.set(draft);
    fault.textContent = "";
  }

  function done(use) {
    fault.textContent = faultOf(draft);
    if (fault.textContent) return;
    storedDraft.set(null);
    use(questionOf(draft));
  }

  function draw() {
    kind.value = draft.kind;
    text.value = draft.text;
    fault.textContent = "";
    fields.replaceChildren(...(draft.kind === "choice" ? choices() : [...(draft.kind === "token" ? [sides()] : []), right()]));
  }

  // The options; one may be marked as right.
  function choices() {
    const rows = draft.options.map((option, n) => {
      const line = element("div", "choice"), input = Object.assign(element("input"), { value: option, maxLength: LONGEST_TEXT.option, placeholder: `Option ${n + 1}` });
      input.setAttribute("aria-label", `Option ${n + 1}`);
      const mark = button("mark", "Right", () => { keep({ right: draft.right === option && option ? "" : draft.options[n] }); draw(); });
      mark.setAttribute("aria-pressed", String(Boolean(tidy(option)) && draft.right === option));
      mark.title = "Mark as the right answer";
      input.oninput = () => {
        const was = draft.options[n], isRight = Boolean(was) && draft.right === was;
        option = input.value;
        keep({ options: draft.options.map((each, other) => (other === n ? option : each)), ...(isRight ? { right: option } : {}) });
      };
      line.append(input, mark);
      return line;
    });
    const more = button("", "Another option", () => { keep({ options: [...draft.options, ""] }); draw(); fields.querySelectorAll("input")[draft.options.length - 1].focus(); });
    return [...rows, ...(draft.options.length < MAX_OPTIONS ? [more] : [])];
  }

  function sides() {
    const side = element("select");
    for (const [name, title] of [["source", "Source"], ["output", "Output"]]) side.append(Object.assign(element("option", "", title), { value: name }));
    side.value = draft.side;
    side.onchange = () => keep({ side: side.value });
    return labelled("Tokens of the", side);
  }

  function right() {
    const [title, example] = RIGHT_FIELDS[draft.kind], input = Object.assign(element("input"), { value: draft.right, placeholder: example, maxLength: 60 });
    input.oninput = () => keep({ right: input.value });
    return labelled(title, input);
  }
}

function labelled(title, node) {
  const label = element("label", "", title);
  label.append(node);
  return label;
}
