// One trace, drawn step by step. Nothing here makes markup from text: textContent only.
// Mounted again with new data on the same node: `mounts` keeps what must live on between the calls.

const SVG = "http://www.w3.org/2000/svg";
const mounts = new WeakMap();
const REST_MS = 300; // after the last key the server hears of the step, once
const PLAY_MS = 700;
const WRITTEN = 0.08; // weights above this are printed

const ICONS = {
  first: "M2 2h2v10H2zM12 2v10L5 7z", back: "M10.5 2v10L3 7z", forward: "M3.5 2v10L11 7z", last: "M10 2h2v10h-2zM2 2v10l7-5z",
  play: "M3 1v12l9-6z", pause: "M2 2h4v10H2zM8 2h4v10H8z",
};

function element(tag, className, text) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text != null) node.textContent = text;
  return node;
}

function drawing(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const name in attributes) node.setAttribute(name, attributes[name]);
  if (text != null) node.textContent = text;
  return node;
}

function icon(name) {
  const svg = drawing("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" });
  svg.append(drawing("path", { d: ICONS[name] }));
  return svg;
}

function button(className, label, name, onClick) {
  const node = element("button", className);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.title = label;
  node.append(icon(name));
  node.onclick = onClick;
  return node;
}

const percent = (p) => (p >= 0.9995 && p < 1 ? "> 0.999" : p < 0.0005 && p > 0 ? "< 0.001" : p.toFixed(3));

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".timeline");
  const state = mounts.get(root) || { step: data.step, told: data.step, timers: {} };
  const first = !mounts.has(root);
  mounts.set(root, state);
  if (state.trace !== data.trace) { state.step = data.step; state.told = data.step; stop(); }
  else if (data.step !== state.told) { state.step = data.step; state.told = data.step; } // the link, or the back button
  Object.assign(state, { trace: data.trace, data, setStateValue, root, go, toggle });
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  build();
  draw();
  if (first) listen(state);

  function go(step) {
    const last = state.data.target.length;
    state.step = Math.max(1, Math.min(last, step));
    draw();
    clearTimeout(state.timers.rest);
    state.timers.rest = setTimeout(tell, REST_MS);
  }

  function tell() {
    if (state.timers.play || state.step === state.told) return;
    state.told = state.step;
    state.setStateValue("step", state.step);
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

    const grid = element("div", "grid"), main = element("section", "main"), side = element("section", "side");
    main.setAttribute("aria-label", "Steps of decoding");
    const bar = element("div", "bar");
    const play = button("btn play", "Play", "play", () => state.toggle());
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

    const scroll = element("div", "scroll"), rows = element("div", "rows");
    const above = element("div", "label"), middle = element("div", "label middle", "Target so far"), below = element("div", "label below");
    above.append(swatch("cross"), `Source, with the cross-attention of this row (${data.where})`);
    below.append(swatch("decoder"), `Decoder self-attention of this row (${data.where})`);
    const sourceChips = element("div", "chips source"), targetChips = element("div", "chips target");
    words(sourceChips, source, (token) => {
      const chip = element("span", `chip${token.pad ? " pad" : ""}${token.rare ? " rare" : ""}`, token.t);
      chip.append(element("span", "weight"));
      return chip;
    });
    words(targetChips, [{ t: data.start, w: -1 }, ...target], (token, n) => {
      const chip = element("button", "chip", token.t);
      chip.type = "button";
      chip.tabIndex = -1;
      if (n > 0) { chip.append(meter(n - 1)); chip.title = said(n - 1); chip.onclick = () => { stop(); state.go(n); }; }
      else chip.title = "The decoder's first input";
      return chip;
    });
    rows.append(drawing("svg", { "aria-hidden": "true" }), sourceChips, targetChips);
    scroll.append(rows);
    const frame = element("div", "frame");
    frame.append(above, middle, below, scroll);
    main.append(bar, frame);

    const how = element("p", "how wide");
    how.append("One row of the maps: it reads ", element("b", "mono reads"), ", predicts ", element("b", "mono predicts"),
      ". Thick line: much weight. Bar under a token: its probability.");
    pair.setAttribute("aria-live", "polite");
    side.append(element("h2", "", "Likeliest next tokens"), element("div", "cand"), element("p", "how rest"), how);
    grid.append(main, side);
    const scrolled = root.querySelector(".scroll")?.scrollLeft || 0;
    const focused = parentElement.activeElement?.getAttribute?.("aria-label");
    root.replaceChildren(french, grid);
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
    const { data } = state, step = state.step - 1;
    const find = (selector) => root.querySelector(selector);
    const reads = step ? data.target[step - 1].t : data.start, predicts = data.target[step].t;
    find(".said").replaceChildren(data.segments.slice(0, step + 1).join(""),
      element("span", "todo", data.segments.slice(step + 1).join("")));
    const text = find(".text"), todo = find(".said .todo");
    text.scrollTop = Math.max(0, todo.offsetTop - text.offsetTop - 28);
    find(".range").value = state.step;
    find(".count b").textContent = state.step;
    find(".pair").replaceChildren(element("span", "", `${reads} → `), element("b", "", predicts));
    find(".reads").textContent = reads;
    find(".predicts").textContent = predicts;
    const playing = Boolean(state.timers.play), play = find(".play");
    play.replaceChildren(icon(playing ? "pause" : "play"), element("span", "", playing ? "Pause" : "Play"));
    play.setAttribute("aria-label", playing ? "Pause" : "Play");
    play.title = playing ? "Pause" : "Play";
    root.dataset.step = state.step;

    const source = [...root.querySelectorAll(".source .chip")], target = [...root.querySelectorAll(".target .chip")];
    source.forEach((chip, j) => {
      const weight = data.cross[step][j];
      chip.style.background = data.crossScale[Math.round(weight * 0.55 * (data.crossScale.length - 1))];
      chip.classList.toggle("strong", weight > 0.3);
      chip.title = `${data.source[j].t}: weight ${percent(weight)}${data.source[j].rare ? ". Hardly seen in training." : ""}`;
      chip.querySelector(".weight").style.width = `${weight * 100}%`;
    });
    target.forEach((chip, n) => {
      chip.classList.toggle("now", n === step || n === step + 1);
      chip.classList.toggle("todo", n > step + 1);
      if (n > 0) chip.querySelector(".meter").style.visibility = n > step + 1 ? "hidden" : "visible";
    });
    drawLines(source, target, step);
    drawCandidates(step, reads, predicts);
  }

  function drawLines(source, target, step) {
    const { data } = state, rows = root.querySelector(".rows"), svg = root.querySelector(".rows svg");
    svg.replaceChildren();
    const box = rows.getBoundingClientRect();
    if (!box.width || getComputedStyle(svg).display === "none") return;
    const place = (chip) => { const r = chip.getBoundingClientRect(); return { left: r.left - box.left, right: r.right - box.left, top: r.top - box.top, bottom: r.bottom - box.top }; };
    const from = place(target[step]), to = place(target[step + 1]);
    const x = (from.left + to.right) / 2, top = from.top - 4, bottom = from.bottom + 9;
    const style = (weight, site) => ({ fill: "none", stroke: `var(--lab-${site})`, "stroke-width": 0.75 + 9 * weight, "stroke-opacity": Math.min(1, 0.12 + 1.6 * weight) });
    const write = (weight, at, y, site) => svg.append(drawing("text", { x: at, y, "text-anchor": "middle", fill: `var(--lab-${site}-ink)` }, weight.toFixed(2)));
    const order = (weights) => weights.map((weight, j) => [weight, j]).sort((a, b) => a[0] - b[0]);
    for (const [weight, j] of order(data.cross[step])) {
      const chip = place(source[j]), at = (chip.left + chip.right) / 2;
      svg.append(drawing("path", { d: `M${x} ${top}C${x} ${top - 38} ${at} ${chip.bottom + 48} ${at} ${chip.bottom + 2}`, ...style(weight, "cross") }));
      if (weight > WRITTEN) write(weight, at, chip.bottom + 17, "cross");
    }
    const seen = order(data.decoder[step]).filter(([, j]) => data.allowed[step][j]);
    for (const [weight, j] of seen) {
      if (j === step) continue; // the token that is read looks at itself: both ends are in the frame
      const chip = place(target[j]), at = (chip.left + chip.right) / 2, depth = Math.min(46, 14 + Math.abs(at - x) * 0.1);
      svg.append(drawing("path", { d: `M${x} ${bottom}C${x} ${bottom + depth} ${at} ${bottom + depth} ${at} ${chip.bottom + 8}`, ...style(weight, "decoder") }));
    }
    for (const [weight, j] of seen.slice(-2)) {
      const chip = place(target[j]);
      if (weight > WRITTEN) write(weight, (chip.left + chip.right) / 2, chip.bottom + 24, "decoder");
    }
    svg.append(drawing("rect", { x: from.left - 3, y: from.top - 3, width: to.right - from.left + 6, height: from.bottom - from.top + 13, rx: 7, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
    const scroll = root.querySelector(".scroll");
    if (scroll.scrollWidth > scroll.clientWidth) scroll.scrollLeft = x - scroll.clientWidth / 2;
  }

  function drawCandidates(step, reads, predicts) {
    const { data } = state, box = root.querySelector(".cand"), shown = [...data.candidates[step]];
    if (!shown.some(([, , on]) => on)) shown.splice(-1, 1, [data.chosen[step], data.probability[step], true]);
    box.replaceChildren();
    let sum = 0;
    for (const [piece, p, on] of shown) {
      sum += p;
      const token = element("span", on ? "t on" : "t"), bar = element("span", on ? "b on" : "b");
      if (piece.length > 1 && piece[0] === "·") token.append(element("s", "", "·"), piece.slice(1));
      else token.append(piece);
      token.title = piece[0] === "·" ? "· stands for the space before a word" : "";
      bar.style.width = `${p * 100}%`;
      box.append(token, bar, element("span", "n", percent(p)));
    }
    root.querySelector(".rest").textContent = `All other tokens together: ${percent(Math.max(0, 1 - sum))}`;
  }

  return () => { stop(); clearTimeout(state.timers.rest); unlisten(state); mounts.delete(root); };
}

async function copyLink(node) {
  try {
    await navigator.clipboard.writeText(window.location.href);
    node.textContent = "Copied";
  } catch {
    node.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { node.textContent = "Copy link"; }, 1500);
}

// Arrow keys, home and end step wherever the focus is, except where they mean something else already.
function listen(state) {
  const keys = { ArrowLeft: () => state.step - 1, ArrowRight: () => state.step + 1, Home: () => 1, End: () => state.data.target.length };
  state.onKey = (event) => {
    const at = event.composedPath()[0];
    if (event.key === "Enter" && at.tagName === "INPUT") setTimeout(() => at.blur(), 50); // what follows is meant for the steps
    if (!keys[event.key] || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && !/^(checkbox|radio|range)$/.test(at.type)) return;
    if (at.closest?.("[role=slider],[role=listbox],[role=menu],[role=tablist],[role=combobox]")) return;
    if (at.type === "range" && at.className !== "range") return;
    event.preventDefault();
    event.stopPropagation();
    clearInterval(state.timers.play);
    state.timers.play = null;
    state.go(keys[event.key]());
  };
  document.addEventListener("keydown", state.onKey, true); // before a group of buttons takes the arrows
  state.resize = new ResizeObserver(() => state.go && redraw(state));
  state.resize.observe(state.root);
  document.fonts?.ready.then(() => { state.width = null; redraw(state); }); // lines end at the chips as they are set then
}

function redraw(state) {
  const width = state.root.getBoundingClientRect().width;
  if (width === state.width) return;
  state.width = width;
  const scroll = state.root.querySelector(".scroll");
  scroll.classList.remove("tight");
  scroll.classList.toggle("tight", scroll.scrollWidth > scroll.clientWidth);
  clearTimeout(state.timers.rest);
  state.go(state.step);
}

function unlisten(state) {
  document.removeEventListener("keydown", state.onKey, true);
  state.resize?.disconnect();
}
