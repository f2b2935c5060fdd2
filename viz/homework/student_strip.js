// The strip of an assignment for a student: the current task, its form, and the answers, which stay in this browser until they are
// saved as a file.

import { button, element, mountComponent } from "../kit/mount.js";
import { SURE } from "../classroom/bet_parts.js";
import { followed } from "../lessons/progress_parts.js";
import { download } from "../save/files.js";
import { PERSON, answeredTasks, changeEntry, readAnswers, resultFile, resultName } from "./answers.js";

const NOT_SENT = "Your answers stay in this browser. At the end, save them as a file for your lecturer.";
const ROUNDING = 1e-9; // of a prediction that is off by exactly the tolerance
const KEPT = "This view is handed in.";
const DRAFT = "Stored in this browser. Say how sure you are to close the answer.";
const NAMED = { view: "This view", training: "Your training" };
const isNumber = (text) => /^\s*[+−-]?(\d+([.,]\d*)?|[.,]\d+)\s*$/.test(text);
const valueOf = (text) => Number(text.trim().replace("−", "-").replace(",", "."));
const decimal = (value) => String(Math.round(1e4 * value) / 1e4).replace("-", "−");

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mountComponent({ data, parentElement }, ".student-strip", { built: "" });
  Object.assign(state, { data, report: setTriggerValue });
  if (data.fault) { state.built = ""; root.replaceChildren(element("p", "words", data.fault), leaveButton(state)); return; }
  state.stored = readAnswers(data);
  if (data.task) record(state);
  const place = JSON.stringify([data.id, data.number]); // typed texts stay while the task stays
  if (state.built !== place) { state.built = place; build(root, state); }
  tell(root, state);
  root.querySelector(".ways").replaceChildren(...ways(root, state));
}

const answerOf = ({ stored, data }) => stored.answers[data.number] ?? {};
const isClosed = (state) => answerOf(state).confidence != null; // an answer without a confidence can be changed

// Stores a change of the current answer.
function keep(state, change) {
  const { number, task } = state.data, [checkpoint, digest] = task.checkpoint;
  state.stored = changeEntry(state.data, number, (entry) => {
    entry.answer = { ...entry.answer, ...change };
    entry.checkpoints = { ...entry.checkpoints, [checkpoint]: digest };
  });
}

// Notes when the task was shown first, and stores the first view that solves it.
function record(state) {
  const { stored, data } = state, { kind, solved, said, view, evidence } = data.task, now = Date.now();
  if (!stored.started) changeEntry(data, PERSON, (entry) => { entry.started = new Date(now).toISOString(); });
  if (!stored.shown[data.number]) state.stored = changeEntry(data, data.number, (entry) => { entry.shown = now; });
  if (!solved || answerOf(state).solved) return;
  keep(state, { ...(kind === "view" ? { view } : { training: evidence }), solved, said, seconds: secondsOf(state) });
}

const secondsOf = ({ stored, data }) => Math.round((Date.now() - stored.shown[data.number]) / 100) / 10;

function build(root, state) {
  const { data } = state, words = element("div", "words"), head = element("p", "head"), { task } = data, said = element("p", "said");
  const place = task ? `Task ${data.number} of ${data.tasks.length}` : data.title;
  head.append(element("span", "place", place), element("b", "", task ? task.question : ""));
  said.setAttribute("role", "status");
  const form = !task ? overview(state) : { choice: choiceForm, number: numberForm, text: textForm }[task.kind]?.(root, state) ?? [];
  words.append(head, ...form, said);
  if (task?.limit) said.before(element("p", "limit", `Allowed: ${task.limit}.`));
  const nav = element("nav", "ways");
  nav.setAttribute("aria-label", "Tasks");
  root.replaceChildren(words, nav);
  root.setAttribute("aria-label", data.title);
}

function overview(state) {
  const { data, stored } = state, name = Object.assign(element("input", "name"), { type: "text", maxLength: data.limits.name, value: stored.student ?? "" });
  const label = element("label", "", "Your name"), row = element("div", "row");
  name.oninput = () => { state.stored = changeEntry(data, PERSON, (entry) => { entry.student = name.value; }); };
  label.append(name);
  row.append(label);
  const time = data.minutes ? `, about ${data.minutes} minutes` : "";
  const about = data.about ? [element("p", "", data.about)] : [];
  return [...about, element("p", "about", `${data.tasks.length} ${data.tasks.length === 1 ? "task" : "tasks"}${time}. ${NOT_SENT}`), row];
}

// -- forms ---------------------------------------------------------------------------------------------------------

function choiceForm(root, state) {
  const { task } = state.data, answer = answerOf(state), options = element("div", "row options");
  options.setAttribute("role", "radiogroup");
  task.options.forEach((text, n) => options.append(radio("option", n + 1, text, answer.choice, isClosed(state))));
  options.onchange = () => draft(root, state, { choice: chosenOf(root, "option") });
  return [options, confidence(root, state, "Answer", () => {
    const chosen = chosenOf(root, "option");
    return chosen ? { choice: chosen } : "Choose an option first.";
  })];
}

function numberForm(root, state) {
  const answer = answerOf(state), input = Object.assign(element("input", "number"), { type: "text", inputMode: "decimal", value: answer.number == null ? "" : decimal(answer.number) });
  const label = element("label", "", "Your prediction"), row = confidence(root, state, "Predict", () => {
    return isNumber(input.value) ? { number: valueOf(input.value) } : "Type a number first, such as 0.58.";
  });
  input.disabled = isClosed(state);
  input.onchange = () => { if (isNumber(input.value)) draft(root, state, { number: valueOf(input.value) }); };
  label.append(input);
  row.prepend(label);
  return [row];
}

function textForm(root, state) {
  const answer = answerOf(state), text = Object.assign(element("textarea"), { value: answer.text ?? "", maxLength: state.data.limits.text });
  text.setAttribute("aria-label", state.data.task.question);
  text.oninput = () => { keep(state, { text: text.value, seconds: answerOf(state).seconds ?? secondsOf(state) }); tell(root, state); };
  return [text];
}

// Stores an answer that does not say yet how sure the student is.
function draft(root, state, change) {
  keep(state, { ...change, seconds: secondsOf(state) });
  tell(root, state);
  root.querySelector(".ways").replaceChildren(...ways(root, state));
}

// The row with the confidence and the button that closes an answer. `read` returns the answer, or what is missing.
function confidence(root, state, title, read) {
  const row = element("div", "row"), answer = answerOf(state);
  SURE.forEach((text, n) => row.append(radio("sure", n + 1, text, answer.confidence, isClosed(state))));
  const done = button("first answer", title, () => {
    const change = read(), sure = chosenOf(root, "sure"), missing = typeof change === "string" ? change : sure ? "" : "How sure are you? Choose one.";
    if (missing) { root.querySelector(".said").textContent = missing; return; }
    keep(state, { ...change, confidence: sure, seconds: secondsOf(state) });
    if (verdict(state)[0][0] === "✓") state.stored = changeEntry(state.data, state.data.number, (entry) => { entry.isRight = true; });
    build(root, state);
    tell(root, state);
    root.querySelector(".ways").replaceChildren(...ways(root, state));
  });
  if (!isClosed(state)) row.append(done);
  return row;
}

function radio(name, value, text, chosen, disabled) {
  const label = element("label", ""), input = Object.assign(element("input"), { type: "radio", name, value, checked: value === chosen, disabled });
  label.append(input, text);
  return label;
}

const chosenOf = (root, name) => Number(root.querySelector(`input[name=${name}]:checked`)?.value ?? 0);

// -- what is known of the answer -----------------------------------------------------------------------------------

function tell(root, state) {
  const { task } = state.data, said = root.querySelector(".said"), [word, text] = task ? verdict(state) : ["", overviewText(state)];
  root.classList.toggle("solved", Boolean(word) && word[0] === "✓");
  const whole = `${word}${text}`;
  if (said.textContent !== whole) said.replaceChildren(element("b", "", word), text);
  if (task?.kind === "choice" && isClosed(state) && task.right) root.querySelectorAll(".options label")[task.right - 1].classList.add("right");
}

function overviewText({ data, stored }) {
  const done = answeredTasks(stored).length;
  return done ? `${done} of ${data.tasks.length} answered.` : "";
}

function verdict(state) {
  const { task } = state.data, answer = answerOf(state);
  if (task.kind === "text") return answer.text?.trim() ? ["", "Stored in this browser."] : ["", ""];
  if (["choice", "number"].includes(task.kind) && !isClosed(state)) return ["", answer.choice || answer.number != null ? DRAFT : ""];
  if (task.kind === "choice") {
    if (!task.right) return ["", "Stored in this browser."];
    return answer.choice === task.right ? ["✓ Right. ", ""] : ["✗ Not right. ", "The right one is marked."];
  }
  if (task.kind === "number") {
    if (task.measured == null) return ["", "Stored in this browser. The number is measured when the results are collected."];
    const off = Math.abs(answer.number - task.measured), isRight = off <= task.tolerance + ROUNDING;
    return [isRight ? "✓ Right. " : "✗ Not right. ", `Measured: ${decimal(task.measured)}. You are off by ${decimal(off)}; ${decimal(task.tolerance)} is allowed.`];
  }
  if (task.solved) return ["✓ Solved. ", task.said];
  if (answer.solved) return ["✓ Solved. ", task.said ? `${answer.said} ${NAMED[task.kind]} now: ${task.said}` : answer.said];
  const isKept = task.kind === "view" && JSON.stringify(answer.view) === JSON.stringify(task.view);
  return ["", isKept ? `${KEPT} ${task.said}` : task.said];
}

// -- buttons -------------------------------------------------------------------------------------------------------

function ways(root, state) {
  const { data, stored } = state, { number, tasks, task } = data, done = answeredTasks(stored), list = element("div", "numbers"), row = element("div");
  tasks.forEach(([question, href], n) => {
    const isDone = done.includes(n + 1), isRight = Boolean(stored.right[n + 1]), isSolved = Boolean(stored.answers[n + 1]?.solved) || isRight;
    const link = Object.assign(element("a", isSolved ? "done solved" : isDone ? "done" : "", String(n + 1)), { href, title: question });
    if (isDone) link.setAttribute("aria-label", `${n + 1}, ${isRight ? "right" : isSolved ? "solved" : "answered"}`);
    if (n + 1 === number) link.setAttribute("aria-current", "step");
    list.append(followed(link, () => state.report("begin", n + 1)));
  });
  const open = tasks.findIndex((_, n) => !done.includes(n + 1)) + 1;
  if (!task) {
    if (open) row.append(button("first", done.length ? `Go on with task ${open}` : "Begin", () => state.report("begin", open)));
    row.append(button(open ? "save" : "first save", "Save my result", () => save(root, state)));
  } else {
    if (task.kind === "number" && isClosed(state)) row.append(button("show", "Show it", () => state.report("measured", true)));
    if (task.kind === "view" && task.view && !task.solved && !answerOf(state).solved) row.append(keepButton(root, state));
    if (["view", "training"].includes(task.kind)) row.append(button("again", "Start over", () => state.report("begin", number)));
    const isLast = number === tasks.length, isDone = done.includes(number) && (isClosed(state) || !["choice", "number"].includes(task.kind));
    if (!isLast) row.append(button("overview", "Overview", () => state.report("begin", 0)));
    row.append(button(isDone ? "first next" : "next", isLast ? "Finish" : "Next task ›", () => state.report("begin", isLast ? 0 : number + 1)));
  }
  if (data.isPreview) row.append(button("edit", "Edit", () => state.report("edit", true)));
  row.append(leaveButton(state));
  return [list, row];
}

// Hands in a view that the check does not accept, or that this page cannot check.
function keepButton(root, state) {
  const { task } = state.data, node = button("keep", "Keep this view", () => {
    keep(state, { view: task.view, solved: false, said: task.said, seconds: secondsOf(state) });
    tell(root, state);
    root.querySelector(".ways").replaceChildren(...ways(root, state));
  });
  node.title = "Hand in this view, although the task is not solved";
  return node;
}

const leaveButton = (state) => button("leave", "Leave", () => state.report("leave", true));

function save(root, { data, stored }) {
  if (!answeredTasks(stored).length) { root.querySelector(".said").textContent = "There is no answer yet. Begin with a task."; return; }
  if (!stored.student?.trim()) { root.querySelector(".name").focus(); root.querySelector(".said").textContent = "Type your name first, so that your lecturer knows whose result this is."; return; }
  download(new Blob([resultFile(data, stored)], { type: "application/json" }), resultName(data, stored));
  root.querySelector(".said").textContent = "Saved. Send the file to your lecturer.";
}
