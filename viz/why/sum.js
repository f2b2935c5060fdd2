// A difference of logits and what wrote it: bars, two sentences, a grid of heads. Nothing here makes markup from text.

import { button, element, focusOf, mountComponent, refocus, term, unmountComponent } from "../kit/mount.js";
import { markPicture } from "../kit/pen.js";
import { stepKeys } from "./step_keys.js";
import { heads, large, parts, words } from "./sum_large.js";

const FEW = 8; // parts that are seen at once
const TIP = "Click a part, a token or a head to see the choice without it.";
const nats = (value, places = 3) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(places)}`;

// "cross-attention, layer 4, head 3" as "cross-attention 4.3".
const short = (name) => name.replace(/, layer (\d+), head (\d+)$/, " $1.$2").replace(/, layer (\d+)$/, " $1").replace(/^cross-attention(?= \d)/, "cross");

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".sum", { folds: {} });
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
    const meaning = `To the right what speaks for the ${data.unit}, to the left for its rival; in nats.`;
    told.append(term(data.terms, "direct logit attribution", "Direct logit attribution"), `: ${meaning[0].toLowerCase()}${meaning.slice(1)}`);
    part.append(heading("What wrote the difference", `Direct logit attribution. ${meaning} ${TIP}`), ...(offline ? [told] : []), list);
    const rows = data.rows.map((row) => bar(row));
    if (data.rest[0]) rows.push(bar({ name: `${data.rest[0]} smaller parts together`, value: data.rest[1] }, "rest"));
    list.append(...rows.splice(0, offline ? rows.length : FEW));
    if (rows.length) list.append(fold("parts", `${data.rows.length - FEW + data.rest[0]} more parts: ${nats([...data.rows.slice(FEW).map(({ value }) => value), data.rest[1]].reduce((a, b) => a + b, 0))}`, rows));
    const total = element("p", "total"), sum = element("b", "", nats(data.total));
    total.dataset.point = "sum";
    total.append(element("span", "", "Sum of all parts"), sum);
    const whole = element("p", "note");
    whole.append(`${data.count} parts: what each wrote into the `, term(data.terms, "residual stream", "residual stream"), ", as the ", data.unit === "label" ? "classifier" : term(data.terms, "unembedding", "unembedding"), ` reads it${data.held ? `, with ${data.held} held as measured here` : ""}. The model’s own difference, less the sum: ${data.remainder}. Nothing is left out.`);
    if (!offline) total.title = whole.textContent;
    part.append(total, ...(offline ? [whole] : []));
    return part;
  }

  function heading(text, tip) {
    const title = element("h2");
    title.append(offline ? text : term({ [text]: tip }, text));
    return title;
  }

  function fold(name, summary, nodes) { // stays as it is over a redraw
    const box = element("details"), line = element("summary", "", summary);
    box.open = Boolean(state.folds[name]);
    box.ontoggle = () => { state.folds[name] = box.open; };
    line.dataset.focus = `fold ${name}`;
    box.append(line, ...nodes);
    return box;
  }

  function bar({ name, value, key, hue }, point) {
    const line = key ? choose(key, "bar") : element("div"), track = element("span", "track"), fill = element("i", value < 0 ? "loss" : "gain");
    line.classList.add("bar");
    if (point) line.dataset.point = point;
    const label = element("span", "name", name === "biases" ? null : short(name));
    label.title = name;
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
    const more = [...sentences.slice(1), element("h2", "", "Every head"), grids()];
    part.append(sentences[0], ...(offline ? more : [fold("side", sentences.length > 1 ? "Target tokens and every head" : "Every head", more)]));
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
    const together = element("span", "together", `together ${nats(sum)}`), titled = heading(title, `${TIP} A click on a token hides it.`);
    titled.append(" ", together);
    part.append(titled, line);
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
