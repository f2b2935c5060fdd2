// One trace, drawn step by step. Nothing here makes markup from text: textContent only.
// Mounted again with new data on the same node: `mounts` keeps what must live on between the calls.

const mounts = new WeakMap();
const REST_MS = 300; // after the last key the server hears of the step, once
const PLAY_MS = 700;
const WRITTEN = 0.08; // weights above this are printed
const ROWS = {
  steps: ["One row", "Decoder self-attention of this row"],
  shifted: ["Shifted", "One by one: what a column says below, the next column reads above"],
  training: ["Training", "At once: the reference, shifted right by one, is read by every column; none waits for another"],
};

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".timeline");
  const state = mounts.get(root) || { step: data.step, told: data.step, timers: {} };
  const first = !mounts.has(root);
  mounts.set(root, state);
  if (state.trace !== data.trace) { state.step = data.step; state.told = data.step; stop(); }
  else if (data.step !== state.told) { state.step = data.step; state.told = data.step; } // the link, or the back button
  if (state.rowsTold !== data.rows) { state.rows = data.rows; state.rowsTold = data.rows; }
  Object.assign(state, { trace: data.trace, data, setStateValue, root, go, toggle, reveal });
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
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
    if (state.timers.play || state.step === state.told) return;
    state.told = state.step;
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
    const { target, source } = data;
    const french = element("div", "french");
    const line = element("div", "line");
    const copy = element("button", "link copy", "Copy link");
    copy.type = "button";
    copy.onclick = () => copyLink(copy);
    line.append(element("h2", "", data.language), element("span", "", `${data.how}, log-probability ${data.score}`), copy);
    const text = element("div", "text");
    const paragraph = element("p", "said");
    paragraph.lang = data.code;
    text.append(paragraph);
    french.append(line, text);

    const main = element("section", "main");
    main.setAttribute("aria-label", "Steps of decoding");
    const bar = element("div", "bar");
    const play = button("btn play", "Play (space)", "play", () => state.toggle());
    play.append(element("span", "", "Play"));
    const range = element("input", "range");
    Object.assign(range, { type: "range", min: 1, max: target.length, value: state.step });
    range.setAttribute("aria-label", "Step");
    range.oninput = () => { stop(); state.go(Number(range.value)); };
    const where = element("div", "where"), count = element("span", "count"), pair = element("div", "pair");
    count.append("Step ", element("b"), ` of ${target.length}`);
    where.append(count, pair);
    bar.append(
      button("btn ends", "First step (Home)", "first", () => { stop(); state.go(1); }),
      button("btn back", "One step back (left arrow)", "back", () => { stop(); state.go(state.step - 1); }), play,
      button("btn forward", "One step forward (right arrow)", "forward", () => { stop(); state.go(state.step + 1); }),
      button("btn ends", "Last step (End)", "last", () => { stop(); state.go(state.data.target.length); }), range, where);

    const frame = element("div", "frame");
    const scroll = element("div", "scroll"), rows = element("div", "rows");
    const shifted = state.rows !== "steps";
    const above = element("div", "label"), middle = element("div", "label middle", shifted ? "Inputs over outputs" : "Target so far"), below = element("div", "label below");
    const kinds = element("span", "kinds");
    kinds.setAttribute("role", "group");
    kinds.setAttribute("aria-label", "Target rows");
    for (const rows in ROWS) {
      const kind = element("button", "kind", ROWS[rows][0]);
      kind.type = "button";
      kind.title = ROWS[rows][1];
      kind.setAttribute("aria-label", `Target rows: ${ROWS[rows][0]}`);
      kind.setAttribute("aria-pressed", String(state.rows === rows));
      kind.onclick = () => arrange(rows);
      kinds.append(kind);
    }
    middle.append(kinds);
    frame.classList.toggle("shifted", shifted);
    frame.classList.toggle("training", state.rows === "training");
    above.append(swatch("cross"), `Source, with the cross-attention of this row (${data.where})`);
    below.append(swatch("decoder"), ROWS[state.rows][1] + (shifted ? "" : ` (${data.where})`));
    const sourceChips = element("div", "chips source"), targetChips = element("div", "chips target");
    words(sourceChips, source, (token) => {
      const chip = element("span", `chip${token.pad ? " pad" : ""}${token.rare ? " rare" : ""}`, token.t);
      chip.append(element("span", "weight"));
      return chip;
    });
    const targetChip = (token, n, column) => {
      const chip = element("button", "chip", token.t);
      chip.type = "button";
      chip.tabIndex = -1;
      chip.dataset.label = token.t;
      chip.onclick = () => { stop(); state.go(column); };
      return chip;
    };
    const output = (token, n) => {
      const chip = targetChip(token, n, n);
      chip.append(meter(n - 1));
      chip.title = said(n - 1);
      return chip;
    };
    const beginning = { t: data.start, w: -1 };
    if (shifted) {
      target.forEach((token, n) => {
        const column = element("div", "column"), input = targetChip(n ? target[n - 1] : beginning, n, n + 1);
        input.classList.add("input");
        column.append(input, output(token, n + 1));
        targetChips.append(column);
      });
    } else {
      words(targetChips, [beginning, ...target], (token, n) => {
        if (n) return output(token, n);
        const chip = targetChip(token, 0, 1);
        chip.title = "The decoder's first input";
        return chip;
      });
    }
    rows.append(drawing("svg", { "aria-hidden": "true" }), sourceChips, targetChips);
    scroll.append(rows);
    frame.append(above, middle, below, scroll);
    main.append(bar, element("p", "unseen"), frame);

    pair.setAttribute("aria-live", "polite");
    const scrolled = root.querySelector(".scroll")?.scrollLeft || 0;
    const focused = parentElement.activeElement?.getAttribute?.("aria-label");
    root.replaceChildren(french, main);
    scroll.classList.toggle("tight", scroll.scrollWidth > scroll.clientWidth);
    scroll.scrollLeft = scrolled;
    if (focused) [...root.querySelectorAll("[aria-label]")].find((n) => n.getAttribute("aria-label") === focused)?.focus();
  }

  function swatch(site) {
    const node = element("i");
    node.style.background = `var(--lab-${site})`;
    return node;
  }

  function words(box, tokens, make) {
    let group, last;
    tokens.forEach((token, n) => {
      if (!group || token.w !== last) { group = element("span", "word"); box.append(group); last = token.w; }
      group.append(make(token, n));
    });
  }

  function meter(step) {
    const p = data.probability[step], was = data.before?.[step], node = element("span", "meter");
    const add = (className, from, to) => {
      const part = element("i", className);
      part.style.left = `${from * 100}%`;
      part.style.width = `${Math.max(0, to - from) * 100}%`;
      node.append(part);
    };
    add("", 0, was == null ? p : Math.min(p, was));
    if (was != null && was > p) add("lost", p, was);
    if (was != null && was < p) add("won", was, p);
    return node;
  }

  function said(step) {
    const was = data.before?.[step], now = `Step ${step + 1}: probability ${percent(data.probability[step])}`;
    return was == null ? now : `${now}, without the edits ${percent(was)}`;
  }

  function draw() {
    const { data } = state, step = state.step - 1, secret = data.guess && state.revealed !== state.step;
    const find = (selector) => root.querySelector(selector), known = secret ? step : step + 1;
    const reads = step ? data.target[step - 1].t : data.start, predicts = secret ? "?" : data.target[step].t;
    const empty = !data.guess && !data.segments.join("").trim();
    find(".said").replaceChildren(empty ? element("span", "todo", "(empty: it ends at once)") : data.segments.slice(0, known).join(""),
      element("span", "todo", data.guess ? "" : data.segments.slice(known).join("")));
    const text = find(".text"), todo = find(".said .todo");
    text.scrollTop = Math.max(0, todo.offsetTop - text.offsetTop - 28);
    find(".range").value = state.step;
    find(".count b").textContent = state.step;
    find(".pair").replaceChildren(element("span", "", `${reads} → `), element("b", "", predicts));
    const playing = Boolean(state.timers.play), play = find(".play");
    play.replaceChildren(icon(playing ? "pause" : "play"), element("span", "", playing ? "Pause" : "Play"));
    play.setAttribute("aria-label", playing ? "Pause (space)" : "Play (space)");
    play.title = playing ? "Pause (space)" : "Play (space)";
    root.dataset.step = state.step;
    document.documentElement.dataset.attentionLabStep = `${data.trace} ${state.step}`;
    document.dispatchEvent(new CustomEvent(STEP, { detail: { trace: data.trace, step: state.step } }));

    const source = [...root.querySelectorAll(".source .chip")], target = [...root.querySelectorAll(".target .chip")];
    source.forEach((chip, j) => {
      const weight = data.cross[step][j];
      chip.style.background = data.crossTints[Math.round(weight * (data.crossTints.length - 1))];
      chip.classList.toggle("strong", weight > 0.3);
      chip.title = `${data.source[j].t}: weight ${percent(weight)}${data.source[j].rare ? ". Hardly seen in training." : ""}`;
      chip.querySelector(".weight").style.width = `${weight * 100}%`;
    });
    const heavy = data.cross[step].map((weight, j) => [weight, j]).filter(([weight]) => weight > WRITTEN).sort((a, b) => b[0] - a[0]);
    find(".unseen").textContent = `The lines in words: ${reads} → ${predicts} looks at ${heavy.map(([weight, j]) => `${data.source[j].t} ${percent(weight)}`).join(", ") || "no token above 0.08"}.`;
    const hide = (chip, hidden) => { chip.firstChild.textContent = hidden ? "?" : chip.dataset.label; };
    const mark = (chip, n) => { // n: how many tokens were there when it was read, or said
      chip.classList.toggle("now", n === step || n === step + 1);
      chip.classList.toggle("todo", n > step + 1 && state.rows !== "training");
      hide(chip, data.guess && n > known);
      if (chip.lastChild.className === "meter") chip.lastChild.style.visibility = n > (state.rows === "training" && !data.guess ? Infinity : known) ? "hidden" : "visible";
    };
    const inputs = root.querySelectorAll(".target .input"), outputs = [...root.querySelectorAll(".target .chip:not(.input)")];
    if (inputs.length) {
      inputs.forEach((chip, n) => { mark(chip, n); chip.classList.toggle("now", n === step); chip.classList.toggle("todo", n > step && state.rows !== "training"); });
      outputs.forEach((chip, n) => { mark(chip, n + 1); chip.classList.toggle("now", n === step); });
      drawLines(source, [...inputs], inputs[step], outputs[step], step);
    } else {
      target.forEach(mark);
      drawLines(source, target, target[step], target[step + 1], step);
    }
  }

  function drawLines(source, inputs, reading, saying, step) {
    const { data } = state, rows = root.querySelector(".rows"), svg = root.querySelector(".rows svg"), shifted = state.rows !== "steps";
    svg.replaceChildren();
    const box = rows.getBoundingClientRect();
    if (!box.width || getComputedStyle(svg).display === "none") return;
    const place = (chip) => { const r = chip.getBoundingClientRect(); return { left: r.left - box.left, right: r.right - box.left, top: r.top - box.top, bottom: r.bottom - box.top, x: (r.left + r.right) / 2 - box.left }; };
    const from = place(reading), to = place(saying);
    const x = shifted ? from.x : (from.left + to.right) / 2, top = from.top - 4, bottom = from.bottom + 9;
    const style = (weight, site) => ({ fill: "none", stroke: `var(--lab-${site})`, "stroke-width": 0.75 + 9 * weight, "stroke-opacity": Math.min(1, 0.12 + 1.6 * weight) });
    const write = (weight, at, y, site) => svg.append(drawing("text", { x: at, y, "text-anchor": "middle", fill: `var(--lab-${site}-ink)` }, weight.toFixed(2)));
    const order = (weights) => weights.map((weight, j) => [weight, j]).sort((a, b) => a[0] - b[0]);
    for (const [weight, j] of order(data.cross[step])) {
      const chip = place(source[j]);
      svg.append(drawing("path", { d: `M${x} ${top}C${x} ${top - 38} ${chip.x} ${chip.bottom + 48} ${chip.x} ${chip.bottom + 2}`, ...style(weight, "cross") }));
      if (weight > WRITTEN) write(weight, chip.x, chip.bottom + 17, "cross");
    }
    const seen = order(data.decoder[step]).filter(([, j]) => data.allowed[step][j]);
    for (const [weight, j] of seen) {
      if (j >= inputs.length) continue;
      const chip = place(inputs[j]);
      if (shifted) {
        svg.append(drawing("path", { d: `M${to.x} ${to.top - 3}C${to.x} ${to.top - 18} ${chip.x} ${chip.bottom + 18} ${chip.x} ${chip.bottom + 3}`, ...style(weight, "decoder") }));
      } else if (j !== step) { // the token that is read looks at itself: both ends are in the frame
        const depth = Math.min(46, 14 + Math.abs(chip.x - x) * 0.1);
        svg.append(drawing("path", { d: `M${x} ${bottom}C${x} ${bottom + depth} ${chip.x} ${bottom + depth} ${chip.x} ${chip.bottom + 8}`, ...style(weight, "decoder") }));
      }
    }
    for (const [weight, j] of seen.slice(-2)) if (weight > WRITTEN && j < inputs.length) {
      const chip = place(inputs[j]);
      write(weight, chip.x, chip.bottom + (shifted ? 15 : 24), "decoder");
    }
    const frame = shifted ? { left: Math.min(from.left, to.left), right: Math.max(from.right, to.right), bottom: to.bottom } : { left: from.left, right: to.right, bottom: from.bottom };
    svg.append(drawing("rect", { x: frame.left - 3, y: from.top - 3, width: frame.right - frame.left + 6, height: frame.bottom - from.top + 13, rx: 7, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
    const scroll = root.querySelector(".scroll");
    if (scroll.scrollWidth > scroll.clientWidth) scroll.scrollLeft = x - scroll.clientWidth / 2;
  }

  return () => { stop(); clearTimeout(state.timers.rest); unlisten(state); mounts.delete(root); };
}
