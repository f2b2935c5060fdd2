// A difference of logits and what wrote it: bars, two sentences, a grid of heads. Nothing here makes markup from text.

import { button, element, focusOf, mountComponent, refocus, term, unmountComponent } from "../kit/mount.js";
import { markPicture } from "../kit/pen.js";
import { stepKeys } from "./step_keys.js";
import { heads, large, parts, words } from "./sum_large.js";

const nats = (value, places = 3) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(places)}`;

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".sum");
  const focused = focusOf(parentElement);
  const most = Math.max(...data.rows.map((row) => Math.abs(row.value)), Math.abs(data.rest[1]), 1e-9);
  root.classList.toggle("large", Boolean(data.large));
  root.replaceChildren(...(data.large ? large(data, [parts, heads, words][data.large.picture - 1](data, choose, shade)) : [bars(), side()]));
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
    const part = markPicture(element("section", "bars"), "Parts of the difference"), list = element("div", "list");
    const told = element("p", "note");
    told.append(term(data.terms, "direct logit attribution", "Direct logit attribution"), `: to the right what speaks for the ${data.unit}, to the left for its rival; in nats.${offline ? "" : " Click one to test it."}`);
    part.append(element("h2", "", "What wrote the difference"), told, list);
    for (const row of data.rows) list.append(bar(row));
    if (data.rest[0]) list.append(bar({ name: `${data.rest[0]} smaller parts together`, value: data.rest[1] }, "rest"));
    const total = element("p", "total"), sum = element("b", "", nats(data.total));
    total.dataset.point = "sum";
    total.append(element("span", "", "Sum of all parts"), sum);
    const whole = element("p", "note");
    whole.append(`${data.count} parts: what each wrote into the `, term(data.terms, "residual stream", "residual stream"), ", as the ", data.unit === "label" ? "classifier" : term(data.terms, "unembedding", "unembedding"), ` reads it${data.held ? `, with ${data.held} held as measured here` : ""}. The model’s own difference, less the sum: ${data.remainder}. Nothing is left out.`);
    part.append(total, whole);
    return part;
  }

  function bar({ name, value, key, hue }, point) {
    const line = key ? choose(key, "bar") : element("div"), track = element("span", "track"), fill = element("i", value < 0 ? "loss" : "gain");
    line.classList.add("bar");
    if (point) line.dataset.point = point;
    const label = element("span", "name", name === "biases" ? null : name);
    if (name === "biases") label.append(term(data.terms, "bias", "biases"));
    label.prepend(Object.assign(element("i", "dot"), { style: `background: var(--lab-${hue ?? "border"})` }));
    const share = 50 * Math.abs(value) / most;
    fill.style.width = `${share}%`;
    fill.style.left = `${value < 0 ? 50 - share : 50}%`;
    track.append(fill);
    line.append(label, track, element("span", "value", nats(value)));
    return line;
  }

  function side() {
    const top = Math.max(...data.tokens.flatMap(({ values }) => values.map(Math.abs)), 1e-9); // one scale for both sentences
    const part = markPicture(element("section", "side"), "The difference by tokens and heads"), sentences = data.tokens.map((each) => sentence(each, top));
    part.append(...sentences, element("h2", "", "Every head"), grids());
    return part;
  }

  function shade(value, top) {
    const last = data.scale.length - 1;
    return data.scale[Math.round(((value / top + 1) / 2) * last)];
  }

  function sentence({ piece, title, labels, values }, top) {
    const part = element("div", "sentence"), line = element("div", "line");
    labels.forEach((label, i) => {
      const token = choose([piece, i + 1], "way"), value = element("small", "", Math.abs(values[i]) < 0.005 ? "0" : nats(values[i], 2));
      token.style.background = shade(0.55 * values[i], top);
      token.classList.add("token");
      token.append(element("span", "", label), value);
      line.append(token);
    });
    const sum = values.reduce((a, b) => a + b, 0);
    part.append(element("h2", "", title), line, element("p", "note", `Together ${nats(sum)}. Click a word to hide it and see.`));
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
          cell.title = `${title}, layer ${layer + 1}, head ${head + 1}: ${nats(value)}`;
          cell.setAttribute("aria-label", cell.title);
          cells.append(cell);
        });
      });
      grid.append(element("h3", kind, title), cells);
      all.append(grid);
    }
    return all;
  }
}
