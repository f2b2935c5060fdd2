// A text that is judged, token by token, and its labels. Nothing here makes markup from text: textContent only.

import { button, element, focusOf, isKeyFree, isNewValue, mountComponent, refocus, REST_MS, publishStep, unmountComponent, stepForKey, probabilityElement, threeDigits, exactProbability, writeProbabilities } from "../kit/mount.js";
import { copyLink } from "../kit/copy_link.js";
import { usesArrowKeys } from "../kit/page_keys.js";
import { against, intoSight, tokenTold } from "./judged_parts.js";

const MANY = 24; // tokens, from which on they are smaller in a lecture

export default function ({ data, parentElement, setStateValue, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".judged", { step: data.step, heard: { lastValue: data.step, pending: [] } });
  if (state.trace !== data.trace) Object.assign(state, { step: data.step, heard: { lastValue: data.step, pending: [] } });
  else if (isNewValue(state.heard, data.step)) state.step = data.step; // the link, or the back button
  Object.assign(state, { trace: data.trace, data, setStateValue });
  const focused = focusOf(parentElement);
  root.classList.toggle("hall", Boolean(data.hall));
  root.replaceChildren(outcome(), text(), labels());
  draw();
  refocus(root, focused);
  if (first) {
    state.onKey = (event) => {
      const at = event.composedPath()[0], to = stepForKey(event.key, state.step, state.data.tokens.length);
      if (!isKeyFree(event, at) || to === null || usesArrowKeys(at)) return;
      event.preventDefault();
      event.stopPropagation();
      go(to);
    };
    document.addEventListener("keydown", state.onKey, true); // before a group of buttons takes the arrows
  }
  return () => { document.removeEventListener("keydown", state.onKey, true); unmountComponent(root); };

  function outcome() {
    const node = element("section", "outcome"), line = element("div", "line"), [best, next] = data.labels, said = element("p", "said");
    const copy = button("link", "Copy link", () => copyLink(copy));
    line.append(element("h2", "", "Label"), element("span", "", `the likeliest of ${data.labels.length}`), ...(offline || data.hall ? [] : [copy]));
    said.append(element("b", "", best.name), " ", probabilityElement("span", "", best.p));
    said.setAttribute("role", "status");
    node.append(line, said, writeProbabilities(element("p", data.tie ? "against tie" : "against"), (form) => against(best, next, data.tie, form)));
    return node;
  }

  function text() {
    const node = element("section", "text"), bar = element("div", "bar"), tokens = element("div", data.tokens.length > MANY ? "tokens many" : "tokens"), count = element("span", "count"), foot = element("p", "foot"), scale = element("i", "scale");
    node.setAttribute("aria-label", "Tokens of the text");
    const step = (name, sign, title, by) => { const made = button("btn", sign, () => go(state.step + by)); made.title = title; made.dataset.focus = name; made.setAttribute("aria-label", title); return made; };
    count.setAttribute("aria-live", "polite");
    bar.append(step("back", "←", "One token back (left arrow)", -1), step("forward", "→", "One token forward (right arrow)", 1), count);
    let group, last;
    data.tokens.forEach(({ t, w }, n) => {
      if (!group || w !== last) { group = element("span", "word"); tokens.append(group); last = w; }
      const chip = button("chip", t, () => go(n + 1));
      chip.style.background = data.tints[Math.round((data.weights[n] / Math.max(...data.weights, 1e-9)) * (data.tints.length - 1))];
      chip.title = tokenTold(data, n);
      chip.dataset.point = `input ${n + 1}`;
      chip.dataset.focus = `chip ${n}`;
      group.append(chip);
    });
    scale.style.background = `linear-gradient(90deg, ${data.tints[0]}, ${data.tints.at(-1)})`;
    foot.append("0 ", scale, " ", probabilityElement("span", "", Math.max(...data.weights)), ", the largest weight here. ", element("span", "", `Attention, ${data.whose}.`));
    node.append(bar, tokens, foot, element("p", "foot", data.pooled));
    return node;
  }

  function labels() {
    const node = element("section", "labels"), list = element("div", "list"), many = data.labels.length > 2;
    node.dataset.picture = "Labels";
    node.append(element("h2", "", "All labels"), list);
    data.labels.forEach((each, n) => {
      const row = button(`row${n ? "" : " on"}${many && each.label === data.rival ? " rival" : ""}`, null, () => { if (n && many && !offline) setTriggerValue("rival", each.label); });
      row.disabled = !n || !many || Boolean(offline);
      if (many && n) row.setAttribute("aria-pressed", each.label === data.rival);
      const bar = element("span", "b"), filled = element("i");
      filled.style.width = `${each.p * 100}%`;
      bar.append(filled);
      if (each.was != null) { const was = element("u"); was.style.left = `${each.was * 100}%`; bar.append(was); }
      row.append(element("span", "t", each.name), bar, probabilityElement("span", "n", each.p), element("small", "", `logit ${threeDigits(each.logit)}${each.was == null ? "" : `, before the edits ${exactProbability(each.was)}`}`));
      row.title = many && n ? "Hold the likeliest label against this one" : "";
      row.dataset.focus = `label ${each.label}`;
      row.dataset.point = `label ${each.label}`;
      list.append(row);
    });
    if (many && !offline) node.append(element("p", "foot", "Click a label to hold the likeliest against it."));
    return node;
  }

  function go(step) {
    state.step = Math.max(1, Math.min(state.data.tokens.length, step));
    draw();
    clearTimeout(state.rest);
    state.rest = setTimeout(() => {
      const { lastValue, pending } = state.heard;
      if (state.step === (pending.at(-1) ?? lastValue)) return;
      pending.push(state.step);
      state.setStateValue("step", state.step);
    }, REST_MS);
  }

  function draw() {
    const { data } = state, count = root.querySelector(".count"), chips = [...root.querySelectorAll(".chip")];
    chips.forEach((chip, n) => { chip.classList.toggle("now", n === state.step - 1); chip.setAttribute("aria-current", n === state.step - 1 ? "step" : "false"); });
    count.replaceChildren("Token ", element("b", "", state.step), ` of ${data.tokens.length}: `, element("span", "pair", data.tokens[state.step - 1].t), " weight ", probabilityElement("span", "", data.weights[state.step - 1]));
    intoSight(root.querySelector(".tokens"), chips[state.step - 1]);
    publishStep(data.trace, state.step);
  }
}
