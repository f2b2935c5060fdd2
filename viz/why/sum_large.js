// The sum as one picture that fills the screen: its largest parts, each begun where the one before it ended; all heads; or the
// words. Nothing here makes markup from text.

import { headTable } from "../kit/cell_table.js";
import { element, headName, probabilityElement, signed } from "../kit/mount.js";
import { markPicture } from "../kit/pen.js";

const LEAST = 0.05; // nats: a smaller number of a head is not printed
const PRINTED = 12; // heads side by side: of more none is

// The bars of a sum, from left to right on one scale: where each begins and ends, as shares of the width; and where nothing is.
export function cascade(values) {
  let at = 0;
  const ends = values.map((value) => [at, (at += value)]), all = [0, ...ends.flat()];
  const low = Math.min(...all), room = Math.max(...all) - low || 1, share = (value) => (value - low) / room;
  return { bars: ends.map(([from, to]) => [share(Math.min(from, to)), share(Math.max(from, to))]), ends: ends.map(([, to]) => share(to)), zero: share(0), total: [Math.min(share(0), share(at)), Math.max(share(0), share(at))] };
}

// The question where it stands, `picture`, and what is said of the part that is chosen.
export function large({ large: said }, picture) {
  const head = element("header", "asked"), line = element("p", "said-so-far"), [token, rival] = said.pair.map((text, n) => both(text, said.p[n], n));
  head.append(element("h2", "", said.asked), element("p", "odds", said.odds));
  const before = element("span", "before"); // cut at its beginning: what was said last stands beside the choice
  before.append(element("bdi", "", said.before));
  line.append(before, token, element("span", "not", "and not"), rival, ...(said.after ? [element("span", "after", said.after)] : []));
  const told = element("div", "told");
  told.setAttribute("role", "status");
  told.append(...said.told.map((text) => element("p", "", text)));
  return [head, line, picture, told];
}

function both(text, p, n) {
  const node = element("span", n ? "rival" : "own", text);
  node.append(probabilityElement("small", "", p));
  node.dataset.point = n ? "the rival" : "the token";
  return node;
}

export function parts(data, choose) {
  const part = markPicture(element("section", "cascade"), "Parts of the difference"), [own, rival] = data.large.pair, others = data.rest[0];
  const rows = [...data.rows, ...(others ? [{ name: others === 1 ? "1 other" : `${others} others together`, value: data.rest[1], point: "rest" }] : [])];
  const { bars, ends, zero, total } = cascade(rows.map(({ value }) => value));
  const sides = element("div", "sides"), scale = element("span", "scale");
  scale.append(element("b", "loss", `← for “${rival}”`), element("b", "gain", `for “${own}” →`));
  sides.append(element("span"), scale, element("span"));
  part.append(sides, ...rows.map(row), sum());
  return part;

  function row({ name, value, key, way, point }, n) {
    const node = key ? choose(key, "bar") : element("div"), label = element("span", "name");
    label.append(element("span", "", name), ...(way ? [element("span", "way", way)] : []));
    node.classList.add("step");
    if (point) node.dataset.point = point;
    node.append(label, track(bars[n], value < 0 ? "loss" : "gain", ends[n]), element("span", "value", signed(value)));
    return node;
  }

  function track([from, to], kind, end) {
    const node = element("span", "track"), fill = element("i", kind), origin = element("i", "zero");
    fill.style.left = `${100 * from}%`;
    fill.style.width = `${100 * (to - from)}%`;
    origin.style.left = `${100 * zero}%`;
    node.append(origin, fill);
    if (end !== undefined) { const next = element("i", "next"); next.style.left = `${100 * end}%`; node.append(next); }
    return node;
  }

  function sum() {
    const node = element("div", "step whole");
    node.dataset.point = "sum";
    node.append(element("span", "name", "all together, in nats"), track(total, data.total < 0 ? "loss" : "gain"), element("span", "value", signed(data.total)));
    return node;
  }
}

export function heads(data, choose, shade) {
  const part = markPicture(element("section", "all-heads"), "Every head"), top = Math.max(1e-9, ...data.grids.flatMap(({ values }) => values.flat().map(Math.abs)));
  for (const { kind, title, values } of data.grids) {
    const grid = element("div", "grid"), cells = element("div", "cells"), wide = values[0].length > PRINTED;
    cells.style.gridTemplateColumns = `32px repeat(${values[0].length}, minmax(0, 1fr))`;
    cells.append(element("span"), ...values[0].map((_, head) => element("span", "of", String(head + 1))));
    values.forEach((row, layer) => cells.append(element("span", "of", `L${layer + 1}`), ...row.map((value, head) => {
      const cell = choose(["head", kind, layer + 1, head + 1], "cell");
      cell.classList.add("cell");
      cell.textContent = Math.abs(value) < LEAST || wide ? "" : signed(value);
      cell.style.background = shade(0.6 * value, top);
      cell.setAttribute("aria-label", `${headName(kind, layer + 1, head + 1)}: ${signed(value)}`);
      return cell;
    })));
    grid.append(element("h3", kind, `${title}, nats`), cells);
    part.append(grid);
  }
  part.append(headTable(document, "heads", data.grids, { label: "Contributions", valueName: "Contribution, nats", valueText: signed }));
  return part;
}

export function words(data, choose, shade) {
  const part = markPicture(element("section", "words"), "The difference by tokens"), top = Math.max(1e-9, ...data.tokens.flatMap(({ values }) => values.map(Math.abs)));
  part.classList.toggle("many", data.tokens.some(({ labels }) => labels.length > 24));
  for (const { piece, values, labels } of data.tokens) {
    const line = element("div", "line"), total = values.reduce((a, b) => a + b, 0);
    labels.forEach((label, i) => {
      const token = choose([piece, i + 1], "way");
      token.classList.add("token");
      token.style.background = shade(0.6 * values[i], top);
      token.append(element("span", "", label), element("small", "", Math.abs(values[i]) < 0.005 ? "0" : signed(values[i])));
      line.append(token);
    });
    const sentence = element("div"), which = data.tokens.length > 1 ? `${piece} words` : "words"; // of a text that stands alone
    sentence.append(element("h3", "", `Contribution of ${which}: ${signed(total)} nats`), line);
    part.append(sentence);
  }
  return part;
}
