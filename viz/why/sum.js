// A difference of logits and what wrote it: bars, two sentences, a grid of heads. Nothing here makes markup from text.

import { button, element, focusOf, mountComponent, refocus, term, unmountComponent, headName, signed } from "../kit/mount.js";
import { headTable } from "../kit/cell_table.js";
import { excludeFromPicture, markPicture } from "../kit/pen.js";
import { stepKeys } from "./step_keys.js";
import { heads, large, parts, words } from "./sum_large.js";

const SHOWN = 8; // bars before the visitor asks for more

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".sum");
  const focused = focusOf(parentElement);
  state.tab ??= data.chosen?.[0] === "head" || !data.tokens.length ? "heads" : "tokens";
  const most = Math.max(...data.rows.map((row) => Math.abs(row.value)), Math.abs(data.rest[1]), 1e-9);
  root.classList.toggle("large", Boolean(data.large));
  root.replaceChildren(...(data.large ? large(data, [parts, heads, words][data.large.picture - 1](data, choose, shade)) : [bars(), side()]));
  if (!data.large) showTab();
  refocus(root, focused);
  stepKeys(state, data, setTriggerValue, offline || data.large); // in a lecture the keys are everywhere the same
  return () => { state.deaf(); unmountComponent(root); };

  function choose(key, about) {
    const [piece, ...place] = key, node = button("", null, () => {
      if (piece === "head") setTriggerValue("head", { kind: place[0], layer: place[1], head: place[2] });
      else if (about === "way") setTriggerValue("way", { piece, number: place[0] });
      else setTriggerValue("piece", { piece, layer: place[0] ?? 1 });
    });
    node.disabled = Boolean(offline);
    node.setAttribute("aria-pressed", String(String(data.chosen) === String(key)));
    node.dataset.focus = `${about} ${key.join(" ")}`;
    return node;
  }

  function bars() {
    const part = markPicture(element("section", "bars"), "Parts of the difference"), list = element("div", "list"), title = element("h2");
    const tip = `Direct logit attribution. ${data.terms["direct logit attribution"]} Right: for the ${data.unit}. Left: for its rival. In nats.`;
    title.append(offline ? "What wrote the difference" : term({ tip: `${tip} Click a bar to test it.` }, "tip", "What wrote the difference"));
    const isChosen = ({ key }) => String(key) === String(data.chosen), hidden = offline || state.isLong ? [] : data.rows.slice(SHOWN);
    const rows = hidden.some(isChosen) ? data.rows : data.rows.slice(0, data.rows.length - hidden.length), others = data.rows.slice(rows.length);
    list.append(...rows.map((row) => bar(row)));
    const count = data.rest[0] + others.length, value = others.reduce((sum, row) => sum + row.value, data.rest[1]);
    if (count) list.append(bar({ name: `${count} smaller parts together`, value, isMore: others.length > 0 }, "rest"));
    const total = element("p", "total"), sum = element("b", "", signed(data.total)), name = element("span");
    total.dataset.point = "sum";
    const whole = `${data.count} parts: what each wrote into the residual stream, as the ${data.unit === "label" ? "classifier" : "unembedding"} reads it${data.held ? `, with ${data.held} held as measured here` : ""}. The model’s own difference, less the sum: ${data.remainder}. Nothing is left out.`;
    name.append(offline ? "Sum of all parts" : term({ whole }, "whole", "Sum of all parts"));
    total.append(name, sum);
    part.append(title, ...(offline ? [element("p", "note", tip)] : []), list, total, ...(offline ? [element("p", "note", whole)] : []));
    return part;
  }

  function moreButton() {
    const node = button("", null, () => { state.isLong = true; root.querySelector(".bars").replaceWith(bars()); });
    node.dataset.focus = "more";
    node.title = "Show more of them";
    node.setAttribute("aria-expanded", "false");
    return node;
  }

  function bar({ name, value, key, hue, isMore }, point) {
    const line = key ? choose(key, "bar") : isMore ? moreButton() : element("div"), track = element("span", "track"), fill = element("i", value < 0 ? "loss" : "gain");
    line.classList.add("bar");
    if (point) line.dataset.point = point;
    const label = element("span", "name", name === "biases" ? null : name);
    if (name === "biases") label.append(term(data.terms, "bias", "biases"));
    label.prepend(Object.assign(element("i", "dot"), { style: `background: var(--lab-${hue ?? "border"})` }));
    const share = 50 * Math.abs(value) / most;
    fill.style.width = `${share}%`;
    fill.style.left = `${value < 0 ? 50 - share : 50}%`;
    track.append(fill);
    line.append(label, track, element("span", "value", signed(value)));
    return line;
  }

  function side() {
    const top = Math.max(...data.tokens.flatMap(({ values }) => values.map(Math.abs)), 1e-9); // one scale for both sentences
    const part = markPicture(element("section", "side"), "The difference by tokens and heads"), tokens = element("div"), every = element("div");
    if (offline) every.append(element("h2", "", "Every head"));
    tokens.append(...data.tokens.map((each) => sentence(each, top)));
    every.append(grids());
    Object.assign(tokens.dataset, { tab: "tokens" });
    Object.assign(every.dataset, { tab: "heads" });
    part.append(...(offline || !data.tokens.length ? [] : [tabs()]), tokens, every);
    return part;
  }

  function tabs() {
    const row = excludeFromPicture(element("div", "tabs"));
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Contributions");
    for (const [tab, name] of [["tokens", "Tokens"], ["heads", "Heads"]]) {
      const node = button("", name, () => { state.tab = tab; showTab(); });
      node.dataset.focus = node.dataset.opens = tab;
      row.append(node);
    }
    return row;
  }

  function showTab() {
    if (offline) return;
    const shown = data.tokens.length ? state.tab : "heads";
    for (const part of root.querySelectorAll("[data-tab]")) part.hidden = part.dataset.tab !== shown;
    for (const node of root.querySelectorAll("[data-opens]")) node.setAttribute("aria-pressed", String(node.dataset.opens === shown));
  }

  function shade(value, top) {
    const last = data.scale.length - 1;
    return data.scale[Math.round(((value / top + 1) / 2) * last)];
  }

  function sentence({ piece, name, title, labels, values }, top) {
    const part = element("div", "sentence"), line = element("div", "line");
    labels.forEach((label, i) => {
      const token = choose([piece, i + 1], "way"), value = element("small", "", Math.abs(values[i]) < 0.005 ? "0" : signed(values[i]));
      token.style.background = shade(0.55 * values[i], top);
      token.classList.add("token");
      token.append(element("span", "", label), value);
      line.append(token);
    });
    const sum = values.reduce((a, b) => a + b, 0);
    const heading = element("h2"), tip = `${title}. Click a token to see the difference when it is hidden.`;
    heading.append(offline ? title : term({ [name]: tip }, name), `: ${signed(sum)}`);
    part.append(heading, line);
    return part;
  }

  function grids() {
    const all = element("div", "grids"), top = Math.max(...data.grids.flatMap((grid) => grid.values.flat().map(Math.abs)), 1e-9);
    for (const { kind, title, values } of data.grids) {
      const grid = element("div", "grid"), cells = element("div", "cells");
      cells.style.gridTemplateColumns = `24px repeat(${values[0].length}, minmax(0, 1fr))`;
      cells.append(element("span"), ...values[0].map((_, head) => element("span", "of", String(head + 1))));
      values.forEach((row, layer) => {
        cells.append(element("span", "of", `L${layer + 1}`));
        row.forEach((value, head) => {
          const cell = choose(["head", kind, layer + 1, head + 1], "cell");
          cell.classList.add("cell");
          cell.style.background = shade(value, top);
          cell.title = `${headName(kind, layer + 1, head + 1)}: ${signed(value)}`;
          cell.setAttribute("aria-label", cell.title);
          cells.append(cell);
        });
      });
      grid.append(element("h3", kind, title), cells);
      all.append(grid);
    }
    all.append(headTable(root, "heads", data.grids, { label: "Contributions", valueName: "Contribution, nats", valueText: signed }));
    return all;
  }
}
