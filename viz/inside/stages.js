// One head for one query, stage by stage. Walking sends nothing; 300 ms after the last move the server hears of the stage.

const REST_MS = 300;
const BAR_NAMES = { score: [""], weight: [""], step: ["q · k", "score"] };
const mounts = new WeakMap();

export default function ({ data, parentElement, setStateValue, setTriggerValue }) {
  const root = parentElement.querySelector(".stages"), state = mounts.get(root) || {};
  mounts.set(root, state);
  const focused = parentElement.activeElement?.dataset?.focus;
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  root.style.setProperty("--hue", `var(--lab-${data.kind})`);
  const last = data.stages.length, repaint = [];
  // What the server says counts where it is news: not what it has said before, nor the echo of a stage it was told of.
  const echo = (state.sent ||= []).lastIndexOf(data.stage), news = state.told == null || (data.stage !== state.told && echo < 0);
  if (news) clearTimeout(state.rest);
  state.sent = news ? [] : state.sent.slice(echo + 1);
  let stage = news ? data.stage : Math.min(state.stage, last);
  state.told = data.stage;

  const rail = element("nav", "rail"), list = element("ol", ""), main = element("section", "stage"), range = element("input", "range");
  rail.setAttribute("aria-label", "Stages");
  const buttons = data.stages.map((each, n) => {
    const item = element("li"), button = element("button", "", each.title);
    button.type = "button";
    button.dataset.focus = `stage ${n}`;
    if (each.edited) button.append(element("small", "", "edited"));
    button.onclick = () => go(n + 1);
    item.append(button);
    list.append(item);
    return button;
  });
  Object.assign(range, { type: "range", min: 1, max: last, step: 1 });
  range.setAttribute("aria-label", "Stage");
  range.dataset.focus = "range";
  range.oninput = () => go(Number(range.value));
  rail.append(range, list);
  const body = element("div", "body");
  body.append(rail, main);
  root.replaceChildren(asking(), body);
  go(stage, false);
  if (focused) root.querySelector(`[data-focus="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });

  state.paint = () => repaint.forEach((paint) => paint());
  state.go = go;
  state.step = () => stage;
  state.last = last;
  if (!state.resize) {
    state.resize = new ResizeObserver(() => state.paint());
    state.resize.observe(root);
    state.onKey = (event) => {
      const at = event.composedPath()[0], moves = { ArrowLeft: () => state.step() - 1, ArrowRight: () => state.step() + 1, Home: () => 1, End: () => state.last };
      if (!moves[event.key] || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
      if (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT|CANVAS)$/.test(at.tagName)) return;
      if (at.closest?.("[role=radiogroup],[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox],.code")) return;
      event.preventDefault();
      state.go(moves[event.key]());
    };
    document.addEventListener("keydown", state.onKey);
  }
  document.fonts?.ready.then(() => state.paint());
  return () => {
    state.resize?.disconnect();
    document.removeEventListener("keydown", state.onKey);
    clearTimeout(state.rest);
    mounts.delete(root);
  };

  function go(number, tell = true) {
    stage = Math.max(1, Math.min(last, number));
    state.stage = stage;
    buttons.forEach((button, n) => {
      if (n + 1 === stage) button.setAttribute("aria-current", "step");
      else button.removeAttribute("aria-current");
    });
    const item = list.children[stage - 1]; // sideways alone: the page stays where it is
    list.scrollLeft = item.offsetLeft - list.offsetLeft - (list.clientWidth - item.offsetWidth) / 2;
    range.value = stage;
    range.setAttribute("aria-valuetext", `${stage} of ${last}: ${data.stages[stage - 1].title}`);
    show(data.stages[stage - 1]);
    if (!tell) return;
    clearTimeout(state.rest);
    state.rest = setTimeout(() => { state.sent.push(state.stage); setStateValue("stage", state.stage); }, REST_MS);
  }

  function asking() {
    const line = element("div", "asking"), chips = element("div", "chips");
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", "Who asks");
    line.append(element("h2", "small", "Who asks"), chips);
    data.queries.forEach((label, n) => {
      const chip = element("button", "chip", label);
      chip.type = "button";
      chip.dataset.focus = `query ${n}`;
      chip.setAttribute("aria-pressed", n + 1 === data.query);
      chip.onclick = () => setTriggerValue("query", n + 1);
      chips.append(chip);
    });
    requestAnimationFrame(() => { const on = chips.children[data.query - 1]; if (on) chips.scrollLeft = on.offsetLeft - chips.offsetLeft - chips.clientWidth / 2 + on.offsetWidth / 2; });
    return line;
  }

  function show(each) {
    repaint.length = 0;
    const top = element("div", "top"), title = element("h2", "", each.title), steps = element("div", "steps");
    for (const [name, move, text] of [["back", -1, "‹"], ["on", 1, "›"]]) {
      const button = element("button", "walk", text);
      button.type = "button";
      button.dataset.focus = name;
      button.disabled = stage + move < 1 || stage + move > last;
      button.setAttribute("aria-label", name === "on" ? "Next stage" : "Stage before");
      button.onclick = () => { go(stage + move); root.querySelector(`[data-focus=${name}]`).focus({ preventScroll: true }); };
      steps.append(button);
    }
    top.append(title, element("span", "count", `${stage} of ${last}`), steps);
    const sentence = element("p", "sentence", each.sentence);
    sentence.setAttribute("aria-live", "polite");
    const shapes = element("p", "shapes");
    each.shapes.forEach((s) => shapes.append(element("span", "", `${s.name} ${s.letters} = [${s.numbers.join(", ")}]`)));
    const drawn = element("div", "tables");
    each.tables.forEach((table) => {
      const small = table.unit !== "dimension" && table.unit !== "unit", pair = !small && table.columns <= 128 && each.tables.filter((t) => t.rows.length === table.rows.length && t.rows.length > 1).length > 1;
      const node = small ? bars(table, BAR_NAMES[table.unit] || [table.name], data) : cells(table, data, repaint);
      if (pair) node.classList.add("half");
      drawn.append(node);
    });
    main.replaceChildren(top, formula(each.formula), sentence, code(each.code), shapes, drawn);
    if (stage === last && data.next) {
      const on = element("button", "next", `Go on: ${{ encoder: "encoder", decoder: "decoder self-attention", cross: "cross-attention" }[data.next.kind]}, layer ${data.next.layer}`);
      on.type = "button";
      on.onclick = () => { state.told = null; clearTimeout(state.rest); setTriggerValue("next", true); };
      main.append(on);
    }
    repaint.forEach((paint) => paint());
  }

  function code(found) { // lines of one function that follow each other stand together
    const block = element("div", "code");
    block.tabIndex = 0;
    block.setAttribute("role", "region");
    block.setAttribute("aria-label", "The lines that compute it");
    let where = "";
    for (const lines of found) {
      const place = `${lines.file} · ${lines.function}`;
      if (place !== where) block.append(element("span", "place", place));
      where = place;
      lines.text.split("\n").forEach((text, n) => {
        const row = element("code"), number = element("i", "", lines.number + n);
        number.setAttribute("aria-hidden", "true");
        row.append(number, text);
        block.append(row);
      });
    }
    return block;
  }
}
