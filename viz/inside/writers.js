// The writers of a query by those of a key. Nothing here makes markup from text: textContent only.

import { centreChip, fadeEnds } from "../kit/chip_row.js";
import { button, element, focusOf, withMinusSign, mountComponent, refocus, REST_MS, unmountComponent, stepForKey, probabilityElement, threeDigits } from "../kit/mount.js";
import { onPageKeys } from "../kit/page_keys.js";


export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".writers"), focused = focusOf(parentElement);
  root.classList.toggle("large", Boolean(data.large)); // in a lecture the sentence above says who asks
  root.replaceChildren(
    ...(data.large ? [] : [chips("Who asks", "query", data.queries.map((label) => ({ label })), data.query)]),
    chips("What answers", "key", data.keys, data.key),
    matrix(),
  );
  refocus(root, focused);
  Object.assign(state, { at: { query: data.query, key: data.key }, turn });
  if (first) state.deaf = onPageKeys(".scroll", (key) => state.turn(key));
  return () => { state.deaf(); clearTimeout(state.rest); unmountComponent(root); };

  function turn(key) { // in a lecture: arrows go to who asks, two letters to what answers; the server hears of the last one
    const { at } = state, answers = { n: 1, p: -1 }[key], event = answers ? "key" : "query";
    const wanted = answers ? at.key + answers : stepForKey(key === " " ? "ArrowRight" : key, at.query, data.queries.length);
    if (!data.large || wanted === null) return false;
    at[event] = Math.max(1, Math.min(answers ? data.keys.length : data.queries.length, wanted));
    if (answers) chosen(root.querySelector(".chips"), at.key);
    clearTimeout(state.rest);
    state.rest = setTimeout(() => { if (at[event] !== data[event]) setTriggerValue(event, at[event]); }, REST_MS);
    return true;
  }

  function chosen(list, number) { // in view
    [...list.children].forEach((chip, n) => chip.setAttribute("aria-pressed", n + 1 === number));
    centreChip(list, list.children[number - 1]);
  }

  function chips(title, event, each, number) {
    const line = element("div", "asking"), list = fadeEnds(element("div", "chips"));
    list.setAttribute("role", "group");
    list.setAttribute("aria-label", title);
    line.append(element("h2", "small", title), list);
    each.forEach(({ label, weight, seen }, n) => {
      const chip = button("chip", label, () => setTriggerValue(event, n + 1));
      if (weight != null) chip.append(seen ? probabilityElement("small", "", weight) : element("small", "", "hidden"));
      chip.classList.toggle("hidden", seen === false);
      chip.dataset.focus = `${event} ${n}`;
      chip.disabled = Boolean(offline);
      list.append(chip);
    });
    chosen(list, number);
    requestAnimationFrame(() => chosen(list, number));
    return line;
  }

  function shade(value, top) {
    return data.scale[Math.round(((0.55 * value / top + 1) / 2) * (data.scale.length - 1))];
  }

  function named({ name, short, hue, head }, side, n, whole) {
    const tell = () => setTriggerValue("writer", { kind: head[0], layer: head[1], head: head[2], side });
    const node = head && !offline ? button("writer", null, tell) : element("span", "writer");
    if (hue) node.append(Object.assign(element("i", "dot"), { style: `background: var(--lab-${hue})` }));
    node.append(...(whole ? [element("span", "whole", name), element("span", "short", short)] : [short]));
    node.title = head && !offline ? `${name}: open it` : name;
    if (head) node.dataset.focus = `${side} ${n}`;
    node.setAttribute("aria-label", node.title);
    return node;
  }

  function matrix() {
    const { rows, columns, values } = data, box = element("div", "scroll"), table = element("table");
    const top = Math.max(...values.flat().map(Math.abs), 1e-9), [row, column] = data.largest;
    const caption = element("caption");
    caption.append(element("b", "", `Rows ${data.titles[0]}. Columns ${data.titles[1]}.`), data.large || offline ? " Blue raises the score, pink lowers it." : " Blue raises the score, pink lowers it. Click a head to go to it.");
    const head = element("tr");
    head.append(element("td"), ...columns.map((each, n) => header("col", named(each, "answers", n, false))), header("col", "sum"));
    const body = element("tbody");
    rows.forEach((each, i) => {
      const line = element("tr");
      line.append(header("row", named(each, "asks", i, !data.large)));
      values[i].forEach((value, j) => {
        const cell = element("td", i === row && j === column ? "best" : "", threeDigits(value));
        cell.style.background = shade(value, top);
        cell.dataset.point = `part ${i} ${j}`;
        cell.title = `${each.name} × ${columns[j].name}: ${withMinusSign(value.toFixed(4))}`;
        line.append(cell);
      });
      line.append(element("td", "sum", threeDigits(values[i].reduce((a, b) => a + b, 0))));
      body.append(line);
    });
    const last = element("tr", "sums");
    last.append(header("row", "sum"), ...columns.map((_, j) => element("td", "sum", threeDigits(values.reduce((a, row) => a + row[j], 0)))));
    last.append(element("td", "sum all", threeDigits(values.flat().reduce((a, b) => a + b, 0))));
    body.append(last);
    const thead = element("thead");
    thead.append(head);
    table.append(caption, thead, body);
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", "Who wrote the score");
    if (data.large) box.append(table);
    else box.append(table, element("p", "note", `The model’s own score, ${threeDigits(data.score, 4)}, less the sum of all parts: ${data.remainder}.${data.whole ? " Nothing is left out." : ""}`));
    return box;
  }

  function header(scope, content) {
    const node = element("th");
    node.scope = scope;
    node.append(content);
    return node;
  }
}
