// The page of the static site: a sentence, its translation, and everything that is drawn from the trace. The components are those of
// the app; the model runs in a worker. All text is set as textContent.

import { button, truncate } from "../../kit/mount.js";
import { loadGlosses } from "../../kit/glosses.js";
import { FIRST, readAddress, writeAddress } from "./address.js";
import { keepDraft, readDraft } from "./draft.js";
import { cellCode, drawEdits, isOff } from "./edit_bar.js";
import { engineWorker } from "./engine_worker.js";
import { leastSure } from "./links.js";
import * as payloads from "./payloads.js";
import { secondScript } from "./second_script.js";

const find = (name) => document.getElementById(name);
const box = find("text");
const ANNOUNCED_AFTER = 400; // ms of a computation

/** Draws the page of a trace of the first sentence, and its map once `whole` has added the sites that the trace lacks. `add` receives the views of the second script. */
export function start({ site, trace: firstTrace, whole, mount, add, onTheme }) {
  const first = { trace: firstTrace, baseline: null };
  const { view: opened, faults, kept } = readAddress(location.search, site);
  const isFirst = ({ text, edits, decode, prefix, path }) => text.trim() === site.first && !edits.length && decode === "greedy" && !prefix.length && !path.length;
  const wanted = { ...opened, text: opened.text || site.first }, plain = { edits: [], decode: "greedy", prefix: [], path: [] };
  const state = { view: { ...wanted, text: site.first, ...plain }, ...first, count: 1, mode: "light", guess: false, linkFault: isFirst(wanted) ? "" : faults.join(" "), isShown: false };
  const ask = engineWorker(site.worker);
  const files = Object.fromEntries(Object.entries(site.files).map(([name, path]) => [name, new URL(path, location.href).href]));
  const loadSecond = secondScript(new URL(site.later, location.href).href);
  let live = null, question = 0, asked = null, views = null, isWhole = false;

  const options = ({ decode, prefix, path }) => ({ width: decode === "beam" ? site.width : 1, prefix, path });
  const name = () => `site${state.count}`;
  const awaited = () => asked ?? state.view;

  // -- the model --------------------------------------------------------------------------------------------------------

  function load() {
    const size = (bytes) => (bytes / 1e6).toFixed(1);
    live ??= ask("load", { files, alpha: site.alpha, glossed: site.base.timeline.code === "fr" }, ({ loaded }) => tell(`Loading the model: ${size(loaded)} of ${size(site.bytes)} MB. ${question ? "Your sentence is next." : "Until then the first sentence is ready."}`))
      .then(() => { performance.mark("live"); document.documentElement.dataset.live = ""; tell(""); return exact(); })
      .catch((fault) => { live = null; tell(""); throw fault; }); // the next translation tries again
    return live;
  }

  /** Replaces the stored trace, whose weights are rounded, by that of the model. */
  async function exact() {
    const { trace } = await ask("translate", { text: site.first, edits: [], ...options(FIRST) });
    if (state.trace === first.trace) { state.trace = trace; draw(); }
    first.trace = trace;
  }

  function tell(text) { find("progress").textContent = text; }

  function complain(text) { find("status").textContent = text; }

  /** Computes the view and draws it. What was typed stays in the box. `asked` is the awaited view. */
  async function compute(changes = {}, from = state.view) {
    const view = asked = { ...from, ...changes }, id = question += 1;
    keepDraft(box.value, state.view.text, true);
    if (isFirst(view)) { asked = null; show(view, first); return; }
    const slow = setTimeout(() => tell("Computing …"), ANNOUNCED_AFTER);
    try {
      await load();
      if (id !== question) return;
      const answer = await ask("translate", { text: view.text, edits: view.edits, ...options(view) });
      if (id === question) show(view, answer);
    } catch (fault) {
      const kept = state.view.text === view.text ? "" : `The translation below is of “${truncate(state.view.text, 40)}”.`;
      if (id === question) complain([state.linkFault, fault.message, kept].filter(Boolean).join(" "));
    } finally {
      clearTimeout(slow);
      if (id === question) { asked = null; tell(""); }
    }
  }

  function show(view, { trace, baseline }) {
    complain(state.linkFault);
    state.linkFault = "";
    state.count += 1;
    const step = view.step === null ? null : Math.min(view.step, trace.target.ids.length);
    state.isShown = true;
    Object.assign(state, { trace, baseline, view: { ...view, step, rival: state.isBack ? view.rival : null } });
    keepDraft(box.value, view.text, false);
    draw();
  }

  // -- drawing ----------------------------------------------------------------------------------------------------------

  function stepOf() { // by default the token that an example is about, else the least probable one; edits do not count
    if (state.view.step !== null) return Math.min(state.view.step, state.trace.target.ids.length);
    const trace = state.baseline ?? state.trace, at = trace.target.labels.indexOf(site.shown[state.view.text.trim()] || null);
    return Math.min((at < 0 ? leastSure(trace) : at) + 1, state.trace.target.ids.length);
  }

  function how() {
    const { decode, prefix, path } = state.view, { tree } = state.trace;
    if (prefix.length) return `${site.how[decode]}, branched off`;
    const rank = path.length && tree ? tree.ended.findIndex((n) => String(tree.nodes[n].ids) === String(path)) : 0;
    return rank < 0 ? `${site.how[decode]}, given up` : rank > 0 ? `${site.how[decode]}, number ${rank + 1}` : site.how[decode];
  }

  function finding() {
    if (state.guess || state.view.lesson || state.view.exercise) return []; // it would tell what is to be found
    const { text, edits, decode, prefix, path } = state.view, lesson = site.findings[text.trim()];
    if (lesson && !edits.length && decode === "greedy" && !prefix.length && !path.length) return [`${lesson.startsWith(`${site.shown[text.trim()]} `) ? lesson : lesson[0].toUpperCase() + lesson.slice(1)}.`]; // Elle is another token than elle
    const { trace } = state, step = leastSure(trace);
    return [`Least sure: “${trace.target.labels[step]}”, `, trace.steps[step].chosen[3], "."];
  }

  const off = () => Object.fromEntries(site.kinds.map((kind) => [kind, isOff({ ...state.view, map: kind })]));

  function draw() {
    const { view, trace, baseline } = state, { layer, head } = view, step = stepOf();
    const colours = { ...site.colours[state.mode], mode: state.mode }, common = { layer, head, colours, baseline, name: name(), how: how(), off: off() };
    const follow = { step, guess: state.guess, rows: view.rows, finding: finding(), picture: "" };
    mount("timeline", { ...payloads.timeline(trace, { base: site.base.timeline, ...common }), ...follow }, timelineEvents);
    mount("candidates", { ...payloads.candidates(trace, { base: site.base.candidates, name: name() }), step, guess: state.guess, fault: state.word ?? "", hall: false }, candidateEvents);
    document.documentElement.classList.toggle("guessing", state.guess); // the maps have the tokens that are to be guessed
    drawControls();
    drawTab();
    if (state.isShown) address();
  }

  function drawMap() {
    if (!isWhole) return;
    const { view, trace, baseline } = state, colours = { ...site.colours[state.mode], mode: state.mode };
    const data = payloads.headMap(trace, { base: site.base.head_map, colours, baseline, kind: view.map, layer: view.layer, head: view.head, name: name(), step: stepOf(), off: off(), isOff: (layer, head) => isOff({ ...view, layer, head }) });
    mount("head_map", data, mapEvents);
  }

  function drawTab() {
    const { view } = state;
    for (const tab of document.querySelectorAll("#tabs button")) tab.setAttribute("aria-pressed", String(tab.dataset.show === view.show));
    for (const panel of document.querySelectorAll(".panel")) panel.hidden = panel.id !== `panel-${view.show}`;
    if (view.show === "attention") drawMap();
    find("lesson").hidden = view.lesson === null;
    if (view.show !== "attention" || view.lesson !== null || view.assignment) drawViews();
    else find("later").hidden = true;
  }

  /** Loads the views of the second script. */
  async function loadViews() {
    const loaded = await loadSecond();
    if (views === null) add(views = loaded);
  }

  /** Draws the views of the second script; until it is there, a note. */
  function drawViews() {
    const { view } = state, note = find("later");
    note.hidden = views !== null;
    if (views === null) {
      note.replaceChildren("Loading this view …");
      loadViews().then(drawTab, (fault) => note.replaceChildren(`${fault.message} `, button("link", "Try again", drawTab)));
      return;
    }
    if (view.show === "decoding") drawTree();
    if (view.show === "route") views.drawRoute(find("route"), { site, state, ask, load, mount, step: stepOf(), options: options(view), change, edit: (edits) => compute({ edits, path: [] }) });
    if (view.show === "lessons") views.drawLessons(find("lessons"), { site, view, open });
    views.drawLesson(find("lesson"), { site, state, step: stepOf(), open, ask, load });
    views.drawHomework(find("homework"), { site, state, step: stepOf(), ask, load, mount, compute: take });
  }

  function drawTree() {
    const { view, trace } = state;
    for (const choice of document.querySelectorAll("#decode button")) choice.setAttribute("aria-pressed", String(choice.dataset.decode === view.decode));
    find("no-tree").hidden = Boolean(trace.tree);
    document.querySelector(".part-beam_tree").hidden = !trace.tree;
    if (trace.tree) mount("beam_tree", payloads.tree(trace, site.base.beam_tree), treeEvents);
  }

  function drawControls() {
    drawEdits(find("edits"), { ...state, change: (edited) => compute({ edits: edited(awaited().edits), path: [] }, awaited()) });
    const branch = find("branch");
    branch.hidden = !state.view.prefix.length;
    branch.replaceChildren("Continued from a forced token. ", button("link", "Take it back", () => compute({ prefix: [] })));
  }

  /** Writes the address. What is computed anew is a step of the browser's back button; what is only looked at is none. */
  function address() {
    const query = writeAddress(state.view, site), made = JSON.stringify([state.view.text, state.view.edits, options(state.view)]);
    history[state.made && state.made !== made && !state.isBack ? "pushState" : "replaceState"](null, "", query ? `?${query}` : location.pathname);
    Object.assign(state, { made, isBack: false });
    const lab = new URLSearchParams(query);
    if (["route", "lessons"].includes(lab.get("show"))) lab.delete("show");
    for (const [parameter, text] of kept) lab.set(parameter, text);
    find("link").textContent = `http://localhost:8501/${state.view.show === "route" ? "why" : ""}?${lab}`;
  }

  // -- events -----------------------------------------------------------------------------------------------------------

  /** Changes what is drawn, also of the awaited sentence, except for its step. */
  function change(changes) {
    Object.assign(state.view, changes);
    if (asked) Object.assign(asked, changes, { step: asked.step });
    draw();
  }

  /** Computes the view of a task, with its sentence in the box. */
  function take(changes) {
    if (changes.text) box.value = changes.text;
    compute(changes);
  }

  function open(changes) {
    const start = readAddress(changes, site).view;
    find("text").value = start.text;
    compute(start).then(() => find("lesson").scrollIntoView({ block: "nearest" }));
  }

  onpopstate = () => {
    const { view } = readAddress(location.search, site);
    state.isBack = true;
    box.value = view.text || site.first;
    compute({ ...view, text: box.value });
  };

  /** Goes to the head that links two tokens most. */
  function toHead({ kind, query, key }) {
    let best = { weight: -1 };
    for (const [place, { shape: [heads, rows, columns], weights }] of Object.entries(state.trace.attention)) {
      const [of, layer] = place.split(" ");
      for (let head = 0; of === kind && head < heads; head += 1) {
        const weight = weights[(head * rows + query - 1) * columns + key - 1];
        if (weight > best.weight) best = { weight, layer: Number(layer), head };
      }
    }
    change({ map: kind, layer: best.layer, head: best.head, show: "attention" });
    find("panel-attention").scrollIntoView({ block: "nearest" });
  }

  const reason = ({ step, token }) => { change({ step, rival: token, show: "route" }); find("panel-route").scrollIntoView({ block: "nearest" }); };

  const timelineEvents = {
    step: (step) => { state.view.step = step; address(); if (state.view.show === "route" || state.view.lesson || state.view.assignment) drawTab(); },
    rows: (rows) => { state.view.rows = rows; address(); },
    why: (link) => whole.then(() => toHead(link)),
    reason,
  };
  const candidateEvents = {
    guess: (guess) => { state.guess = guess; draw(); },
    branch: ({ step, token }) => compute({ prefix: [...state.trace.target.ids.slice(0, step - 1), token], path: [], step }),
    reason,
    word: async ({ step, text }) => {
      try {
        await load();
        const { prefix } = await ask("word", { path: state.trace.target.ids.slice(0, step - 1), text });
        state.word = "";
        await compute({ prefix, path: [], step });
      } catch (fault) {
        state.word = fault.message;
        draw();
      }
    },
  };
  const mapEvents = {
    kind: (map) => change({ map }),
    choose: ({ kind, layer, head }) => change({ map: kind, layer: layer - 1, head: head === null ? null : head - 1 }),
    block: (cell) => compute({ edits: [...new Set([...state.view.edits, cellCode(state.view, cell)])], path: [] }),
  };
  const treeEvents = {
    path: (n) => { const { ids } = state.trace.tree.nodes[n]; compute({ path: pathThrough(ids), step: ids.length }); },
    whole: (n) => compute({ path: state.trace.tree.nodes[n].ids }),
  };
  const pathThrough = (ids) => {
    const { nodes, ended } = state.trace.tree, begins = ({ ids: own }) => ids.every((id, t) => own[t] === id);
    return [...ended.map((n) => nodes[n]), ...nodes.filter(({ st }) => st === "pruned")].find(begins).ids;
  };

  // For benchmarks: milliseconds from a text to its drawn translation.
  globalThis.attentionLabSite = { measure: async (text) => { const begun = performance.now(); await compute({ text, step: null }); return performance.now() - begun; } };

  // -- the sentence, tabs and theme -------------------------------------------------------------------------------------

  const submit = () => compute({ text: box.value, step: null, prefix: [], path: [], edits: state.view.edits });
  const draft = readDraft(wanted.text);
  box.value = draft?.text ?? wanted.text;
  box.oninput = () => keepDraft(box.value, state.view.text, false);
  find("ask").onsubmit = (event) => { event.preventDefault(); submit(); };
  box.onkeydown = (event) => { if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); submit(); } };
  box.onfocus = () => { load().catch((fault) => complain(fault.message)); };
  for (const [label, text] of site.examples) {
    const chip = button("", label, () => { box.value = text; compute({ text, step: null, prefix: [], path: [], edits: [] }); });
    chip.title = text;
    find("examples").append(chip);
  }
  for (const tab of document.querySelectorAll("#tabs button")) tab.onclick = () => change({ show: tab.dataset.show });
  for (const choice of document.querySelectorAll("#decode button")) choice.onclick = () => compute({ decode: choice.dataset.decode, path: [] }, awaited());
  for (const page of document.querySelectorAll("#pages button")) page.onclick = () => { find("lacks").hidden = false; find("lacks-name").textContent = page.textContent; };
  onTheme((mode) => { state.mode = mode; draw(); });
  complain(faults.join(" "));
  whole.then(() => {
    isWhole = true; drawTab();
    document.documentElement.dataset.drawn = "";
    performance.mark("drawn");
    if (isFirst(wanted)) { state.isShown = true; address(); } else compute(wanted);
    if (draft?.isAsked) submit();
    loadViews().catch(() => {}).then(load).catch((fault) => { if (isFirst(wanted)) complain(fault.message); });
    fetch(files.glosses).then((response) => response.text()).then(loadGlosses).catch(() => {});
    if (globalThis.isSecureContext) navigator.serviceWorker?.register(site.service).catch(() => {});
  });
}
