// All heads as thumbnails on a canvas for each kind of site, and one head large. Nothing here makes markup from text.
// Hovering previews a head, a click or Enter chooses it; only that is sent.

import { element, focusOf, mountComponent, nth, onResize, refocus, unmountComponent, button, withMinusSign, term, headName, exactProbability } from "../kit/mount.js";
import { cellTable } from "../kit/cell_table.js";
import { excludeFromPicture, markPicture, stateHeads } from "../kit/pen.js";
import { allOpened, allThree, arranged, opened, previewed, shownName } from "./all_heads_parts.js";
import { fullMap, painted, tokenLines } from "./all_heads_maps.js";
import { withInflatedGrids } from "../kit/inflated_grids.js";
import { thumbnailGrid } from "../kit/thumbnails.js";
import { numbers } from "./all_heads_numbers.js";
import { largeView } from "./all_heads_large.js";
import { optionBar } from "./all_heads_options.js";

const READING_WIDTH = 210, OVERVIEW_WIDTH = 420; // px of a reading, of the only one
const READINGS_TITLES = ["Whole map", "Two readings side by side", "Three readings side by side"], LONG = 60; // tokens of a map that scrolls

export default function (args) {
  const { data } = args, root = args.parentElement.querySelector(".all-heads"), { chosen, together, step } = data;
  const start = (grids) => draw({ ...data, grids, chosen: opened(chosen, step), together: together && allOpened(together, step) }, args);
  return withInflatedGrids(data, root, start);
}

function draw(data, { parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".all-heads", { cursor: {} }), { chosen } = data, focused = focusOf(parentElement);
  root.classList.remove("waits");
  const colour = (name) => data.style[`--lab-${name}`];
  const sans = () => getComputedStyle(root).fontFamily;
  const panel = element("section", "detail");
  const at = data.grids.find((grid) => grid.kind === chosen.kind);
  const repaint = [];
  const boxes = element("div", "grids");
  const all = { data, state, colour, sans, show, choose, repaint };
  const forget = () => { state.asks = ""; setTriggerValue("find", "none"); };
  if (data.large) {
    largeView(root, { ...all, at, pick, forget, indexOf, refocus: () => refocus(root, focused) });
    return () => unmountComponent(root);
  }
  for (const grid of data.grids) boxes.append(thumbnailGrid(grid, arranged(grid, data), all));
  root.labScales = data.grids.map((grid) => ({ name: grid.name, colours: grid.scale, low: 0, high: chosen.byRow ? "each row’s maximum" : 1 }));
  const set = (name, value) => setTriggerValue("set", { [name]: value });
  const bar = optionBar(data, { state, set, choose: (kind, layer, head) => setTriggerValue("choose", { kind, layer, head }), combine: (fields) => setTriggerValue("combine", fields), open, pick, forget, show, offline });
  for (const name of ["isBeside", "isHeadFirst"]) root.classList.toggle(name, Boolean(data[name]));
  root.replaceChildren(bar, ...(data.isHeadFirst ? [panel, boxes] : [boxes, panel]));
  show(null);
  refocus(root, focused);
  onResize(state, root, () => repaint.forEach((paint) => paint()));
  requestAnimationFrame(() => { // fonts and sizes are there by then
    state.draw();
    if (state.isOpening) revealMap();
    state.isOpening = false;
  });
  return () => unmountComponent(root);

  function indexOf(grid, layer, head) { return grid.places.findIndex(([l, h]) => l === layer && h === head); }

  function choose(grid, index) { const [layer, head] = grid.places[index]; setTriggerValue("choose", { kind: grid.kind, layer, head }); }

  function open(grid, index) { // a result of the search: its map comes into view
    const isChosen = grid === at && index === indexOf(grid, chosen.layer, chosen.head) && !data.together;
    if (isChosen) return revealMap();
    state.isOpening = true;
    choose(grid, index);
  }

  function revealMap() {
    const map = panel.querySelector(".whole"), [i, j] = data.find?.cell ?? [0, 0], cell = map?.querySelector("canvas").labPoints.rect(`cell ${i + 1} ${j + 1}`);
    if (!cell || cell.top < 0 || cell.bottom > innerHeight) map?.scrollIntoView({ block: "nearest" });
  }

  function pick(kind, query, key) { setTriggerValue("find", { kind, query: query + 1, key: key + 1 }); }

  // -- one head ----------------------------------------------------------------------------------------------------

  function show(preview) { // a head under the pointer, else the one that is chosen
    const grid = preview ? preview.grid : at, [layer, head] = preview ? grid.places[preview.index] : [chosen.layer, chosen.head];
    const title = element("div", "name"), name = element("h2"), hue = element("i", "hue");
    panel.style.setProperty("--hue", `var(--lab-${grid.kind})`);
    hue.style.background = "var(--hue)";
    const where = preview ? headName(grid.kind, layer, head) : shownName(chosen, grid), how = chosen.combine === "max" ? "maximum" : "mean", three = element("div", "three");
    if (data.together && !preview) name.append(`All three at once: ${layer === null ? shownName(chosen, { title: "" }).slice(2) : how === "mean" ? `layer ${layer}, heads together` : `layer ${layer}, ${how} over heads`}`);
    else name.append(hue, where);
    const small = !chosen.byRow && Math.max(...grid.shape) > 60 ? "; small weights of a long sentence: colour by row’s maximum shows more" : "";
    const what = preview ? "preview: click to choose it" : chosen.readAs + small;
    const say = element("span", "say", what);
    if (!preview && chosen.term) say.replaceChildren(term(data.terms, chosen.term, chosen.measure), what.slice(chosen.measure.length));
    title.append(name, say);
    if (!preview && layer !== null && !offline && data.hasInside !== false) {
      const unfold = way("unfold", "Unfold it", () => setTriggerValue("unfold", true));
      unfold.title = "Stage by stage, on the page Inside";
      title.append(unfold);
    }
    const map = { ...(preview ? previewed(grid, preview.index, chosen.byRow, data.step) : { ...chosen, words: wordsOf(grid) }), ...asked(grid, preview) }, index = preview ? preview.index : head === null || layer === null ? null : indexOf(grid, layer, head);
    if (data.together && !preview) {
      three.classList.add("one");
      three.append(allThree(data.together, Object.fromEntries(data.grids.map((each) => [each.kind, each.name]))));
    } else three.append(lines(map, grid), whole(map, grid, where), numbers(data, grid, { index, layer, head: index === null && layer === null ? head : null }, state, choose));
    const beside = preview || data.together || !hasReadings() ? [] : [readings(grid)];
    const tops = [...panel.querySelectorAll(".lines, .map")].map((node) => node.scrollTop);
    const focus = focusOf(parentElement);
    stateHeads(panel, name.textContent);
    panel.replaceChildren(title, three, ...beside);
    [...panel.querySelectorAll(".lines, .map")].forEach((node, n) => { node.scrollTop = tops[n] || 0; });
    if (focus && panel.contains(parentElement.activeElement) === false) refocus(panel, focus);
  }

  function wordsOf({ words }) { // for glosses: of each row and column that is drawn; a merged one has no single meaning
    return chosen.merge || !words ? null : { queries: chosen.firsts.queries.map((n) => words.queries[n]), keys: chosen.firsts.keys.map((n) => words.keys[n]) };
  }

  function asked(grid, preview) { // the cell of the two tokens whose heads are looked for, and how others are asked for
    const { find } = data, cell = find?.kind !== grid.kind ? null : preview ? [find.query, find.key] : find.cell;
    return { cell, pick: preview || offline ? null : (i, j) => pick(grid.kind, chosen.firsts.queries[i], chosen.firsts.keys[j]) };
  }

  function way(focus, text, act) {
    const node = excludeFromPicture(button("mean", text, act));
    node.dataset.focus = focus;
    return node;
  }

  function hasReadings() { const count = Object.keys(chosen.readings).length; return count > 1 || (count === 1 && Math.max(chosen.queries.length, chosen.keys.length) > LONG); }

  function readings(grid) { // the same head read in three ways, each in its own map
    const row = element("section", "readings");
    row.append(element("h3", "", READINGS_TITLES[Object.keys(chosen.readings).length - 1]));
    for (const name in chosen.readings) {
      const values = chosen.readings[name], canvas = painted({ values, allowed: chosen.allowed, byRow: chosen.byRow }, grid), figure = element("figure"), agreed = chosen.agreement[name];
      const isOnly = Object.keys(chosen.readings).length === 1, share = (isOnly ? OVERVIEW_WIDTH : READING_WIDTH) / Math.max(values.length, values[0].length), size = share > 1 ? Math.max(2, Math.min(11, Math.floor(share))) : share;
      Object.assign(canvas.style, { width: `${values[0].length * size}px`, height: `${values.length * size}px` });
      let best = [0, 0];
      values.forEach((weights, i) => weights.forEach((w, j) => { if (w > values[best[0]][best[1]]) best = [i, j]; }));
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${name}: the largest value, ${exactProbability(values[best[0]][best[1]])}, is ${chosen.queries[best[0]]} looking at ${chosen.keys[best[1]]}`);
      const told = agreed === undefined ? "" : `, rank correlation with the weights ${agreed === null ? "–" : withMinusSign(agreed.toFixed(2))}`;
      const framed = element("div", "framed"), mark = element("i");
      Object.assign(mark.style, { top: `${chosen.row * size}px`, height: `${size + 2}px` });
      framed.append(canvas, ...(chosen.row === null ? [] : [mark]));
      const cells = values.flatMap((weights, i) => weights.flatMap((value, j) => (chosen.allowed[i][j] ? [{ value, i, j }] : [])));
      const texts = ({ value, i, j }) => [nth(chosen.queries, i), nth(chosen.keys, j), exactProbability(value)];
      const listed = cellTable({ owner: root, name: `reading ${name}`, label: name, read: () => [{ cells, unit: "cells", columns: ["Row", "Column", "Value"], texts }] });
      figure.classList.toggle("only", isOnly);
      figure.append(framed, listed, element("figcaption", "", name + told));
      row.append(figure);
    }
    return row;
  }

  function lines(map, grid) {
    const { title, scroll, said } = tokenLines(map, grid), box = markPicture(element("section", ""), "Lines from token to token");
    excludeFromPicture(said);
    box.append(title, scroll, said);
    return box;
  }

  function whole(map, grid, where) {
    const box = markPicture(element("section", "whole"), "Full map", { colours: grid.scale, low: 0, high: map.byRow ? "each row’s maximum" : 1 });
    const fill = (screen) => {
      const { title, scroll, said } = fullMap(map, grid, { root, colour, label: `${grid.title}, ${where}`, screen }), top = element("div", "top");
      top.append(title);
      if (!map.rough && document.fullscreenEnabled) top.append(way("full screen", screen ? "Leave full screen" : "Full screen", () => (screen ? document.exitFullscreen() : box.requestFullscreen())));
      box.replaceChildren(top, scroll, excludeFromPicture(said));
    };
    box.addEventListener("fullscreenchange", () => {
      fill(box.getRootNode().fullscreenElement === box ? { width: innerWidth - 48, height: innerHeight - 112 } : null);
      box.querySelector("button").focus({ focusVisible: false });
    });
    fill(null);
    return box;
  }
}
