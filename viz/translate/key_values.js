// The key-value cache after the step under view: every layer's row of tokens, with the cache and without. Stepping sends
// nothing: the timeline tells the step. Nothing here makes markup from text: textContent only.

import { svgElement, element, followStep, mountComponent, publishedStep, unmountComponent } from "../kit/mount.js";
import { grouped, held, labelled, numbers, row, sized, weighed } from "./key_values_parts.js";
import { onStageResize, stageSize } from "../kit/stage.js";

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".key-values"), now = publishedStep();
  if (state.trace !== data.trace) state.step = data.step;
  if (now?.trace === data.trace) state.step = now.step;
  Object.assign(state, { trace: data.trace, data, draw });
  root.classList.toggle("hall", data.large);
  draw();
  if (data.large) onStageResize(state, root, draw);
  if (first) {
    state.unfollow = followStep(({ trace, step }) => {
      if (trace !== state.data.trace || step === state.step) return;
      state.step = step;
      state.draw();
    });
  }
  return () => { state.unfollow(); unmountComponent(root); };

  function draw() {
    const { data } = state, step = Math.max(1, Math.min(state.step, data.reads.length));
    root.dataset.step = step;
    root.style.height = data.large ? `${stageSize(root).height}px` : "";
    state.size = sized(data.layers, data.large ? [root.clientWidth, root.clientHeight] : null);
    const title = element("p", "told"), both = element("div", "both"), sum = element("p", "sum");
    title.append(`Step ${step} reads `, element("b", "token", data.reads[step - 1]), `. ${step === 1 ? `Nothing${data.source ? " of the target" : ""} is kept yet.` : `The ${step - 1} before it ${step === 2 ? "is" : "are"} kept: their keys and values need not be computed again.`}`);
    both.append(side("With the cache", step, true), side("Without", step, false));
    sum.append(element("b", "", `${weighed(held(data, step))} kept after it. `), `${data.layers} layers × 2 × ${data.heads} heads × ${data.width} numbers × ${step} tokens × ${data.number} bytes = ${grouped(data.each * step)}`);
    if (data.source) sum.append(`; and ${grouped(data.source)} of the ${data.sources} source tokens, for cross-attention: these were there before step 1`);
    const table = element("table");
    for (const cells of numbers(data, step)) {
      const line = element("tr");
      cells.forEach((cell, n) => line.append(element(n ? "td" : "th", "", cell)));
      table.append(line);
    }
    table.rows[0].className = "head";
    if (data.begun) sum.append(`. The ${data.begun} tokens of the text are read in one pass either way: the first new token comes with step ${data.begun + 1}, and the table adds up from there.`);
    if (data.large) title.append(" ", element("b", "", `${weighed(held(data, step))} kept after it.`));
    root.replaceChildren(title, both, legend(), table, ...(data.large ? [] : [sum]));
  }

  function side(name, step, cached) {
    const { data, size: { width, height, gap } } = state, box = element("div", "side"), count = data.reads.length, one = width / count;
    const all = svgElement("svg", { viewBox: `0 0 ${width + 21} ${data.layers * (height + gap)}`, role: "img", "aria-label": `${name}: ${cached ? `${step - 1} of ${step} tokens are read from the cache, 1 is computed` : `all ${step} tokens are computed`}, in each of ${data.layers} layers` });
    for (let layer = 0; layer < data.layers; layer++) {
      const y = layer * (height + gap) + 1;
      if (labelled(layer, data.layers, height)) all.append(svgElement("text", { x: 14, y: y + height / 2 + 3, class: "layer" }, layer + 1));
      for (const [kind, from, to] of row(step, count, cached, data.window)) all.append(svgElement("rect", { x: 20 + from * one, y, width: (to - from) * one, height: height - 2, class: kind }));
      if (one > 4) for (let n = 1; n < count; n++) all.append(svgElement("line", { x1: 20 + n * one, x2: 20 + n * one, y1: y, y2: y + height - 2 }));
      all.append(svgElement("rect", { x: 20 + (step - 1) * one, y, width: one, height: height - 2, class: "now" }));
    }
    box.append(element("h3", "", name), all);
    return box;
  }

  function legend() {
    const line = element("p", "legend"), kinds = [["fresh", "key and value computed at this step"], ["kept", "read from the cache"]];
    if (state.data.window) kinds.push(["unread", "kept, but outside of the window"]);
    kinds.push(["todo", "not written yet"]);
    for (const [kind, text] of kinds) line.append(element("i", kind), element("span", "", text));
    return line;
  }
}
