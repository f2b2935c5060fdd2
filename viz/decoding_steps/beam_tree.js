// The tree of a decoding: a column for each step, rows by score. Nothing here makes markup from text: textContent only.
// Hovering and moving with the keys send nothing; a click, Enter or space says which path is to be looked at.

import { button, svgElement, element, focusOf, followStep, mountComponent, onKeys, refocus, publishedStep, unmountComponent, threeDigits } from "../kit/mount.js";
import { ancestors, beside, layout } from "./beam_tree_parts.js";

const PAGE_SIZES = { COLUMN: 92, ROW: 28, HEAD: 20, CHIP: 76 }, LARGE_SIZES = { COLUMN: 118, ROW: 38, HEAD: 24, CHIP: 100 }; // px, as beam_tree.css has them

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".tree", { left: 0 }), { nodes } = data, { COLUMN, ROW, HEAD, CHIP } = data.large ? LARGE_SIZES : PAGE_SIZES;
  root.classList.toggle("large", Boolean(data.large));
  const { rows, place, steps, most } = layout(nodes);
  const onPath = new Set(data.path), held = focusOf(parentElement);

  const scroll = element("div", "scroll"), plane = element("div", "plane");
  plane.setAttribute("role", "tree");
  plane.setAttribute("aria-label", `${data.leaves} ${data.leaves === 1 ? "path" : "paths"} over ${steps} steps. Arrow keys move, Enter shows a path.`);
  plane.style.width = `${steps * COLUMN + 8}px`;
  plane.style.height = `${HEAD + most * ROW + 4}px`;
  const svg = svgElement("svg", { width: steps * COLUMN, height: HEAD + most * ROW, "aria-hidden": "true" });
  plane.append(svg);
  for (let step = 1; step <= steps; step++) {
    const label = element("span", "step", step);
    label.dataset.step = step;
    label.style.left = `${(step - 1) * COLUMN}px`;
    plane.append(label);
  }
  const lines = [], chips = [];
  nodes.forEach((node, n) => {
    if (node.p !== null) {
      const x = (node.s - 2) * COLUMN + CHIP, to = (node.s - 1) * COLUMN, [y, end] = [node.p, n].map((each) => HEAD + (place[each] + 0.5) * ROW - 2);
      const line = svgElement("path", { d: `M${x} ${y} C${x + 10} ${y} ${to - 10} ${end} ${to} ${end}`, class: `${node.st === "pruned" ? "pruned " : ""}${onPath.has(n) ? "on" : ""}` });
      lines[n] = line;
      svg.append(line);
    }
    const chip = button(`node ${node.st}${onPath.has(n) ? " on" : ""}`, null, () => setTriggerValue("path", n));
    chip.setAttribute("role", "treeitem");
    chip.setAttribute("aria-label", `Step ${node.s}, ${node.t}, ${data.ends[node.st]}, score ${threeDigits(node.sc)}: ${node.x}`);
    if (onPath.has(n)) chip.setAttribute("aria-selected", "true");
    chip.dataset.focus = `node ${n}`;
    chip.tabIndex = n === (data.path[data.path.length - 1] ?? 0) ? 0 : -1;
    chip.style.left = `${(node.s - 1) * COLUMN}px`;
    chip.style.top = `${HEAD + place[n] * ROW}px`;
    chip.append(element("span", "token", node.t), element("span", "score", threeDigits(node.sc)));
    chip.onmouseenter = chip.onfocus = () => tell(n);
    chip.onmouseleave = chip.onblur = () => tell(null);
    onKeys(chip, (key) => move(key, n));
    chips.push(chip);
    plane.append(chip);
  });
  scroll.append(plane);
  const said = element("p", "said");
  said.setAttribute("aria-live", "polite");
  const list = element("ol", "list");
  const top = element("li", "head", `Log-probability${data.nodes[data.ended[0]]?.no == null ? "" : " → with the length penalty"}`);
  if (data.ended.length > 1) list.append(top);
  data.ended.forEach((n, rank) => {
    const item = element("li"), pick = button(`pick${n === data.path[data.path.length - 1] ? " on" : ""}`, null, () => setTriggerValue("whole", n));
    pick.dataset.focus = `pick ${rank}`;
    pick.setAttribute("aria-pressed", String(n === data.path[data.path.length - 1]));
    const { sc, no, x, st } = nodes[n];
    pick.append(element("span", "rank", rank + 1), element("span", "text", x || "(empty: it ends at once)"), element("span", "num", `${threeDigits(sc)}${no == null ? "" : ` → ${threeDigits(no)}`}${st === "limit" ? ", at the limit" : ""}`));
    pick.title = no == null ? "Summed log-probability" : "Summed log-probability → over the length penalty";
    pick.onmouseenter = pick.onfocus = () => tell(n);
    pick.onmouseleave = pick.onblur = () => tell(null);
    item.append(pick);
    list.append(item);
  });
  root.replaceChildren(scroll, said, ...(data.ended.length > 1 ? [list] : []));
  scroll.scrollLeft = state.left;
  refocus(root, held); // who chose by keys goes on by keys
  scroll.onscroll = () => { state.left = scroll.scrollLeft; };
  tell(null);
  state.follow = ({ step }) => {
    plane.querySelectorAll(".step").forEach((label) => label.classList.toggle("now", Number(label.dataset.step) === step));
    const at = (step - 1) * COLUMN;
    if (at < scroll.scrollLeft || at + CHIP > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = at - scroll.clientWidth / 2;
  };
  const now = data.large ? { step: data.step } : publishedStep(); // in a lecture, the timeline is another picture
  if (now) state.follow(now);
  if (first) state.unfollow = followStep((told) => state.follow(told));
  return () => { state.unfollow(); unmountComponent(root); };

  function tell(n) {
    const lit = new Set(n === null ? [] : ancestors(nodes, n));
    chips.forEach((chip, m) => chip.classList.toggle("lit", lit.has(m)));
    lines.forEach((line, m) => line?.classList.toggle("lit", lit.has(m)));
    const node = n === null ? null : nodes[n];
    said.textContent = node ? `${node.x}${node.st === "grown" ? " …" : ""} (${data.ends[node.st]}, score ${threeDigits(node.sc)}${node.no == null ? "" : `, with the length penalty ${threeDigits(node.no)}`})`
      : "A column is a step, the likelier path stands higher. Point at or tap a token for its text; click it, and everything follows this path.";
  }

  function move(key, n) {
    if (!/^(Arrow|Home$|End$)/.test(key)) return false;
    const to = beside(key, n, nodes, rows, place);
    if (to != null) { chips[to].focus(); chips[to].scrollIntoView({ block: "nearest", inline: "nearest" }); }
    return true;
  }
}
