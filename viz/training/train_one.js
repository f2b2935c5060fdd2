// A small training: its curves, and three examples with what the model writes and one head's map of each.

import { chartNode } from "../kit/chart_canvas.js";
import { button, element, focusOf, headName, mountComponent, onResize, refocus, unmountComponent, withDots } from "../kit/mount.js";
import { excludeFromPicture, markPicture } from "../kit/pen.js";
import { oneMap } from "./player_parts.js";

const CURVE_HEIGHT = 150; // px

export default function ({ data, parentElement }) {
  const { root, state } = mountComponent({ data, parentElement }, ".train-one", { chosen: null });
  if (state.id !== data.id) Object.assign(state, { id: data.id, chosen: null });
  state.data = data;
  onResize(state, root, () => { if (root.clientWidth !== state.width) draw(root, state); });
  draw(root, state);
  return () => unmountComponent(root);
}

// Returns the mean over all rows of the largest weight of each head, and the place of the head with the largest mean.
export function sharpest(examples) {
  const { places } = examples[0].grid, means = places.map(() => 0);
  let rows = 0;
  for (const { grid: { raw, shape: [queries, keys] } } of examples) {
    rows += queries;
    places.forEach((_, n) => { for (let i = 0; i < queries; i++) means[n] += Math.max(...raw.subarray((n * queries + i) * keys, (n * queries + i + 1) * keys)) / 255; });
  }
  const best = means.indexOf(Math.max(...means));
  return { layer: places[best][0], head: places[best][1], weight: means[best] / rows };
}

const levelsIn = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));

function draw(root, state) {
  const { data } = state, focused = focusOf(root.getRootNode()), examples = data.examples.map((each) => ({ ...each, grid: { ...each.grid, raw: levelsIn(each.grid.levels) } }));
  state.width = root.clientWidth;
  root.classList.toggle("large", data.large);
  const curves = element("div", "curves"), nodes = [curves];
  const sections = data.charts.map(({ title }) => {
    const section = markPicture(element("section", "curve"), title);
    section.append(element("h2", "", title));
    curves.append(section);
    return section;
  });
  const best = examples.length ? sharpest(examples) : null, chosen = state.chosen ?? best, drawn = [];
  if (best) {
    const box = element("div", "examples");
    nodes.push(headButtons(root, state, examples[0].grid.places, chosen, best), box);
    for (const { source, target, written, grid } of examples) {
      const part = markPicture(element("section", "example"), `Example ${source}`);
      part.append(pairLine(source, target, written));
      box.append(part);
      drawn.push([part, grid]);
    }
  }
  root.replaceChildren(...nodes);
  sections.forEach((section, n) => {
    const { figure, title } = data.charts[n];
    section.append(chartNode({ ...figure, layout: { ...figure.layout, showlegend: false, height: CURVE_HEIGHT } }, { root, width: section.clientWidth, height: CURVE_HEIGHT, alt: title }));
  });
  for (const [part, grid] of drawn) {
    const map = oneMap(part, grid, { ...data, chosen, large: false }, root);
    map.settle();
    map.draw(0);
  }
  refocus(root, focused);
}

function pairLine(source, target, written) {
  const line = element("p", `pair${written === target ? " right" : ""}`);
  line.append(`${source} → `, element("b", "", withDots(written) || "(nothing)"));
  if (written !== target) line.append(element("small", "", `right: ${target}`));
  return line;
}

function headButtons(root, state, places, chosen, best) {
  const box = excludeFromPicture(element("div", "heads"), true);
  box.append(element("p", "", "Cross-attention, while it reads the right answer, of"));
  for (const [layer, head] of places) {
    const name = headName("cross", layer, head), isBest = layer === best.layer && head === best.head;
    const node = button("btn", isBest ? `${name}, sharpest` : name, () => { state.chosen = { layer, head }; draw(root, state); });
    node.setAttribute("aria-pressed", String(layer === chosen.layer && head === chosen.head));
    node.title = isBest ? `The mean of the largest weight of each row is ${best.weight.toFixed(2)}, the largest of all heads.` : "";
    node.dataset.focus = name;
    box.append(node);
  }
  return box;
}
