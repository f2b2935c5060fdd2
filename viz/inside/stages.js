// One head for one query, stage by stage. Walking sends nothing; 300 ms after the last move the server hears of the stage.

import { centreChip, fadeEnds } from "../kit/chip_row.js";
import { button, element, focusOf, mountComponent, onResize, refocus, REST_MS, term, unmountComponent, stepForKey } from "../kit/mount.js";
import { onPageKeys } from "../kit/page_keys.js";
import { bars, cells, formula, linesOf, rowLetters } from "./stages_parts.js";

const STAGES = { n: 1, p: -1 }; // in a lecture, where the arrows go from token to token

// Draws without moving the page: the node stays as high as the page's scroll position needs.
function keepPlace(node, draw) {
  const page = document.querySelector('[data-testid="stMain"]') ?? document.scrollingElement, top = page.scrollTop;
  node.style.minHeight = `${node.offsetHeight}px`;
  draw();
  const spare = page.scrollHeight - page.clientHeight - top; // px below the window
  node.style.minHeight = top ? `${node.offsetHeight - spare}px` : "";
}

export default function ({ data, parentElement, setStateValue, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".stages"), focused = focusOf(parentElement);
  root.style.setProperty("--hue", `var(--lab-${data.kind})`);
  root.classList.toggle("large", Boolean(data.large));
  const last = data.stages.length, repaint = [];
  // What the server says counts where it is news: not what it has said before, nor the echo of a stage it was told of.
  const echo = (state.sent ||= []).lastIndexOf(data.stage), news = state.told == null || (data.stage !== state.told && echo < 0);
  if (news) clearTimeout(state.rest);
  state.sent = news ? [] : state.sent.slice(echo + 1);
  let stage = news ? data.stage : Math.min(state.stage, last);
  state.told = data.stage;
  state.asked = data.query;

  const rail = element("nav", "rail"), list = element("ol", ""), main = element("section", "stage");
  rail.setAttribute("aria-label", "Stages");
  const buttons = data.stages.map((each, n) => {
    const item = element("li"), name = button("", each.title, () => go(n + 1));
    name.dataset.focus = `stage ${n}`;
    if (each.edited) name.append(element("small", "", "edited"));
    item.append(name);
    list.append(item);
    return name;
  });
  rail.append(fadeEnds(list));
  const body = element("div", "body");
  body.append(...(data.large ? [main] : [rail, main]));
  keepPlace(root, () => { root.replaceChildren(...(data.large ? [body] : [asking(), body])); draw(stage); });
  refocus(root, focused);

  onResize(state, root, () => repaint.forEach((paint) => paint()));
  Object.assign(state, { go, last, ask, large: data.large });
  if (first) {
    state.deaf = onPageKeys(".code", (key) => {
      if (state.large && !(key in STAGES)) return state.ask(key);
      const to = state.large ? state.stage + STAGES[key] : stepForKey(key, state.stage, state.last);
      if (to !== null) state.go(to);
      return to !== null;
    });
  }
  document.fonts?.ready.then(() => state.draw());
  return () => {
    state.deaf();
    clearTimeout(state.rest);
    clearTimeout(state.pause);
    unmountComponent(root);
  };

  function go(number) {
    keepPlace(root, () => draw(number));
    clearTimeout(state.rest);
    state.rest = setTimeout(() => { state.sent.push(state.stage); setStateValue("stage", state.stage); }, REST_MS);
  }

  function draw(number) {
    stage = Math.max(1, Math.min(last, number));
    state.stage = stage;
    buttons.forEach((name, n) => {
      if (n + 1 === stage) name.setAttribute("aria-current", "step");
      else name.removeAttribute("aria-current");
    });
    centreChip(list, list.children[stage - 1]);
    show(data.stages[stage - 1]);
  }

  function asking() {
    const line = element("div", "asking"), chips = fadeEnds(element("div", "chips"));
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", "Who asks");
    line.append(element("h2", "small", "Who asks"), chips);
    data.queries.forEach((label, n) => {
      const chip = button("chip", label, () => setTriggerValue("query", n + 1));
      chip.dataset.focus = `query ${n}`; // and by this it is pointed at
      chip.disabled = Boolean(offline);
      chip.setAttribute("aria-pressed", n + 1 === data.query);
      chips.append(chip);
    });
    requestAnimationFrame(() => centreChip(chips, chips.children[data.query - 1]));
    return line;
  }

  function asker() { // the one that asks, in a lecture
    const chip = element("span", "chip", data.queries[state.asked - 1]);
    chip.dataset.point = `query ${state.asked - 1}`;
    return chip;
  }

  function ask(key) { // by key: the server hears of it after the last one
    const to = key === " " ? state.asked + 1 : stepForKey(key, state.asked, data.queries.length);
    if (to === null) return false;
    state.asked = Math.max(1, Math.min(data.queries.length, to));
    root.querySelector(".asks").replaceChildren(asker());
    clearTimeout(state.pause);
    state.pause = setTimeout(() => { if (state.asked !== data.query) setTriggerValue("query", state.asked); }, REST_MS);
    return true;
  }

  function show(each) {
    repaint.length = 0;
    const top = element("div", "top"), title = element("h2", "", data.large || !each.help ? each.title : ""), steps = element("div", "steps");
    for (const [name, move, text] of [["back", -1, "‹"], ["on", 1, "›"]]) {
      const walk = button("walk", text, () => { go(stage + move); refocus(root, name); });
      walk.dataset.focus = name;
      walk.disabled = stage + move < 1 || stage + move > last;
      walk.setAttribute("aria-label", name === "on" ? "Next stage" : "Stage before");
      steps.append(walk);
    }
    if (!title.textContent) title.append(term({ [each.title]: each.help }, each.title));
    title.dataset.point = `title ${each.name}`;
    top.append(title, element("span", "count", `${stage} of ${last}`));
    if (data.large) {
      const asks = element("span", "asks");
      asks.append(asker());
      top.append(...(each.edited ? [element("small", "edited", "edited")] : []), element("span", "count asked", "asks"), asks);
    }
    top.append(steps);
    const sentence = element("p", "sentence", each.sentence);
    sentence.setAttribute("aria-live", "polite");
    const shapes = element("p", "shapes");
    each.shapes.forEach((s) => shapes.append(element("span", "", `${s.name} ${s.letters} = [${s.numbers.join(", ")}]`)));
    const drawn = element("div", "tables"), letters = rowLetters(each.tables.filter((table) => !table.bars)), made = formula(each.formula);
    for (const [node, name] of [[made, "formula"], [sentence, "sentence"], [shapes, "shapes"]]) node.dataset.point = `${name} ${each.name}`;
    const beside = data.large && each.tables.every((table) => table.columns <= 128);
    const counts = each.tables.map(linesOf), lines = beside ? Math.max(...counts) : counts.reduce((sum, n) => sum + n, 0), tables = beside ? 1 : counts.length;
    drawn.classList.toggle("beside", Boolean(beside));
    each.tables.forEach((table, n) => {
      const pair = !table.bars && table.columns <= 128 && each.tables.filter((t) => t.rows.length === table.rows.length && t.rows.length > 1).length > 1;
      const name = `${each.name} ${n}`;
      const node = table.bars ? bars(table, name, data.large) : cells(table, data, repaint, letters, { name, large: data.large && drawn, lines, tables });
      if (pair) node.classList.add("half");
      drawn.append(node);
    });
    if (data.large) {
      main.replaceChildren(top, made, sentence, shapes, drawn);
      repaint.push(() => fitted(made));
      repaint.forEach((paint) => paint());
      return;
    }
    main.replaceChildren(top, made, sentence, drawn, folded(each.code, shapes));
    if (stage === last && data.next && !offline) {
      const on = button("next", `Go on: ${data.next.name}, layer ${data.next.layer}`, () => { state.told = null; clearTimeout(state.rest); setTriggerValue("next", true); });
      main.append(on);
    }
    if (["products", "scale"].includes(each.name) && !offline) main.append(apart());
    repaint.forEach((paint) => paint());
  }

  function fitted(line) { // in one line, on a narrow screen in smaller type
    line.style.fontSize = "";
    if (line.scrollWidth > line.clientWidth) line.style.fontSize = `${Math.floor((parseFloat(getComputedStyle(line).fontSize) * line.clientWidth) / line.scrollWidth)}px`;
  }

  function apart() {
    const way = button("next", "Why does it look there? Take a score apart", () => { clearTimeout(state.rest); setTriggerValue("apart", true); });
    way.dataset.focus = "apart";
    return way;
  }

  function folded(found, shapes) { // filled once it is open
    const box = element("details", "lines"), label = element("summary", "", "Code and shapes");
    const fill = () => box.replaceChildren(label, ...(box.open ? [code(found), shapes] : []));
    label.dataset.focus = "code";
    box.open = Boolean(state.hasCode);
    box.ontoggle = () => { if (box.isConnected) { state.hasCode = box.open; fill(); } };
    fill();
    return box;
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
