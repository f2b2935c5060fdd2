// The heads in lecture mode, one of three pictures over the whole page: one head as a map, as lines from token to token, or all heads
// as thumbnails. Nothing here makes markup from text: textContent only.

import { button, element, nth, ordinal, headName, probability, probabilityElement } from "../kit/mount.js";
import { onStageResize, stageSize } from "../kit/stage.js";
import { fullMap, tokenLines } from "./all_heads_maps.js";
import { thumbnailGrid } from "../kit/thumbnails.js";
import { metricText } from "./all_heads_numbers.js";
import { arranged, shownName } from "./all_heads_parts.js";

export const MAP = 1, LINES = 2; // the pictures; all heads else
const TITLE_HIGH = 40, BESIDE_WIDE = 300, BETWEEN = 20; // px: of the line above, and of what stands beside one head
const MOST_FOUND = 6, MOST_NUMBERS = 3, OUTSTANDING = 3, SITE_HIGH = 30; // heads that link two tokens, and numbers of a head, that are told, and the place from which one is outstanding; px above the thumbnails of a site

// The numbers of a head by which heads can be put in order, those first in which it stands out; `place` among all, from 1, counted
// from the `end` that is nearer.
export function standings(grid, metrics, index) {
  const of = (metric) => {
    const printed = (value) => value === null ? null : Number(value.toFixed(metric.digits)), all = grid.numbers[metric.name].map(printed), own = all[index], values = all.filter((value) => value !== null); // what reads alike is a tie
    const [most, least] = [values.filter((value) => value > own), values.filter((value) => value < own)].map((before) => 1 + before.length);
    const end = most < least || (most === least && metric.order === "most") ? "most" : "least";
    return { metric, value: own, end, place: Math.min(most, least), alike: values.filter((value) => value === own).length - 1 };
  };
  return metrics.filter(({ name, order }) => order && (grid.numbers[name]?.[index] ?? null) !== null).map(of).sort((one, other) => one.place - other.place);
}

const numbered = ({ metric, value }) => `${metric.label} ${metricText(metric, value)}${metric.unit ? ` ${metric.unit}` : ""}`;
const placed = ({ end, place, alike }, count) => (count === 1 ? "" : `${place === 1 ? "the" : ordinal(place)} ${end} of ${count} heads${alike ? `, with ${alike} more` : ""}`);

export function largeView(root, given) {
  const { data, state } = given, all = { ...given, colour: (name) => given.colour(/^ink/.test(name) ? "ink" : name) }; // no grey is read from the last row
  const build = () => {
    const place = stageSize(root), size = `${place.width} ${place.height}`;
    if (state.built === data && state.size === size) return;
    Object.assign(state, { built: data, size });
    all.repaint.length = 0;
    const name = element("div", "hall-name"), body = element("div", `hall-body ${{ [MAP]: "map", [LINES]: "lines" }[data.large] || "all"}`);
    root.replaceChildren(name, body);
    root.style.setProperty("--hue", `var(--lab-${all.at.kind})`);
    if (data.large === MAP || data.large === LINES) oneHead(root, name, body, place, all);
    else allHeads(name, body, place, all);
    all.repaint.forEach((paint) => paint());
    all.refocus();
  };
  build();
  onStageResize(state, root, build);
  requestAnimationFrame(() => { state.built = null; state.draw(); }); // fonts and sizes are there by then
}

// -- one head ------------------------------------------------------------------------------------------------------

function oneHead(root, name, body, place, { data, at: grid, colour, pick, forget, choose, indexOf }) {
  const { chosen, find } = data, own = chosen.head === null || chosen.layer === null || chosen.measure === "rollout" ? null : indexOf(grid, chosen.layer, chosen.head);
  const set = find && !find.fault && find.kind === grid.kind ? find : null;
  const where = shownName(chosen, grid);
  titled(name, grid, where, mainNumber(data, grid, own, set, largestOf(chosen)));
  const map = { ...chosen, cell: set?.cell, pick: (i, j) => pick(grid.kind, chosen.firsts.queries[i], chosen.firsts.keys[j]) };
  const room = { width: place.width - BESIDE_WIDE - BETWEEN, height: place.height - TITLE_HIGH };
  body.style.gridTemplateColumns = data.large === MAP ? `auto minmax(${BESIDE_WIDE}px, 1fr)` : `minmax(0, 1fr) ${BESIDE_WIDE}px`;
  const { scroll, said } = data.large === MAP ? fullMap(map, grid, { root, colour, label: `${grid.title}, ${where}`, place: room, style: data.style }) : tokenLines(map, grid, room);
  const beside = element("aside");
  if (chosen.measure !== "weights" || chosen.byRow || chosen.combine === "max") beside.append(element("p", "read", `${chosen.readAs[0].toUpperCase()}${chosen.readAs.slice(1)}${chosen.byRow ? "; colour by each row’s maximum" : ""}.`));
  beside.append(said, ...(find ? [foundHeads(data, grid, set, forget, choose)] : [measuredAs(data, grid, own, chosen)]));
  body.append(scroll, beside);
}

function titled(node, grid, where, number) {
  const title = element("h2"), hue = element("i", "hue");
  hue.style.background = `var(--lab-${grid.kind})`;
  title.append(hue, where);
  node.replaceChildren(title, element("strong", "", number));
}

// The number that stands beside a head's name: what is looked for, else that of the order, else where it stands out, else its
// `largest` weight.
function mainNumber({ order, metrics }, grid, index, find, largest = "") {
  if (index === null) return largest;
  if (find) return `${nth(grid.queries, find.query)} on ${nth(grid.keys, find.key)}: ${probability(find.weights[index])}`;
  const all = standings(grid, metrics, index), ordered = all.find(({ metric }) => metric.name === order);
  if (ordered) return numbered(ordered);
  const outstanding = all[0]?.place <= OUTSTANDING && grid.places.length > 1;
  return outstanding ? `${numbered(all[0])}, ${placed(all[0], grid.places.length)}` : largest || (all[0] ? numbered(all[0]) : "");
}

function largestOf({ values, queries, keys, measure }) {
  let best = [0, 0];
  values.forEach((row, i) => row.forEach((value, j) => { if (value > values[best[0]][best[1]]) best = [i, j]; }));
  return `Largest ${measure === "weights" ? "weight" : measure} ${probability(values[best[0]][best[1]])}: ${nth(queries, best[0])} on ${nth(keys, best[1])}`;
}

// What a head was measured to be, and the numbers in which it stands out.
function measuredAs({ metrics }, grid, index, chosen) {
  const box = element("div", "facts");
  if (index === null) box.append(element("p", "", `${shownName(chosen, grid)}: no head’s own map. Shift and a digit choose one.`));
  else {
    for (const [role, told] of grid.roles[index]) box.append(element("h3", "", role[0].toUpperCase() + role.slice(1)), element("p", "", told));
    if (!grid.roles[index].length) box.append(element("h3", "", `No named role ${grid.rolesFrom ?? "on this text"}`));
    const list = element("ul");
    for (const each of standings(grid, metrics, index).slice(0, MOST_NUMBERS)) {
      const line = element("li");
      line.append(element("b", "", numbered(each)), ` ${placed(each, grid.places.length)}`);
      list.append(line);
    }
    box.append(list);
  }
  return box;
}

// The heads that link two tokens, most first; one is chosen by a click.
function foundHeads({ find, chosen }, grid, set, forget, choose) {
  const box = element("div", "found"), clear = button("plain", "Look for nothing", forget);
  clear.dataset.focus = "find clear";
  if (!set) {
    box.append(element("p", "", find.fault || "Two tokens of another attention are looked for."), clear);
    return box;
  }
  const title = element("h3", ""), list = element("ol"), quoted = (texts, n) => element("q", "", nth(texts, n));
  title.append("Which heads put ", quoted(grid.queries, set.query), " on ", quoted(grid.keys, set.key), "?");
  set.order.slice(0, MOST_FOUND).forEach((index, n) => {
    const [layer, head] = grid.places[index], own = chosen.layer === layer && chosen.head === head, line = element("li");
    const one = button(own ? "own" : "", "", () => choose(grid, index)), bar = element("i");
    one.dataset.focus = `find best ${n}`;
    bar.style.width = `${100 * set.weights[index]}%`;
    one.append(element("b", "", headName(grid.kind, layer, head)), bar, probabilityElement("span", "", set.weights[index]));
    if (own) one.setAttribute("aria-current", "true");
    line.append(one);
    list.append(line);
  });
  const near = set.near ? [element("p", "", `The first ${set.near + 1} are in a near-tie.`)] : [];
  box.append(title, list, ...near, clear);
  return box;
}

// -- all heads -----------------------------------------------------------------------------------------------------

function allHeads(name, body, place, all) {
  const { data, at } = all, grids = data.sites ? data.grids : [at], width = (place.width - BETWEEN * (grids.length - 1)) / grids.length;
  const show = (seen) => {
    const grid = seen?.grid || at, index = seen ? seen.index : own(grid, all), [layer, head] = index === null ? [] : grid.places[index];
    titled(name, grid, index === null ? shownName(data.chosen, grid) : headName(grid.kind, layer, head), told(grid, index, data));
  };
  body.style.gridTemplateColumns = `repeat(${grids.length}, minmax(0, 1fr))`;
  for (const grid of grids) {
    const fill = { width, height: place.height - TITLE_HIGH - SITE_HIGH }, order = arranged(grid, data), by = order.named && !order.told ? data.by : order.told;
    const told = grids.length === 1 ? by : data.order !== "position" && !order.named ? "in their own order" : "";
    body.append(thumbnailGrid(grid, { ...order, told }, { ...all, data: { ...data, together: false }, show, place: fill }));
  }
  show(null);
}

const own = (grid, { data: { chosen }, indexOf }) => (chosen.layer === null || chosen.head === null ? null : indexOf(grid, chosen.layer, chosen.head));

function told(grid, index, data) { // in all that is seen at once, a head's role, else its number
  const [role] = (index !== null && data.order === "position" && !data.find && grid.roles[index][0]) || [];
  return role ? role[0].toUpperCase() + role.slice(1) : mainNumber(data, grid, index, data.find?.kind === grid.kind && !data.find.fault ? data.find : null);
}
