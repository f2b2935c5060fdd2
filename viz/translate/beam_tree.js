// The tree of a decoding: a column for each step, rows by score. Nothing here makes markup from text: textContent only.
// Hovering and moving with the keys send nothing; a click, Enter or space says which path is to be looked at.

const mounts = new WeakMap();
const COLUMN = 92, ROW = 28, HEAD = 20, CHIP = 76;

const signed = (v) => `${v < 0 ? "−" : ""}${Math.abs(v).toFixed(2)}`;
const ENDS = { finished: "finished", limit: "stopped at the limit", pruned: "given up", grown: "goes on" };

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".tree"), { nodes } = data;
  const state = mounts.get(root) || { left: 0 };
  mounts.set(root, state);
  for (const name in data.style) root.style.setProperty(name, data.style[name]);

  const rows = [], place = [];
  nodes.forEach((node, n) => { (rows[node.s] ||= []).push(n); });
  rows.forEach((column) => column.sort((a, b) => nodes[b].sc - nodes[a].sc).forEach((n, row) => { place[n] = row; }));
  const steps = rows.length - 1, most = Math.max(...rows.filter(Boolean).map((column) => column.length));
  const onPath = new Set(data.path), { node: held, pick: heldPick } = parentElement.activeElement?.dataset || {};

  const scroll = element("div", "scroll"), plane = element("div", "plane");
  plane.setAttribute("role", "tree");
  plane.setAttribute("aria-label", `${data.leaves} paths over ${steps} steps. Arrow keys move, Enter shows a path.`);
  plane.style.width = `${steps * COLUMN + 8}px`;
  plane.style.height = `${HEAD + most * ROW + 4}px`;
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("width", steps * COLUMN);
  svg.setAttribute("height", HEAD + most * ROW);
  svg.setAttribute("aria-hidden", "true");
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
      const line = document.createElementNS(SVG, "path");
      const x = (node.s - 2) * COLUMN + CHIP, y = HEAD + place[node.p] * ROW + 12, to = (node.s - 1) * COLUMN, end = HEAD + place[n] * ROW + 12;
      line.setAttribute("d", `M${x} ${y} C${x + 10} ${y} ${to - 10} ${end} ${to} ${end}`);
      line.setAttribute("class", `${node.st === "pruned" ? "pruned " : ""}${onPath.has(n) ? "on" : ""}`);
      lines[n] = line;
      svg.append(line);
    }
    const chip = element("button", `node ${node.st}${onPath.has(n) ? " on" : ""}`);
    chip.type = "button";
    chip.setAttribute("role", "treeitem");
    chip.setAttribute("aria-label", `Step ${node.s}, ${node.t}, ${ENDS[node.st]}, score ${signed(node.sc)}: ${node.x}`);
    if (onPath.has(n)) chip.setAttribute("aria-selected", "true");
    chip.dataset.node = n;
    chip.tabIndex = n === (data.path[data.path.length - 1] ?? 0) ? 0 : -1;
    chip.style.left = `${(node.s - 1) * COLUMN}px`;
    chip.style.top = `${HEAD + place[n] * ROW}px`;
    chip.append(element("span", "token", node.t), element("span", "score", signed(node.sc)));
    chip.onmouseenter = chip.onfocus = () => tell(n);
    chip.onmouseleave = chip.onblur = () => tell(null);
    chip.onclick = () => setTriggerValue("path", n);
    chip.onkeydown = (event) => move(event, n);
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
    const item = element("li"), pick = element("button", `pick${n === data.path[data.path.length - 1] ? " on" : ""}`);
    pick.type = "button";
    pick.dataset.pick = rank;
    pick.setAttribute("aria-pressed", String(n === data.path[data.path.length - 1]));
    const { sc, no, x, st } = nodes[n];
    pick.append(element("span", "rank", rank + 1), element("span", "text", x || "(empty: it ends at once)"), element("span", "num", `${signed(sc)}${no == null ? "" : ` → ${signed(no)}`}${st === "limit" ? ", at the limit" : ""}`));
    pick.title = no == null ? "Summed log-probability" : "Summed log-probability → over the length penalty";
    pick.onclick = () => setTriggerValue("whole", n);
    pick.onmouseenter = pick.onfocus = () => tell(n);
    pick.onmouseleave = pick.onblur = () => tell(null);
    item.append(pick);
    list.append(item);
  });
  root.replaceChildren(scroll, said, ...(data.ended.length > 1 ? [list] : []));
  scroll.scrollLeft = state.left;
  const again = held != null ? chips[held] : heldPick != null ? list.querySelectorAll(".pick")[heldPick] : null;
  again?.focus({ preventScroll: true }); // who chose by keys goes on by keys
  scroll.onscroll = () => { state.left = scroll.scrollLeft; };
  tell(null);
  state.follow = ({ step }) => {
    plane.querySelectorAll(".step").forEach((label) => label.classList.toggle("now", Number(label.dataset.step) === step));
    const at = (step - 1) * COLUMN;
    if (at < scroll.scrollLeft || at + CHIP > scroll.scrollLeft + scroll.clientWidth) scroll.scrollLeft = at - scroll.clientWidth / 2;
  };
  const [, now] = (document.documentElement.dataset.attentionLabStep || "").split(" ");
  if (now) state.follow({ step: Number(now) });
  if (!state.onStep) {
    state.onStep = ({ detail }) => state.follow(detail);
    document.addEventListener(STEP, state.onStep);
  }
  return () => { document.removeEventListener(STEP, state.onStep); mounts.delete(root); };

  function ancestors(n) {
    const found = [];
    for (let at = n; at !== null; at = nodes[at].p) found.push(at);
    return found;
  }

  function tell(n) {
    const lit = new Set(n === null ? [] : ancestors(n));
    chips.forEach((chip, m) => chip.classList.toggle("lit", lit.has(m)));
    lines.forEach((line, m) => line?.classList.toggle("lit", lit.has(m)));
    const node = n === null ? null : nodes[n];
    said.textContent = node ? `${node.x}${node.st === "grown" ? " …" : ""} (${ENDS[node.st]}, score ${signed(node.sc)}${node.no == null ? "" : `, with the length penalty ${signed(node.no)}`})`
      : "A column is a step, the likelier path stands higher. Point at a token for its text; click it, and everything follows this path.";
  }

  function move(event, n) {
    const node = nodes[n], column = rows[node.s], children = nodes.map((c, m) => (c.p === n ? m : -1)).filter((m) => m >= 0);
    const to = {
      ArrowLeft: node.p, ArrowRight: children.sort((a, b) => place[a] - place[b])[0],
      ArrowUp: column[place[n] - 1], ArrowDown: column[place[n] + 1], Home: rows[1][0], End: rows[steps][0],
    }[event.key];
    if (!/^(Arrow|Home$|End$)/.test(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    if (to != null) { chips[to].focus(); chips[to].scrollIntoView({ block: "nearest", inline: "nearest" }); }
  }
}
