// Two tokens, and the heads that link them. Nothing here makes markup from text: textContent only.

import { button, element, nth, headName, exactProbability, probabilityElement } from "../kit/mount.js";

const NEXT = 2; // heads that are named after the best; the thumbnails stand in order for the rest

// What can be asked: the rows of each kind of site by the side that asks, what each may look at, as the masks have it.
export function askable(grids) {
  const sides = new Map();
  for (const grid of grids) {
    const side = grid.kind === "encoder" ? "source" : "target";
    if (!sides.has(side)) sides.set(side, { side, tokens: grid.queries, grids: [] });
    sides.get(side).grids.push(grid);
  }
  return [...sides.values()];
}

export const mayAsk = (grid, query, key) => grid.allowed[query * grid.shape[1] + key] === "1";

function option(value, text) {
  const node = element("option", "", text);
  node.value = value;
  return node;
}

function group(name, tokens, value) {
  const node = element("optgroup");
  node.label = name;
  tokens.forEach((_, n) => { if (value(n)) node.append(option(value(n), nth(tokens, n))); });
  return node;
}

// The choice of two tokens whose heads are looked for; `pick` looks for them.
export function searchLine({ grids, find }, state, pick) {
  const bar = element("div", "find"), asks = element("select"), answers = element("select"), sides = askable(grids);
  const set = find && !find.fault ? find : null;
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", "Find a head");
  asks.setAttribute("aria-label", "Token that looks");
  answers.setAttribute("aria-label", "Token that it looks at");
  asks.dataset.focus = "find asks";
  answers.dataset.focus = "find answers";
  asks.append(option("", "a token"), ...sides.map(({ side, tokens, grids: own }) => group(own[0].side ?? (side === "source" ? "Source" : "Target rows"), tokens, (n) => `${side} ${n}`)));
  const asked = () => { const [side, n] = asks.value.split(" "); return [sides.find((each) => each.side === side), Number(n)]; };
  const offer = () => {
    const [side, query] = asked(), groups = side ? side.grids : [];
    answers.disabled = !side;
    answers.replaceChildren(option("", "another"), ...groups.map((each) => group(each.name, each.keys, (n) => mayAsk(each, query, n) && `${each.kind} ${n}`)));
  };
  const send = () => { const [kind, key] = answers.value.split(" "); if (answers.value) pick(kind, asked()[1], Number(key)); };
  asks.onchange = () => {
    const kept = answers.value;
    state.asks = asks.value;
    offer();
    answers.value = [...answers.options].some((each) => each.value === kept) ? kept : "";
    send();
  };
  answers.onchange = send;
  if (set) state.asks = `${set.kind === "encoder" ? "source" : "target"} ${set.query}`;
  asks.value = state.asks || "";
  if (asks.selectedIndex < 0) asks.value = "";
  offer();
  if (set) answers.value = `${set.kind} ${set.key}`;
  bar.append(element("b", "", "Find a head"), "that links", asks, "to", answers);
  return bar;
}

// What was found, in the place of the page's answer: the best head with its number, or why there is none, and a button that ends it.
export function foundLine({ grids, find, chosen }, open, forget, show) {
  const clear = button("mean", "Clear", forget), grid = grids.find((each) => each.kind === find.kind);
  clear.dataset.focus = "find clear";
  return [find.fault ? element("span", "fault", find.fault) : best(grid, find, chosen, open, show), " ", clear];
}

// The head that links the two best, in a sentence with its number, then those that come near it or next.
function best(grid, { weights, order, near, query, key }, chosen, open, show) {
  const line = element("span", "best"), told = (index) => probabilityElement("span", "", weights[index]), others = order.slice(1, 1 + NEXT);
  const token = (texts, at) => element("q", "", nth(texts, at));
  const [first, ...after] = [order[0], ...others].map((index, n) => head(index, n));
  line.append(first, " puts ", told(order[0]), " of ", token(grid.queries, query), " on ", token(grid.keys, key));
  others.forEach((index, n) => {
    const before = near && n === 0 ? ", a near-tie with " : n === near ? "; next: " : ", ";
    line.append(before, after[n], " ", told(index));
    if (n + 1 === Math.min(near, others.length) && near > others.length) line.append(` and ${near - others.length} more`);
  });
  const mean = weights.reduce((a, b) => a + b, 0) / weights.length;
  line.append(`; mean of ${weights.length} heads `, probabilityElement("span", "", mean), ".");
  return line;

  function head(index, n) {
    const [layer, number] = grid.places[index], name = headName(grid.kind, layer, number), one = button("mean", name, () => open(grid, index));
    const own = grid.kind === chosen.kind && layer === chosen.layer && number === chosen.head; // shown already, and exactly
    let shown = false;
    const look = (on) => { if (on !== shown && !own) { shown = on; show(on ? { grid, index } : null); } };
    one.onmouseenter = () => look(true);
    one.onfocus = () => look(one.matches(":focus-visible"));
    one.onmouseleave = () => look(false);
    one.onblur = (event) => { if (!event.relatedTarget?.closest(".detail")) look(false); }; // what is drawn anew loses the focus
    one.dataset.focus = `find best ${n}`;
    one.title = exactProbability(weights[index]);
    one.setAttribute("aria-label", `${name}: ${exactProbability(weights[index])}`);
    return one;
  }
}
