// The route of a choice: both sentences as tokens, and links whose width is what cutting them changes. A click cuts a link or hides a
// token. Nothing here makes markup from text: textContent only.

import { boxOf, button, element, focusOf, mountComponent, onKeys, onResize, refocus, signed, svgElement, unmountComponent } from "../kit/mount.js";
import { setTitle } from "../kit/glosses.js";

const KINDS = { encoder: "Encoder", cross: "Cross-attention", decoder: "Decoder" };
const WIDEST = 9; // px, of the link with the largest effect

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".route"), focused = focusOf(parentElement);
  const scroll = element("div", "scroll"), rows = element("div", "rows"), svg = svgElement("svg", {});
  const scrolled = root.querySelector(".scroll")?.scrollLeft, has = (side) => data[side].length > 0;
  root.classList.toggle("large", Boolean(data.large));
  const chips = { source: line("source"), target: line("target") };
  const chosen = element("span", "chip chosen", data.token);
  if (has("target")) { chips.target[data.row].after(chosen); if (data.lang) chosen.lang = data.lang; }
  rows.append(svg);
  if (data.is_label) rows.querySelector(".source").prepend(chosen);
  scroll.append(rows);
  root.replaceChildren(scroll, key());
  onResize(state, root, draw);
  draw();
  if (scrolled == null) { const end = has("target") || data.is_label ? chosen : chips.source[data.row]; scroll.scrollLeft = end.offsetLeft - scroll.clientWidth / 2; }
  else scroll.scrollLeft = scrolled;
  refocus(root, focused);
  return () => unmountComponent(root);

  function line(side) {
    if (!has(side)) return [];
    const node = element("div", `chips ${side}`), name = element("p", "name", data.names[side === "source" ? 0 : 1]);
    const nodes = data[side].map((label, n) => {
      const chip = button("chip", label, () => setTriggerValue("hide", { side, number: n + 1 })), isHidden = data.hidden[side].includes(n);
      chip.setAttribute("aria-pressed", String(isHidden));
      setTitle(chip, isHidden ? "Hidden from every token. Click to restore it" : "Click to hide it from every token", side === "target" ? data.words[n] : "");
      chip.disabled = Boolean(offline);
      chip.dataset.focus = `${side} ${n}`;
      chip.dataset.point = `${side} ${n + 1}`;
      return chip;
    });
    node.append(...nodes);
    rows.append(...(side === "source" ? [name, node] : [node, name]));
    return nodes;
  }

  function key() {
    const foot = element("p", "key"), kinds = [...new Set(data.links.map(({ kind }) => kind))];
    for (const kind of Object.keys(KINDS).filter((each) => kinds.includes(each))) {
      const swatch = element("i", kind);
      foot.append(swatch, KINDS[kind]);
    }
    if (data.links.length) foot.append(element("span", "", `Width: what the cut changes, in logits.${data.links.some(isFor(false)) ? ` Dashed: supports ${data.rival}.` : ""}`));
    return foot;
  }

  function isFor(token) { return ({ effect }) => (effect < 0) === token; }

  function draw() {
    const box = boxOf(rows), used = {};
    svg.replaceChildren();
    if (!box.width) return;
    svg.setAttribute("width", rows.scrollWidth);
    svg.setAttribute("height", rows.scrollHeight);
    const place = (node) => { const r = boxOf(node); return { x: (r.left + r.right) / 2 - box.left, top: r.top - box.top, bottom: r.bottom - box.top }; };
    data.links.map((link, n) => [link, n]).sort((a, b) => Math.abs(a[0].effect) - Math.abs(b[0].effect)).forEach(([link, n]) => {
      const from = place(reader(link)), to = place(chips[link.kind === "decoder" ? "target" : "source"][link.key]);
      svg.append(drawLink(link, n, from, to, used));
    });
  }

  function reader({ kind, query, hop }) { // the token whose row it is; of the first hop the chosen one
    if (hop === 1 && data.reads_row && (has("target") || data.is_label)) return chosen;
    return chips[kind === "encoder" ? "source" : "target"][query];
  }

  function drawLink(link, n, from, to, used) {
    const { kind, effect, detail } = link, isCut = data.cuts[n], group = svgElement("g", { class: `link ${kind}${isCut ? " cut" : ""}${effect > 0 ? " rival" : ""}` });
    const span = Math.abs(from.x - to.x), bend = Math.min(54, 16 + span * 0.14), place = `${kind} ${link.key}`;
    const isOwn = from.x === to.x && kind !== "cross", nth = isOwn ? 0 : (used[place] = (used[place] ?? -1) + 1);
    let path, at;
    if (kind === "cross") {
      const middle = (from.top + to.bottom) / 2;
      path = `M${from.x} ${from.top}C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${to.bottom}`;
      at = to.bottom + 15 + 15 * nth;
    } else {
      const up = kind === "encoder", edge = up ? "top" : "bottom", sign = up ? -1 : 1, own = isOwn ? 10 : 0, tip = from[edge] + sign * (own ? 34 : bend * 1.3);
      path = `M${from.x + own} ${from[edge]}C${from.x + 2.4 * own} ${tip} ${to.x - 2.4 * own} ${tip} ${to.x - own} ${to[edge]}`;
      at = to[edge] + (up ? -7 - 15 * nth : 17 + 15 * nth);
    }
    const width = isCut ? 1.5 : 1.5 + (WIDEST - 1.5) * Math.abs(effect) / data.most;
    const text = svgElement("text", { x: to.x + (isOwn ? 36 : 0), y: at, "text-anchor": "middle" }, isCut ? "cut" : signed(effect));
    group.append(svgElement("title", {}, `${detail}${offline ? "" : isCut ? " Click to restore it." : " Click to cut it."}`), svgElement("path", { class: "hit", d: path }), svgElement("path", { class: "stroke", d: path, "stroke-width": width }), text);
    if (offline) return group;
    group.setAttribute("role", "button");
    group.setAttribute("tabindex", "0");
    group.setAttribute("aria-pressed", String(isCut));
    group.setAttribute("aria-label", detail);
    group.dataset.focus = `link ${n}`;
    group.dataset.point = `link ${n + 1}`;
    const cut = () => setTriggerValue("cut", n + 1);
    group.onclick = cut;
    onKeys(group, (pressed) => { if (pressed !== "Enter" && pressed !== " ") return false; cut(); return true; });
    return group;
  }
}
