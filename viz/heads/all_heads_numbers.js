// A head's numbers beside those of all heads of its site. Nothing here makes markup from text: textContent only.

import { element, onKeys, term, headName, probability, threeDigits, probabilityElement } from "../kit/mount.js";
import { excludeFromPicture } from "../kit/pen.js";

// Whose numbers are shown: one head's, or those of all heads of a layer, of one head number in all layers, or of the site.
export const meant = (grid, { index, layer, head = null }) => grid.places.map((place, n) => (index === null ? [layer, head].every((each, side) => each === null || each === place[side]) : n === index));

// The head whose value lies nearest to a share of the strip; a head without a number has no tick.
export const nearest = (values, top, share) => {
  const away = (n) => (values[n] === null ? Infinity : Math.abs(values[n] / top - share));
  return values.reduce((best, _, n) => (away(n) < away(best) ? n : best), 0);
};

// A number of a head: a share of its weight, or nats.
export const metricText = ({ unit }, value) => (unit ? threeDigits(value) : probability(value));

// Writes the mean of the numbers of some heads, with its exact value as the tooltip if it is a weight.
const meanElement = (values, metric) => {
  const there = values.filter((value) => value !== null), mean = there.reduce((a, b) => a + b, 0) / there.length;
  return there.length && !metric.unit ? probabilityElement("b", "", mean) : element("b", "", averageOf(values, metric));
};

// The mean of the numbers of some heads, blank where none of them has one.
export const averageOf = (values, metric) => {
  const there = values.filter((value) => value !== null);
  return there.length ? metricText(metric, there.reduce((a, b) => a + b, 0) / there.length) : "";
};

// A strip with a tick for each head: pointing at one, or walking along with the arrow keys, names it; a click or Enter chooses it.
function strip(metric, grid, own, choose) {
  const { name, label } = metric, values = grid.numbers[name], top = Math.max(...values, 1e-9), track = element("div", "track"), tip = element("span", "tip");
  const ticks = values.map((value, n) => {
    const tick = element("i", own[n] ? "on" : "");
    if (value === null) tick.hidden = true;
    tick.style.left = `${(value / top) * 100}%`;
    return tick;
  });
  const sorted = values.map((_, n) => n).filter((n) => values[n] !== null).sort((a, b) => values[a] - values[b]);
  let at = null;
  const point = (head) => {
    const n = head === null || values[head] === null ? null : head;
    at = n;
    ticks.forEach((tick, each) => tick.classList.toggle("near", each === n));
    tip.textContent = n === null ? "" : `${headName(grid.kind, ...grid.places[n])} ${metricText(metric, values[n])}`;
    tip.style.left = n === null ? "" : `${Math.min(0.8, Math.max(0.2, values[n] / top)) * 100}%`;
  };
  track.append(...ticks, tip);
  track.tabIndex = 0;
  track.dataset.focus = `strip ${name}`;
  track.setAttribute("role", "application");
  track.setAttribute("aria-label", `${label} of ${values.length} heads. Left and right go from head to head, Enter chooses one.`);
  tip.setAttribute("aria-live", "polite");
  const under = (event) => { const box = track.getBoundingClientRect(); return nearest(values, top, (event.clientX - box.left) / box.width); };
  track.onmousemove = (event) => point(under(event));
  track.onmouseleave = () => point(null);
  track.onblur = () => point(null);
  track.onclick = (event) => choose(grid, under(event));
  onKeys(track, (key, arrow) => {
    if (key === "Enter") { if (at !== null) choose(grid, at); }
    else if (arrow?.[1]) point(sorted[at === null ? Math.max(0, sorted.findIndex((n) => own[n])) : Math.max(0, Math.min(sorted.length - 1, sorted.indexOf(at) + arrow[1]))]);
    else return false;
    return true;
  });
  return track;
}

const NUMBERS_IN_VIEW = 3; // numbers in view; the others are folded

export function numbers({ metrics, order, chosen }, grid, at, state, choose) {
  const box = element("section", ""), title = element("h3", "", "On this text"), own = meant(grid, at), count = grid.places.length;
  title.append(element("small", "", count === 1 ? "the only head" : at.index === null ? `of ${count} heads` : `among ${count} heads`));
  const marked = own.map((each) => each && (at.index !== null || at.layer !== null || at.head !== null));
  const known = metrics.filter((each) => grid.numbers[each.name]), sorted = [...known.filter(({ name }) => name === order), ...known.filter(({ name }) => name !== order)];
  const rows = sorted.map((metric) => {
    const { label, unit, meaning } = metric, named = element("span", "", unit ? `${label}, ${unit}` : label);
    named.title = meaning;
    return [named, strip(metric, grid, marked, choose), meanElement(grid.numbers[metric.name].filter((_, n) => own[n]), metric)];
  });
  const list = (few) => { const node = element("div", "numbers"); node.append(...few.flat()); return node; };
  box.append(title, list(rows.slice(0, NUMBERS_IN_VIEW)));
  if (rows.length > NUMBERS_IN_VIEW) {
    const more = element("details"), count = rows.length - NUMBERS_IN_VIEW, label = excludeFromPicture(element("summary", "", `${count} more number${count === 1 ? "" : "s"}`));
    label.dataset.focus = "more numbers";
    more.open = Boolean(state.hasMoreNumbers);
    const fill = () => more.replaceChildren(label, ...(more.open ? [list(rows.slice(NUMBERS_IN_VIEW))] : []));
    more.ontoggle = () => { if (more.isConnected) { state.hasMoreNumbers = more.open; fill(); } };
    fill();
    box.append(more);
  }
  if (at.index !== null && !grid.roles[at.index].length) box.append(element("p", "role", `No named role ${grid.rolesFrom ?? "on this text"}.`));
  for (const [name, meaning] of at.index === null ? [] : grid.roles[at.index]) {
    const role = element("p", "role");
    role.append(term({ [name]: meaning }, name, name[0].toUpperCase() + name.slice(1)));
    box.append(role);
  }
  if (at.index === null) box.append(element("p", "agree", `${chosen?.combine === "max" ? "Numbers of single heads: means" : "Means"} ${at.layer !== null ? `over the heads of layer ${at.layer}, marked.` : at.head === null ? "over all heads." : `over head ${at.head} of all layers, marked.`}`));
  return box;
}
