// The strip of an assignment for its author. The form stays in this browser until the task is stored; views come from the server.

import { button, element, mountComponent } from "../kit/mount.js";
import { LOCAL_HOST, copyText, linkFor, sharedAddress } from "../kit/copy_link.js";
import { download } from "../save/files.js";

const TITLES = [["view", "Change the view"], ["number", "Predict a number"], ["choice", "Several options"], ["text", "Free text"], ["training", "Train a small model"]];
const BLANK = { kind: "view", question: "", check: "", limited: false, ownText: false, field: "", tolerance: 0.1, options: ["", ""], right: 0, pair: "", notes: "" };
const TAKEN = { start: ["Start", "Take this view as the start"], solution: ["Solution", "Take this view as the solution"], measured: ["Measured in", "Take this view to measure"] };
const VIEWS = { view: ["start", "solution"], number: ["start", "measured"], choice: ["start"], text: ["start"], training: [] };
const OTHER = "another"; // the option of a check that is typed
const SHARE = "95";
const FORMS = 'Such as {probability after of pomme} at most 0.5, or step 2 writes "chat" with probability at least 0.5 in this view.';
let isFolded = false; // also on the next page: the form covers what the author works on
let formNow = null; // the typed form, and the task that it is of: it survives a change of page

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".author-strip", { place: "" });
  const place = `${data.number} ${data.stored}`;
  if (formNow?.place !== place) formNow = { place, draft: { ...BLANK, kind: data.kind, ...data.task } };
  state.draft = formNow.draft;
  Object.assign(state, { data, report: setTriggerValue });
  if (first) {
    root.append(...["head", "tasks", "form"].map((name) => element("div", name)), Object.assign(element("p", "message"), { role: "status" }));
    root.addEventListener("input", ({ target }) => { if (target.maxLength > 0 && target.value.length >= target.maxLength) say(root, `At most ${target.maxLength} characters fit here.`, true); });
  }
  head(root, state);
  tasks(root, state);
  form(root, state);
  root.classList.toggle("folded", isFolded);
  if (state.stored !== undefined && data.stored > state.stored) say(root, `Stored.${state.isUnmarked ? " No option is marked as right, so the answers are counted only." : ""} Take a view for the next task, or preview the assignment.`);
  else say(root, data.message || data.long, Boolean(data.message));
  state.stored = data.stored;
  if (state.copies && state.copies === headText(state)) { state.copies = ""; copy(root, state); }
  receive(root, state);
}

// Title, line and minutes as the server has them.
const headText = ({ data: { title, about, minutes } }) => JSON.stringify([title, about, minutes]);

function say(root, text, isFault = false) {
  const message = root.querySelector(".message");
  message.classList.toggle("fault", isFault);
  if (message.textContent !== text) message.textContent = text;
  if (isFault) message.scrollIntoView({ block: "nearest" });
}

// Replaces the children of a place unless the typed text of one of them has the focus.
function fill(place, nodes) {
  const focused = place.getRootNode().activeElement;
  if (place.contains(focused) && focused.matches("input, textarea, select")) return;
  place.replaceChildren(...nodes);
}

function field(tag, className, values, onChange) {
  const node = Object.assign(element(tag, className), values);
  node.onchange = () => onChange(node);
  return node;
}

function labelled(title, node, className = "") {
  const label = element("label", className, title);
  label.append(node);
  return label;
}

function rowOf(...nodes) {
  const row = element("div", "row");
  row.append(...nodes);
  return row;
}

function head(root, state) {
  const { data, report } = state, values = () => ({ title: title.value, about: about.value, minutes: Math.max(0, Math.min(999, Math.round(Number(minutes.value)) || 0)) });
  const send = () => report("head", values());
  const title = field("input", "title", { type: "text", value: data.title, maxLength: data.limits.title, ariaLabel: "Title" }, send);
  const about = field("input", "", { type: "text", value: data.about, maxLength: data.limits.question, placeholder: "One line for students" }, send);
  const minutes = field("input", "minutes", { type: "number", min: 0, max: 999, value: data.minutes || "" }, send);
  about.setAttribute("aria-label", "One line for students");
  const link = button("copy", "Copy link for students", () => {
    const typed = values(), wanted = JSON.stringify([typed.title.trim() || data.title, typed.about.trim(), typed.minutes]);
    if (wanted === headText(state)) copy(root, state);
    else { state.copies = wanted; send(); }
  }), none = !data.tasks.length;
  link.disabled = !data.link;
  const files = [["lecturer", "Save with solutions"], ["students", "Save for students"]].map(([which, text]) => button(which, text, () => { state.waits = true; report("make", which); }));
  for (const each of files) each.disabled = none;
  const buttons = [button("preview", "Preview as student", () => report("preview", true)), link, ...files, button("leave", "Close", () => report("leave", true))];
  buttons[0].disabled = none;
  if (isFolded) {
    const takes = VIEWS[state.draft.kind].map((name) => button(name, `${data.stops[name] ? "✓ " : ""}${TAKEN[name][1]}`, () => report("take", name)));
    root.querySelector(".head").replaceChildren(rowOf(element("b", "", data.title), element("span", "stop", `${data.tasks.length} ${data.tasks.length === 1 ? "task" : "tasks"}`), ...takes, foldButton(root, state)));
    return;
  }
  buttons.push(foldButton(root, state));
  fill(root.querySelector(".head"), [rowOf(title, labelled("", about, "grow"), labelled("Minutes", minutes)), rowOf(...buttons)]);
}

function foldButton(root, state) {
  const node = button("fold", isFolded ? "Unfold" : "Fold", () => { isFolded = !isFolded; root.classList.toggle("folded", isFolded); node.blur(); head(root, state); });
  node.setAttribute("aria-expanded", String(!isFolded));
  return node;
}

async function copy(root, { data }) {
  const link = linkFor(window.location, sharedAddress()), address = new URL(data.link, link.replace(/[^/]*(\?.*)?$/, "")).href;
  const isHere = LOCAL_HOST.test(new URL(address).hostname), said = isHere ? "The link is copied. It works on this computer only: others need a lab that they can reach." : "The link for students is copied. It has no solutions.";
  say(root, (await copyText(address)) ? said : `Copy this link: ${address}`);
}

function tasks(root, { data, report }) {
  const list = element("div", "numbers"), { number } = data;
  data.tasks.forEach(([, question, page], n) => {
    const node = button("", String(n + 1), () => report("begin", n + 1));
    node.title = `${page}: ${question}`;
    if (n + 1 === number) node.setAttribute("aria-current", "step");
    list.append(node);
  });
  const fresh = button("new", "New task", () => report("begin", 0)), moves = [];
  if (!number) fresh.setAttribute("aria-current", "step");
  list.append(fresh);
  if (number > 1) moves.push(button("", "‹ Earlier", () => report("move", { number, to: number - 1 })));
  if (number && number < data.tasks.length) moves.push(button("", "Later ›", () => report("move", { number, to: number + 1 })));
  if (number) moves.push(button("", "Remove", () => report("remove", number)));
  root.querySelector(".tasks").replaceChildren(rowOf(element("span", "", "Tasks"), list, ...moves));
}

function form(root, state) {
  const { data, draft, report } = state, keep = (change) => { Object.assign(draft, change); }, again = (change) => { keep(change); form(root, state); };
  const kind = field("select", "kind", { ariaLabel: "Kind of task" }, () => { keep({ kind: kind.value }); report("kind", kind.value); kind.blur(); form(root, state); });
  for (const [value, text] of TITLES) kind.append(Object.assign(element("option", "", text), { value }));
  kind.value = draft.kind;
  const question = field("textarea", "question", { value: draft.question, maxLength: data.limits.question, placeholder: "What should the student do or find?" }, () => keep({ question: question.value }));
  question.setAttribute("aria-label", "Question");
  const rows = [rowOf(labelled("Kind", kind), labelled("", question, "grow"))];
  for (const name of VIEWS[draft.kind]) rows.push(stopRow(state, name));
  if (draft.kind === "view") rows.push(...checkRows(root, state, keep, again));
  if (draft.kind === "number") rows.push(numberRow(state, keep));
  if (draft.kind === "choice") rows.push(...choiceRows(root, state, keep, again));
  if (draft.kind === "training") rows.push(trainingRow(state, keep));
  const put = button("first put", data.number ? "Store this task" : "Add this task", () => { root.getRootNode().activeElement?.blur(); state.isUnmarked = draft.kind === "choice" && !draft.right; report("put", { ...draft, options: draft.options.map((each) => each.trim()).filter(Boolean) }); });
  rows.push(rowOf(put));
  fill(root.querySelector(".form"), rows);
}

function stopRow({ data, draft, report }, name) {
  const [title, text] = TAKEN[name], shown = data.stops[name];
  const rest = draft.kind === "view" ? "not taken yet" : name === "measured" ? "the start" : "the view at the time of adding";
  return rowOf(element("span", "", `${title}:`), element("span", shown ? "stop" : "stop missing", shown || rest), button(name, text, () => report("take", name)));
}

function checkRows(root, { data, draft }, keep, again) {
  const { checks, limit } = data.choices, isOwn = Boolean(draft.check) && !checks.includes(draft.check);
  if (!data.stops.start || !data.stops.solution) return [element("p", "hint", "Take the start. Then do the task yourself, and take the solution: the checks that it meets appear here.")];
  if (data.choices.isSame) return [element("p", "hint", "The start and the solution are the same view. Do the task, then take the solution again.")];
  if (!checks.length && !isOwn && draft.isOther !== true) {
    const other = button("", "Type a check", () => again({ isOther: true }));
    return [rowOf(element("span", "hint", "No ready check tells the solution from the start."), other)];
  }
  const select = field("select", "check", {}, () => again(select.value === OTHER ? { isOther: true } : { isOther: false, check: select.value }));
  if (!draft.check && !draft.isOther) keep({ check: checks[0] });
  for (const line of checks) select.append(Object.assign(element("option", "", line), { value: line }));
  select.append(Object.assign(element("option", "", "Another check …"), { value: OTHER }));
  const isTyped = draft.isOther || isOwn;
  select.value = isTyped ? OTHER : draft.check;
  const rows = [rowOf(labelled("Check", select, "grow"))];
  if (isTyped) {
    const typed = field("input", "typed", { type: "text", value: draft.check, maxLength: data.limits.check, placeholder: "{probability of il} at least 0.5" }, () => keep({ check: typed.value }));
    rows.push(rowOf(labelled("Line", typed, "grow")), element("p", "hint", FORMS));
  }
  const own = field("input", "", { type: "checkbox", checked: draft.ownText }, () => keep({ ownText: own.checked })), more = [labelled("Any sentence counts", own)];
  const limited = field("input", "", { type: "checkbox", checked: draft.limited }, () => keep({ limited: limited.checked }));
  if (limit) more.unshift(labelled(`Allow ${limit}`, limited));
  return [...rows, rowOf(...more)];
}

function numberRow({ data, draft }, keep) {
  const { fields } = data.choices, names = fields.map(([name]) => name);
  const select = field("select", "field", {}, () => keep({ field: select.value }));
  for (const [name, value] of fields) select.append(Object.assign(element("option", "", `${name}: ${value}`), { value: name }));
  if (!names.includes(draft.field)) keep({ field: names[0] ?? "" });
  select.value = draft.field;
  const tolerance = field("input", "tolerance", { type: "number", min: 0, step: "any", value: draft.tolerance }, () => keep({ tolerance: Number(tolerance.value) || BLANK.tolerance }));
  if (!names.length) return element("p", "hint", "Take the start: the numbers of that view appear here.");
  const row = rowOf(labelled("Number", select, "grow"), labelled("Right within ±", tolerance));
  row.append(element("p", "hint", data.stops.measured ? "" : "Students see the start. If it shows the number, take another view as the start, and this one to measure."));
  return row;
}

function choiceRows(root, { data, draft }, keep, again) {
  const rows = draft.options.map((option, n) => {
    const text = field("input", "", { type: "text", value: option, maxLength: data.limits.option, placeholder: `Option ${n + 1}` }, () => keep({ options: draft.options.map((each, at) => (at === n ? text.value : each)) }));
    const right = field("input", "", { type: "checkbox", checked: draft.right === n + 1 }, () => again({ right: right.checked ? n + 1 : 0 }));
    text.setAttribute("aria-label", `Option ${n + 1}`);
    return rowOf(labelled("", text, "grow"), labelled("Right", right));
  });
  const pair = field("input", "pair", { type: "text", value: draft.pair, maxLength: 40, placeholder: "none" }, () => keep({ pair: pair.value }));
  pair.title = "Two tasks with the same name are compared as before and after";
  const more = button("", "Another option", () => again({ options: [...draft.options, ""] }));
  more.disabled = draft.options.length >= data.limits.options;
  return [...rows, rowOf(more, labelled("Before and after: name of the pair", pair))];
}

function trainingRow({ data, draft }, keep) {
  const known = /^training (\S+) reaches (\d+)%$/.exec(draft.check), select = element("select"), share = element("input", "share");
  for (const [value, text] of data.trainings) select.append(Object.assign(element("option", "", text), { value }));
  select.value = known?.[1] ?? data.trainings[0][0];
  Object.assign(share, { type: "number", min: 1, max: 100, value: known?.[2] ?? SHARE });
  const store = () => keep({ check: `training ${select.value} reaches ${Math.round(Number(share.value)) || SHARE}%` });
  select.onchange = share.onchange = store;
  store();
  return rowOf(labelled("Task", select), labelled("New answers right, at least %", share));
}

function receive(root, state) {
  const { file } = state.data;
  if (!file || file.number === state.had) return;
  state.had = file.number;
  if (!state.waits) return;
  state.waits = false;
  if (file.fault) { say(root, file.fault, true); return; }
  download(new Blob([Uint8Array.from(atob(file.bytes), (char) => char.charCodeAt(0))], { type: file.mime }), file.name);
  say(root, `Saved as ${file.name}`);
}
