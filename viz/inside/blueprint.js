// The architecture as a picture, and beside it one block in words and numbers. Nothing here makes markup from text.
// Pointing and arrow keys show a block and send nothing; a click or Enter keeps it.

import { truncate, svgElement, element, focusOf, mountComponent, onKeys, onResize, probability, refocus, unmountComponent, exactProbability } from "../kit/mount.js";
import { onPageKeys } from "../kit/page_keys.js";
import { cell, column, fitting, LARGE, short, wrapped } from "./blueprint_parts.js";
import { blockPanel, platePanel, shares } from "./blueprint_panel.js";

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".blueprint", { role: null, kind: data.kind, width: 0 });
  if (state.kind !== data.kind) Object.assign(state, { role: null, kind: data.kind });
  const box = element("div", "picture"), panel = element("section", "panel");
  panel.setAttribute("aria-live", "polite");
  root.classList.toggle("large", Boolean(data.large));
  root.replaceChildren(...(data.large ? [] : [element("p", "how", "The model as it is, from the bottom up: point at or tap a block for what it does, its shapes on this sentence and its parameters; click to keep it.")]), box, panel);
  const nodes = new Map(); // key -> [g, item]
  let current = null;
  draw();
  onResize(state, root, () => { if (Math.abs(root.clientWidth - state.width) > 1) draw(); });
  state.turn = turn;
  if (first) state.deaf = onPageKeys(".panel", (key) => state.turn(key));
  return () => { state.deaf(); unmountComponent(root); };

  function turn(key) { // in a lecture: from block to block, as the stream goes
    const by = { n: 1, p: -1 }[key], there = data.blocks.filter((block) => nodes.has(block.key)), at = there.indexOf(kept()) + by;
    if (!data.large || !by) return false;
    if (there[at]) choose(nodes.get(there[at].key)[1]);
    return true;
  }

  function role(block) { return `${block.column} ${block.kind} ${block.sublayer}`; }
  function kept() { // the block that is chosen: by its role, so that it stays the same one in another layer
    return data.blocks.find((block) => (state.role ? role(block) === state.role : block.site === data.kind)) || data.blocks[0];
  }

  // -- the picture -------------------------------------------------------------------------------------------------

  function draw() {
    if (!root.clientWidth) return; // on the way out
    const focused = focusOf(parentElement);
    state.width = root.clientWidth;
    const { large } = data, narrow = !large && state.width < 760, W = large ? LARGE.W : narrow ? state.width : state.width - 312, u = narrow ? 1.3 : 1;
    root.classList.toggle("narrow", narrow);
    const w = large ? LARGE.w : narrow ? Math.min(168, W / 2 - 64) : 172, left = large ? LARGE.left : narrow ? W / 4 : Math.min(150, W * 0.22), right = large ? LARGE.right : narrow ? (3 * W) / 4 : W * 0.695;
    const strip = { h: large ? 34 : 60 };
    const columns = ["encoder", "decoder"].filter((name) => data.layers[name].length).map((name, n, all) => column(data, name, { cx: all.length === 1 ? (narrow ? W / 2 : right) : n ? right : left, w, u, floor: 0, side: narrow ? W / 4 - 30 : large ? 164 : 152, large }));
    const memory = data.blocks.find((block) => block.kind === "memory"), out = 34;
    const top = Math.min(columns[0].top - (memory ? 44 : 0), columns.at(-1).top - out), H = strip.h - top;
    const svg = svgElement("svg", { width: W, height: H, viewBox: `0 ${top} ${W} ${H}`, role: "group", "aria-label": "The architecture. Arrow keys go from block to block, Enter keeps one, Tab goes on to its links." });
    const under = svgElement("g", { class: "wires" }), over = svgElement("g", {});
    svg.append(arrowHead(), under, over);
    nodes.clear();
    if (large) { // smaller where it is too high all the same
      const share = Math.min(1, root.clientHeight / H);
      Object.assign(svg.style, { width: `${W * share}px`, height: `${H * share}px` });
    }
    columns.forEach((col, n) => stack(col, columns.length === 1 || n, under, over, narrow));
    if (memory) remember(memory, columns, under, over, narrow);
    if (large) foot(columns, over, under);
    else strips(columns, strip, over, under, W, narrow);
    said(columns.at(-1), over, under, narrow);
    const free = columns.length === 1 ? -top : columns[0].top - (memory ? 46 : 16) - top;
    if (!narrow && !large && free > data.shares.length * 17 + 10) over.append(shares(data, top + 14, columns.at(-1).frame.x - 70));
    box.replaceChildren(svg);
    panel.style.maxHeight = narrow ? "none" : `${Math.max(560, H)}px`;
    mark();
    show(kept());
    const first = nodes.get(focused) || nodes.get(kept().key);
    first[0].tabIndex = 0;
    refocus(root, focused);
  }

  function arrowHead() {
    const defs = svgElement("defs", {}), marker = svgElement("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 6, markerHeight: 6, orient: "auto" });
    marker.append(svgElement("path", { d: "M0 0.5L8 4L0 7.5z", class: "tip" }));
    const green = marker.cloneNode(true);
    green.id = "tip-memory";
    green.firstChild.setAttribute("class", "tip memory");
    defs.append(marker, green);
    return defs;
  }

  function wire(parent, d, more = {}) { parent.append(svgElement("path", { d, "marker-end": "url(#tip)", ...more })); }

  function stack(col, n, under, over, narrow) {
    const { cx, frame } = col, side = n ? 1 : -1;
    over.append(svgElement("rect", { ...pick(frame), rx: 8, class: "frame" }));
    let from = 0;
    for (const item of col.placed) { // the stream, from one to the next
      const pad = item.plus ? item.plus[1] + 8 : item.y + item.h;
      if (item.plate) { wire(under, `M${cx} ${from}V${item.y + item.h}`, { "marker-end": "" }); from = item.y; continue; }
      wire(under, `M${cx} ${from}V${pad}`);
      from = item.plus ? item.plus[1] - 8 : item.y;
    }
    for (const arc of col.arcs) { // residual connections go round
      const x = cx + side * (frame.w / 2 - 10), r = 7;
      wire(under, `M${cx} ${arc.from}H${x - side * r}Q${x} ${arc.from} ${x} ${arc.from - r}V${arc.to + r}Q${x} ${arc.to} ${x - side * r} ${arc.to}H${cx + side * 9}`);
    }
    for (const item of col.placed) over.append(item.plate ? plate(item) : item.plus ? plus(item, cx, narrow) : body(item, narrow));
    const text = svgElement("text", { x: cx + side * -1 * (frame.w / 2 - 8), y: frame.y + 17, class: "layer", "text-anchor": side < 0 ? "end" : "start" }, narrow ? frame.text.replace(" of ", "/") : frame.text);
    over.append(text);
  }

  function pick({ x, y, w, h }) { return { x, y, width: w, height: h }; }

  function block(item, name, more = "") { // what can be pointed at, focused and clicked
    const g = svgElement("g", { role: "button", tabindex: -1, class: `block ${more}`, "aria-label": name });
    const { key } = item.block || item.plate;
    g.dataset.focus = key;
    nodes.set(key, [g, item]);
    g.onpointerenter = (event) => { if (event.pointerType !== "touch") show(item.block || item.plate); };
    g.onpointerleave = () => show(kept());
    g.onfocus = () => show(item.block || item.plate);
    g.onblur = (event) => { if (!panel.contains(event.relatedTarget)) show(kept()); };
    g.onclick = () => choose(item);
    onKeys(g, (key) => {
      if (key === "Enter" || key === " ") choose(item);
      else if (key.startsWith("Arrow")) walk(item, key.slice(5));
      else return false;
      return true;
    });
    return g;
  }

  function named(block) { return `${block.name}${block.layer ? `, ${block.column} layer ${block.layer}` : ""}`; }

  function body(item, narrow) {
    const { x, y, w, h, block: it } = item, g = block(item, named(it), `${it.kind} ${it.site || ""}`), small = it.kind === "norm";
    const count = narrow ? "" : it.shared ? "shared" : short(it.parameters), middle = y + h / 2 + 4;
    g.append(svgElement("rect", { ...pick(item), rx: small ? 4 : 6 }));
    g.append(svgElement("text", { x: count ? x + 10 : x + w / 2, y: middle, class: small ? "small" : "", "text-anchor": count ? "start" : "middle" }, narrow && w < 130 ? it.name.replace("Masked self-attention", "Masked self-att.").replace(" embedding", " emb.") : it.name));
    if (count) g.append(svgElement("text", { x: x + w - 10, y: middle, class: "count", "text-anchor": "end" }, count));
    return g;
  }

  function plus(item, cx, narrow) {
    const { block: it, plus: [px, py] } = item, g = block(item, named(it), it.kind);
    if (it.kind === "positions") {
      g.append(svgElement("path", { d: `M${item.x} ${py}H${px + 10}`, class: "lead", "marker-end": "url(#tip)" }));
      g.append(svgElement("rect", { x: item.x, y: py - 10, width: item.w, height: 20, rx: 4 }));
      const wave = [...Array(25).keys()].map((n) => `${n ? "L" : "M"}${item.x + 8 + n * 0.8} ${py - 4 * Math.sin(n / 3.8)}`).join("");
      if (!narrow && it.name.startsWith("Sin")) g.append(svgElement("path", { d: wave, class: "wave" }));
      g.append(svgElement("text", { x: item.x + (narrow ? item.w / 2 : it.name.startsWith("Sin") ? 34 : 10), y: py + 4, class: "small", "text-anchor": narrow ? "middle" : "start" }, narrow ? "Positions" : it.name));
    }
    g.append(svgElement("circle", { cx: px, cy: py, r: 12, class: "hit" }), svgElement("circle", { cx: px, cy: py, r: 7.5, class: "sum" }), svgElement("path", { d: `M${px - 4} ${py}H${px + 4}M${px} ${py - 4}V${py + 4}`, class: "cross-hair" }));
    return g;
  }

  function plate(item) {
    const { x, y, w, h, plate: it } = item, many = it.to > it.from, name = many ? `Layers ${it.from} to ${it.to}` : `Layer ${it.from}`;
    const g = block(item, `${name} of the ${it.column}: opens ${many ? `layer ${it.opens}` : "it"}`, "plate");
    g.append(svgElement("rect", { ...pick(item), rx: 4 }), svgElement("text", { x: x + 10, y: y + h / 2 + 4, class: "small" }, many ? `${name} (× ${it.to - it.from + 1})` : name));
    g.append(svgElement("text", { x: x + w - 10, y: y + h / 2 + 4, class: "count", "text-anchor": "end" }, short(it.parameters)));
    return g;
  }

  function remember(memory, [encoder, decoder], under, over, narrow) { // from the encoder's top to every cross-attention
    const y = encoder.top - 34, w = narrow ? 84 : 172, x = encoder.cx - w / 2, item = { block: memory, x, y, w, h: 22 };
    const rail = decoder.frame.x - (narrow ? 9 : 30), into = decoder.placed.find((p) => p.block?.site === "cross");
    const g = block(item, "Memory", "memory");
    g.append(svgElement("rect", { x, y, width: w, height: 22, rx: 11 }), svgElement("text", { x: narrow ? encoder.cx : x + 14, y: y + 15, "text-anchor": narrow ? "middle" : "start" }, "Memory"));
    if (!narrow) g.append(svgElement("text", { x: x + w - 12, y: y + 15, class: "count", "text-anchor": "end" }, `[${memory.shapes[0][2]}]`));
    over.append(g);
    wire(under, `M${encoder.cx} ${encoder.top}V${y + 22}`);
    const stops = decoder.placed.filter((p) => p.plate || p === into).map((p) => [p.x, p.y + p.h / 2, p === into]), low = Math.max(...stops.map((s) => s[1])), high = Math.min(y + 11, ...stops.map((s) => s[1]));
    under.append(svgElement("path", { d: `M${x + w} ${y + 11}H${rail}M${rail} ${high}V${low}`, class: "memory" }));
    for (const [to, at, main] of stops) wire(under, `M${rail} ${at}H${to}`, { class: main ? "memory" : "memory faint", "marker-end": "url(#tip-memory)" });
    if (!narrow) over.append(svgElement("text", { x: rail + (data.large ? 2 : 8), y: into.y + into.h / 2 - 5, class: "hint" }, "K, V"));
  }

  // -- the tokens --------------------------------------------------------------------------------------------------

  function strips(columns, strip, over, under, W, narrow) {
    const source = data.blocks.find((b) => b.key === "source_tokens"), target = data.blocks.find((b) => b.key === "target_tokens");
    const y = 12, alone = columns.length === 1, edge = alone ? W : narrow ? W / 2 - 6 : W * 0.42, h = strip.h - 14;
    if (source) reads(source, y, edge, h, over);
    if (target) says(target, y, alone ? 1 : narrow ? W / 2 + 2 : edge + 12, h, over, W, narrow);
    for (const { cx } of columns) under.append(svgElement("path", { d: `M${cx} ${y}V0`, class: "" }));
  }

  function foot(columns, over, under) { // in a lecture: what each stack reads, in a word
    columns.forEach(({ cx }, n) => {
      const encodes = columns.length > 1 ? !n : data.blocks.some((b) => b.key === "source_tokens"), it = data.blocks.find((b) => b.key === (encodes ? "source_tokens" : "target_tokens"));
      const name = encodes ? `${data.source.length} tokens` : truncate(data.inputs[data.step], 14), w = 130, item = { block: it, x: cx - w / 2, y: 10, w, h: 22 };
      const g = block(item, it.name, "strip");
      g.append(svgElement("rect", { ...pick(item), rx: 6 }), svgElement("text", { x: cx, y: 26, "text-anchor": "middle", class: encodes ? "" : "mono" }, name));
      over.append(g);
      wire(under, `M${cx} 10V0`);
    });
  }

  function reads(source, y, edge, h, over) { // the sentence
    const left = { block: source, x: 1, y, w: edge - 1, h };
    const g = block(left, `Inputs: ${data.source.length} tokens`, "strip");
    g.append(svgElement("rect", { ...pick(left), rx: 6 }));
    for (const [label, x, row, w] of wrapped(data.source, left.w - 12, 2)) g.append(token(label, left.x + 6 + x, y + 5 + row * 21, w));
    over.append(g, svgElement("text", { x: 2, y: 7, class: "hint" }, "Inputs"));
  }

  function says(target, y, start, h, over, W, narrow) { // what the decoder reads over what it predicts, around the step
    const right = { block: target, x: start, y, w: W - start - 1, h };
    const t = block(right, `Outputs, shifted right: step ${data.step + 1} reads ${data.inputs[data.step]} and predicts ${data.outputs[data.step]}`, "strip");
    const widths = data.inputs.map((label, n) => cell(label.length > data.outputs[n].length ? label : data.outputs[n]) + 3), room = narrow ? 6 : 56;
    const [from, to] = fitting(widths, data.step, right.w - room - 24);
    t.append(svgElement("rect", { ...pick(right), rx: 6 }));
    if (!narrow) t.append(svgElement("text", { x: start + 8, y: y + 16, class: "hint" }, "reads"), svgElement("text", { x: start + 8, y: y + 40, class: "hint" }, "predicts"));
    let x = start + room + 10;
    if (from > 0) t.append(svgElement("text", { x: x - 4, y: y + 28, class: "hint", "text-anchor": "end" }, "…"));
    for (let n = from; n < to; n++) {
      const w = widths[n] - 3;
      t.append(token(data.inputs[n], x, y + 2, w), token(data.outputs[n], x, y + 26, w));
      if (n + 1 < to) t.append(svgElement("path", { d: `M${x + w - 3} ${y + 27}L${x + w + 6} ${y + 20}`, class: "shift" }));
      if (n === data.step) t.append(svgElement("rect", { x: x - 1, y: y + 1, width: w + 2, height: h - 2, rx: 5, class: "pair" }));
      x += widths[n];
    }
    if (to < widths.length) t.append(svgElement("text", { x: x + 2, y: y + 28, class: "hint" }, "…"));
    over.append(t, svgElement("text", { x: start + 1, y: 7, class: "hint" }, narrow ? "Outputs, shifted" : "Outputs (shifted right)"));
  }

  function token(label, x, y, w) {
    const g = svgElement("g", { class: "token" });
    g.append(svgElement("text", { x: x + w / 2, y: y + 14, "text-anchor": "middle" }, truncate(label, 14)), svgElement("title", {}, label));
    return g;
  }

  function said(col, over, under, narrow) { // the token of this step, above the softmax
    const label = data.outputs[data.step], w = cell(label) + 4, y = col.top - 32;
    wire(under, `M${col.cx} ${col.top}V${y + 23}`);
    over.append(svgElement("rect", { x: col.cx - w / 2, y: y + 1, width: w, height: 22, rx: 5, class: "pair" }), token(label, col.cx - w / 2, y + 2, w));
    over.append(svgElement("text", { x: col.cx + (narrow ? -1 : 1) * (w / 2 + 8), y: y + 16, class: "hint", "text-anchor": narrow ? "end" : "start" }, `${probability(data.probability)}${data.at ? ` at ${data.at} ${data.step + 1}` : ""}`));
    over.lastChild.append(svgElement("title", {}, exactProbability(data.probability)));
  }

  // -- choosing ----------------------------------------------------------------------------------------------------

  function choose(item) {
    if (item.plate) { setTriggerValue("choose", { kind: data.kind, layer: item.plate.opens }); return; }
    const it = item.block;
    state.role = it.site ? null : role(it);
    if (it.site && it.site !== data.kind) { state.kind = it.site; setTriggerValue("choose", { kind: it.site, layer: it.layer }); data.kind = it.site; }
    mark();
    show(it);
    if (root.classList.contains("narrow")) panel.children[1]?.scrollIntoView({ block: "nearest" }); // it stands below
  }

  function mark() {
    const on = kept().key;
    for (const [key, [g]] of nodes) { g.classList.toggle("on", key === on); g.setAttribute("aria-pressed", key === on); g.tabIndex = key === on ? 0 : -1; }
  }

  function walk(item, way) { // to the nearest block that way
    const middle = ({ x, y, w, h, plus }) => (plus && plus[0] !== x ? plus : [x + w / 2, y + h / 2]), [x, y] = middle(item), up = way === "Up" ? -1 : way === "Down" ? 1 : 0, side = way === "Left" ? -1 : way === "Right" ? 1 : 0;
    let best = null, least = Infinity;
    for (const [g, other] of nodes.values()) {
      const [a, b] = middle(other), along = up ? (b - y) * up : (a - x) * side, across = up ? Math.abs(a - x) : Math.abs(b - y);
      const far = along + across * (up ? 4 : 2);
      if (along > 4 && (!up || across < 130) && far < least) [best, least] = [g, far];
    }
    if (!best) return;
    for (const [g] of nodes.values()) g.tabIndex = -1;
    best.tabIndex = 0;
    best.focus();
  }

  function show(it) {
    if (current === it && panel.firstChild) return;
    current = it;
    panel.replaceChildren(...(it.from ? platePanel(it) : blockPanel(offline ? { ...it, links: [] } : it, data, (to) => setTriggerValue("open", { to, key: it.key }))));
    panel.style.setProperty("--hue", it.site ? `var(--lab-${it.site})` : "var(--lab-border)");
  }
}
