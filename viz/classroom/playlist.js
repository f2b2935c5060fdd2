// Playlist in *Present*: the current talk, its stops with lines, and its link and file. Texts go through textContent only.

import { button, element, focusOf, mountComponent, refocus, unmountComponent } from "../kit/mount.js";
import { copyText, linkFor, sharedAddress } from "../kit/copy_link.js";
import { download } from "../save/files.js";
import { screenId } from "./rooms/presenter_parts.js";

const MAX_FILE = 262144; // bytes, as viz/classroom/talk.py has it
const COPIED_MS = 1500; // ms
const AS_LINK = "Copy as one link";
const OFFERED = "attention-lab-key"; // as viz/classroom/lecture.js has it: a key before the lecture takes it
const OPENER = '[data-testid="stPopoverButton"][aria-expanded="true"]';
const MAKING = "Creating the file …";

let typed = ""; // a line not stored yet, kept while the panel is closed

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".playlist", { told: "" }), focused = focusOf(parentElement);
  Object.assign(state, { data, report: setTriggerValue });
  if (first) { build(root, state); state.key = (event) => escape(event, parentElement); document.addEventListener(OFFERED, state.key); }
  choices(root, state);
  const title = root.querySelector(".title");
  title.hidden = root.querySelector(".keys").hidden = !data.chosen;
  if (parentElement.activeElement !== title) title.value = data.title;
  const list = JSON.stringify([data.stops, data.stop]);
  if (state.list !== list) { state.list = list; stops(root, state); refocus(root, focused); }
  for (const node of root.querySelectorAll(".of-talk > button:not(.open, .presenter)")) node.disabled = !data.stops.length;
  if (data.long) root.querySelector(".link").disabled = true;
  showMessage(root, data.told || data.long, Boolean(data.told));
  if (data.stops.length > (state.count ?? data.stops.length)) root.querySelector(".new").value = typed = ""; // stored now
  if (data.stops.length && !state.count) requestAnimationFrame(() => root.scrollIntoView({ block: "start" })); // scrolls the list into view
  state.count = data.stops.length;
  receive(root, state);
  return () => { document.removeEventListener(OFFERED, state.key); delete document.documentElement.dataset.labMaking; unmountComponent(root); };
}

// Escape closes the panel; blur sends the typed text first.
function escape(event, parentElement) {
  const opener = event.detail.key === "Escape" && document.querySelector(OPENER);
  if (!opener) return;
  event.preventDefault();
  parentElement.activeElement?.blur();
  opener.click();
}

function build(root, state) {
  const choice = element("select", "choice"), title = element("input", "title"), line = element("textarea", "new");
  choice.setAttribute("aria-label", "Playlist");
  choice.onchange = () => state.report("choose", choice.value);
  Object.assign(title, { type: "text", maxLength: 80, ariaLabel: "Title of the playlist" });
  title.onchange = () => state.report("rename", title.value);
  Object.assign(line, { rows: 1, value: typed, maxLength: 400, placeholder: "Line for this view; {token} is filled", ariaLabel: "Line for this view" });
  line.oninput = () => { typed = line.value; };
  const keep = element("div", "keep"), files = element("div", "row of-talk"), fileInput = element("input", "opened");
  keep.append(line, button("add", "Add this view", () => state.report("keep", line.value)));
  const ask = (which) => () => { showMessage(root, MAKING); document.documentElement.dataset.labMaking = ""; state.waits = true; state.report("make", which); };
  files.append(button("copy", "Duplicate", () => state.report("duplicate", true)), button("link", AS_LINK, () => link(root, state)), button("file", "Save as a file", ask("talk")), button("page", "Save as a page", ask("page")));
  Object.assign(fileInput, { type: "file", accept: ".json,application/json", hidden: true });
  fileInput.onchange = () => open(root, state, fileInput);
  const presenter = button("presenter", "Presenter view", () => openPresenter(root));
  Object.assign(presenter, { disabled: !state.data.served, title: state.data.served ? "Stops, notes, time and buttons in a window for your second screen" : state.data.notServed });
  files.append(button("open", "Open a file …", () => fileInput.click()), fileInput, presenter);
  const message = element("p", "message");
  message.setAttribute("role", "status");
  const which = element("div", "which"), foot = element("div", "foot"), keys = element("p", "keys", "In lecture mode: page keys change the stop, arrows the step.");
  which.append(choice, title);
  foot.append(keep, message, files);
  root.replaceChildren(element("h3", "name", "Playlist"), which, keys, element("ol", "stops"), foot);
}

function choices(root, { data }) {
  const choice = root.querySelector(".choice"), talks = JSON.stringify(data.talks);
  if (choice.dataset.talks !== talks) {
    choice.dataset.talks = talks;
    choice.replaceChildren(...[["", "None"], ...data.talks].map(([value, text]) => Object.assign(element("option", "", text), { value })));
  }
  choice.value = data.chosen;
}

// -- the stops -----------------------------------------------------------------------------------------------------

function stops(root, state) {
  const { data, report } = state, last = data.stops.length;
  root.querySelector(".stops").replaceChildren(...data.stops.map((stop, index) => {
    const item = element("li", index + 1 === data.stop ? "here" : ""), number = index + 1, line = element("textarea", "line"), row = element("div", "ways");
    const act = (name, text, label, does, off = false, title = label) => {
      const node = Object.assign(button(name, text, does), { disabled: off, title, ariaLabel: `${label}: stop ${number}` });
      node.dataset.focus = `${name} ${number}`;
      return node;
    };
    Object.assign(line, { value: stop.line, title: stop.line, rows: 1, maxLength: 400, placeholder: "No line yet", ariaLabel: `Line of stop ${number}` });
    line.dataset.focus = `line ${number}`;
    line.onchange = () => report("say", { number, text: line.value });
    row.append(
      act("up", "↑", "Up", () => report("move", { number, to: number - 1 }), number === 1),
      act("down", "↓", "Down", () => report("move", { number, to: number + 1 }), number === last),
      act("take", "↻", "Take the view that is shown now", () => report("take", number)),
      act("out", "×", "Remove", () => report("remove", number)),
    );
    const head = element("div", "head"), to = act("to", `${number}. ${stop.page}`, "Go there", () => report("show", number), false, `Go there: ${stop.text}`);
    if (number === data.stop) to.setAttribute("aria-current", "step");
    head.append(to, line, row);
    item.append(head, ...stop.faults.map((fault) => element("p", "fault", fault)));
    return item;
  }));
}

// -- the talk as a link, a file -------------------------------------------------------------------------

function showMessage(root, text, wrong = false) {
  const message = root.querySelector(".message");
  if (message.textContent !== text) message.textContent = text;
  message.classList.toggle("wrong", wrong);
}

async function link(root, { data }) {
  const node = root.querySelector(".link"), address = linkFor(new URL(data.link, new URL(".", document.baseURI)), sharedAddress());
  if (!await copyText(address)) { showMessage(root, address); return; }
  node.textContent = "Copied";
  setTimeout(() => { node.textContent = AS_LINK; }, COPIED_MS);
}

function openPresenter(root) {
  const opened = window.open(new URL(`/presenter?screen=${screenId()}`, document.baseURI), "attention-lab-presenter", "popup,width=1080,height=720");
  showMessage(root, opened ? "Move the new window to your own screen." : "The browser blocked the new window. Allow pop-ups for this page.", !opened);
}

async function open(root, state, field) {
  const [file] = field.files;
  field.value = "";
  if (!file) return;
  if (file.size > MAX_FILE) { showMessage(root, "This file is too large. The limit is 256 kB.", true); return; }
  state.report("open", await file.text());
}

// Saves the file that the server made, once, or shows its error.
function receive(root, state) {
  const { made: file } = state.data;
  if (!file || file.number === state.had) return;
  state.had = file.number;
  if (!state.waits) return;
  state.waits = false;
  delete document.documentElement.dataset.labMaking;
  if (file.fault) { showMessage(root, file.fault, true); return; }
  download(new Blob([Uint8Array.from(atob(file.bytes), (char) => char.charCodeAt(0))], { type: file.mime }), file.name);
  showMessage(root, `Saved as ${file.name}`);
}
