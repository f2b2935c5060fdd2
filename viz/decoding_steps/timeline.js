// One trace, drawn step by step. Nothing here makes markup from text: textContent only.

import { element, focusOf, isNewValue, mountComponent, refocus, REST_MS, publishStep, unmountComponent, button, exactProbability, svgElement, withDots, writeProbabilities } from "../kit/mount.js";
import { setTitle } from "../kit/glosses.js";
import { excludeFromPicture, stateHeads } from "../kit/pen.js";
import { doubt, tellWhy, whyOf } from "./timeline_texts.js";
import { scrolling } from "./timeline_scrolling.js";
import { fitted, fittedText, icon, iconButton, listen, lookedAt, meter, nextBlank, swatch, unlisten, words } from "./timeline_parts.js";
import { drawLines, WRITTEN } from "./timeline_lines.js";
import { pointing } from "./timeline_pointing.js";
import { changed, hall, legend, spoken, veiled } from "./timeline_hall.js";

const PLAY_MS = 700;

export default function ({ data, parentElement, setStateValue, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".timeline", { step: data.step, heard: { lastValue: data.step, pending: [] }, timers: {} });
  data.segments = data.segments.map(withDots);
  if (state.trace !== data.trace) { state.step = data.step; state.heard = { lastValue: data.step, pending: [] }; stop(); }
  else if (isNewValue(state.heard, data.step)) state.step = data.step; // the link, or the back button
  if (state.rowsTold !== data.rows) { state.rows = data.rows; state.rowsTold = data.rows; }
  Object.assign(state, { trace: data.trace, data, setStateValue, root, go, toggle, reveal });
  build();
  draw();
  if (first) listen(state);

  function go(step) {
    const last = state.data.target.length, to = Math.max(1, Math.min(last, step));
    if (to !== state.step) state.revealed = 0;
    state.step = to;
    draw();
    clearTimeout(state.timers.rest);
    state.timers.rest = setTimeout(tell, REST_MS);
  }

  function tell() {
    const { lastValue, pending } = state.heard;
    if (state.timers.play || state.step === (pending.at(-1) ?? lastValue)) return;
    pending.push(state.step);
    state.setStateValue("step", state.step);
  }

  function reveal(step) { state.revealed = step; draw(); }

  function arrange(rows) {
    state.rows = rows;
    state.rowsTold = rows;
    build();
    draw();
    state.setStateValue("rows", rows);
  }

  function stop() { clearInterval(state.timers.play); state.timers.play = null; }

  function toggle() {
    if (state.timers.play) { stop(); go(state.step); }
    else {
      if (state.step === state.data.target.length) state.step = 0;
      state.timers.play = setInterval(() => {
        if (state.step >= state.data.target.length) { stop(); go(state.step); } else go(state.step + 1);
      }, PLAY_MS);
      go(state.step + 1);
    }
    draw();
  }

  function build() {
    const { target, source, inputs: reads, own } = data;
    const french = element("div", "french");
    const line = element("div", "line");
    line.append(writeProbabilities(element("p", "finding"), (form) => data.finding.map((part) => (typeof part === "number" ? form(part) : part)).join("")), doubt(data.doubt, data.guess), element("span", "how", `${data.how}, ${data.scored} ${data.score}`), ...(data.draws && !data.hall && !offline ? [drawAgain()] : []));
    const text = element("div", "text");
    const paragraph = element("p", "said");
    paragraph.lang = data.code;
    text.append(paragraph);
    paragraph.setAttribute("aria-label", data.language);
    french.append(text, ...(data.hall ? changed(data.hall, data.guess) : [line]));

    const main = element("section", "main");
    main.setAttribute("aria-label", "Steps of decoding");
    const bar = element("div", "bar");
    const play = iconButton("btn play", "Play (space)", "play", () => state.toggle());
    play.append(element("span", "", "Play"));
    const range = element("input", "range");
    Object.assign(range, { type: "range", min: 1, max: target.length, value: state.step });
    range.setAttribute("aria-label", data.at);
    range.dataset.focus = "range";
    range.oninput = () => { stop(); state.go(Number(range.value)); };
    const blank = button("btn blank", "Next blank", () => { stop(); state.go(nextBlank(state, 1)); });
    Object.assign(blank, { title: "Next blank (Shift and right arrow; Shift and left arrow: the one before)" });
    blank.dataset.focus = "blank";
    const where = element("div", "where"), count = element("span", "count"), pair = element("div", "pair");
    count.append(`${data.at} `, element("b"), ` of ${target.length}`);
    where.append(count, pair);
    bar.append(
      iconButton("btn ends", "First step (Home)", "first", () => { stop(); state.go(1); }),
      iconButton("btn back", "One step back (left arrow)", "back", () => { stop(); state.go(state.step - 1); }), play,
      iconButton("btn forward", "One step forward (right arrow)", "forward", () => { stop(); state.go(state.step + 1); }),
      iconButton("btn ends", "Last step (End)", "last", () => { stop(); state.go(state.data.target.length); }), range, ...(data.blanks?.length > 1 ? [blank] : []), where);

    const frame = element("div", "frame");
    stateHeads(frame, ...Object.values(data.where)).dataset.picture = "What this step looks at";
    const scroll = element("div", "scroll"), rows = element("div", "rows");
    const shifted = state.rows !== "steps";
    const above = element("div", "label"), middle = element("div", "label middle", shifted ? data.title : data.above ? `${data.language} so far` : "Text so far"), below = element("div", "below"), foot = element("div", "foot");
    const kinds = excludeFromPicture(element("select", "kinds")), arrangements = Object.entries(data.arrangements);
    for (const [name, [text, , meaning]] of arrangements) kinds.append(Object.assign(element("option", "", text), { value: name, title: meaning, selected: state.rows === name }));
    kinds.setAttribute("aria-label", "Target rows");
    kinds.title = data.arrangements[state.rows][2];
    kinds.dataset.focus = "rows";
    kinds.onchange = () => arrange(kinds.value);
    if (arrangements.length > 1) middle.append(kinds); // else there is nothing to choose
    frame.classList.toggle("shifted", shifted);
    frame.classList.toggle("training", state.rows === "training");
    frame.classList.toggle("alone", !source.length);
    frame.classList.toggle("two", Boolean(data.sides?.length));
    if (data.hall) above.append(...legend(data, state.rows));
    else if (data.above) above.append(swatch("cross"), data.above);
    below.append(swatch(own), source.length ? data.arrangements[state.rows][1] : `${data.arrangements[state.rows][1]} (${data.where[data.own]})`);
    const sourceChips = element("div", "chips source"), targetChips = element("div", "chips target");
    words(sourceChips, source, (token, n) => {
      const chip = element("span", `chip${token.pad ? " pad" : ""}${token.rare ? " rare" : ""}${token.overlooked ? " overlooked" : ""}`, token.t);
      chip.dataset.point = `source ${n + 1}`;
      chip.append(element("span", "weight"));
      return chip;
    });
    const targetChip = (token, column) => {
      const chip = button("chip", token.t, () => { stop(); state.go(column); });
      chip.tabIndex = -1;
      chip.dataset.label = token.t;
      return chip;
    };
    const output = (token, n) => {
      const chip = targetChip(token, n);
      chip.dataset.point = `output ${n}`;
      chip.append(meter(data.probability[n - 1], data.before?.[n - 1]));
      chip.classList.toggle("given", n <= data.given);
      setTitle(chip, said(n - 1), wordAt(n - 1));
      return chip;
    };
    const beginning = { t: data.start, w: -1 };
    if (shifted) {
      target.forEach((token, n) => {
        const column = element("div", "column"), input = targetChip(reads[n], n + 1);
        setTitle(input, "", wordAt(n - 1));
        input.classList.add("input");
        input.dataset.point = `input ${n + 1}`;
        column.append(input, output(token, n + 1));
        if (data.sides?.length && data.sides[n] !== data.sides[n - 1]) column.dataset.side = data.sides[n];
        targetChips.append(column);
      });
    } else {
      words(targetChips, [beginning, ...target], (token, n) => {
        if (n) return output(token, n);
        const chip = targetChip(token, 1);
        chip.title = "The decoder's first input";
        chip.dataset.point = "input 1";
        return chip;
      });
    }
    rows.append(svgElement("svg", { "aria-hidden": "true" }), sourceChips, targetChips);
    pointing(state, rows, above);
    scroll.append(rows);
    foot.append(element("div", "why"), below);
    frame.append(above, middle, scroll, foot);
    scrolling(frame, scroll);
    main.append(bar, element("p", "unseen"), frame);
    hall(root, main, data.hall, target.length);

    pair.setAttribute("aria-live", "polite");
    const scrolled = root.querySelector(".scroll")?.scrollLeft || 0;
    const focused = focusOf(parentElement);
    root.replaceChildren(french, main);
    fitted(root);
    state.unfit = true;
    scroll.scrollLeft = scrolled;
    refocus(root, focused);
  }

  function drawAgain() {
    const again = button("link again", "Draw again", () => setTriggerValue("again", true));
    again.title = "The same text with the next seed";
    again.dataset.focus = "again";
    return again;
  }

  function wordAt(step) { return data.guess ? "" : data.words?.[step]; } // while guessing, its later pieces are secret

  function said(step) {
    const was = data.before?.[step], unsure = data.target[step].unsure ? `, under ${data.bar}: unsure` : "";
    const now = `${data.at} ${step + 1}: probability ${exactProbability(data.probability[step])}${unsure}`;
    return was == null ? now : `${now}, without the edits ${exactProbability(was)}`;
  }

  function draw() {
    const { data } = state, step = state.step - 1, atOnce = data.own === "encoder";
    const secret = data.guess && state.revealed !== state.step && (!atOnce || data.blanks.includes(step));
    state.hidden = secret;
    state.told = data.guess && atOnce ? veiled(data, state.revealed) : data;
    const looked = lookedAt(data, step);
    const find = (selector) => root.querySelector(selector), known = atOnce ? data.target.length : secret ? step : step + 1;
    const reads = data.inputs[step].t, predicts = secret ? "?" : data.target[step].t;
    const empty = !data.guess && !data.segments.join("").trim();
    find(".said").replaceChildren(...(empty ? [element("span", "todo", "(empty: it ends at once)")] : (atOnce ? spoken({ ...state.told, guess: false }, data.segments.length, step) : spoken(data, known, known - 1))));
    if (find(".finding")) find(".finding").hidden = Boolean(data.guess); // it names the answer
    if (state.unfit || data.guess) fittedText(root, !data.source.length && !data.guess);
    state.unfit = false;
    const text = find(".text"), here = find(".said .now") || find(".said .todo");
    const line = parseFloat(getComputedStyle(text).lineHeight), rows = Math.round((here.offsetTop - find(".said").offsetTop) / line);
    text.scrollTop = Math.max(0, rows - (text.clientHeight < 2 * line ? 0 : 1)) * line; // whole lines
    find(".range").value = state.step;
    find(".count b").textContent = state.step;
    find(".pair").replaceChildren(element("span", "", `${reads} → `), element("b", "", predicts));
    const playing = Boolean(state.timers.play), play = find(".play");
    play.replaceChildren(icon(playing ? "pause" : "play"), element("span", "", playing ? "Pause" : "Play"));
    play.setAttribute("aria-label", playing ? "Pause (space)" : "Play (space)");
    play.title = playing ? "Pause (space)" : "Play (space)";
    root.dataset.step = state.step;
    root.dataset.hidden = secret ? "token" : "";
    const why = offline ? { ...data.why[step], asked: false, to: null } : data.why[step]; // a file leads nowhere
    tellWhy(find(".why"), whyOf(why, state.step, looked.tokens, { kind: looked.kind, here: looked.weights, one: data.one, reason: offline ? null : data.reasons[step], guess: secret || data.guess }), setTriggerValue);
    publishStep(data.trace, state.step);

    const source = [...root.querySelectorAll(".source .chip")], target = [...root.querySelectorAll(".target .chip")];
    source.forEach((chip, j) => {
      const weight = data.cross[step][j];
      chip.style.background = data.crossTints[Math.round(weight * (data.crossTints.length - 1))];
      chip.classList.toggle("strong", weight > 0.3);
      chip.title = `${data.source[j].t}: weight ${exactProbability(weight)}${data.source[j].note ? `. ${data.source[j].note}` : ""}`;
      chip.querySelector(".weight").style.width = `${weight * 100}%`;
    });
    const heavy = looked.weights.map((weight, j) => [weight, j]).filter(([weight, j]) => weight > WRITTEN && (!data.guess || looked.kind !== "decoder" || j <= step)).sort((a, b) => b[0] - a[0]);
    find(".unseen").textContent = `The lines in words: ${reads} → ${predicts} looks at ${heavy.map(([weight, j]) => `${looked.tokens[j].t} ${exactProbability(weight)}`).join(", ") || "no token above 0.08"}.`;
    const hide = (chip, hidden) => { chip.firstChild.textContent = hidden ? "?" : chip.dataset.label; };
    const mark = (chip, n) => { // n: how many tokens were there when it was read, or said
      chip.classList.toggle("now", n === step || n === step + 1);
      chip.classList.toggle("todo", n > step + 1 && state.rows !== "training");
      hide(chip, data.guess && n > known);
      if (chip.lastChild.className !== "meter") return;
      const hidden = n > (state.rows === "training" && !data.guess ? Infinity : known);
      chip.lastChild.style.visibility = hidden ? "hidden" : "visible";
      chip.classList.toggle("unsure", !hidden && data.target[n - 1].unsure);
    };
    const inputs = root.querySelectorAll(".target .input"), outputs = [...root.querySelectorAll(".target .chip:not(.input)")];
    if (inputs.length) {
      inputs.forEach((chip, n) => { mark(chip, n); chip.classList.toggle("now", n === step); chip.classList.toggle("todo", n > step && state.rows !== "training"); });
      outputs.forEach((chip, n) => { mark(chip, n + 1); chip.classList.toggle("now", n === step); });
    } else target.forEach(mark);
    if (atOnce) outputs.forEach((chip, n) => { const { hidden } = state.told.target[n]; hide(chip, hidden); chip.lastChild.style.visibility = hidden ? "hidden" : "visible"; });
    state.tokens = inputs.length ? { source, inputs: [...inputs], outputs } : { source, inputs: target, outputs: target.slice(1) };
    state.known = () => (data.guess ? known : data.target.length);
    state.lines = (row, still) => drawLines(root, data, state.rows !== "steps", { ...state.tokens, reading: state.tokens.inputs[row], saying: state.tokens.outputs[row] }, row, still);
    state.lines(step);
  }

  return () => { stop(); clearTimeout(state.timers.rest); unlisten(state); unmountComponent(root); };
}
