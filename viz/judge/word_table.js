// The readings of a text's words in rows. The text above tells the place by an event of the document, so that stepping sends
// nothing to the server; where the table stands alone, as in a lecture, the server tells it. Nothing here makes markup from text: textContent only.

import { button, element, focusOf, followStep, mountComponent, onResize, probability, refocus, publishedStep, unmountComponent, signed, exactProbability, writeProbabilities } from "../kit/mount.js";
import { scrolled, shade, wordTold } from "./word_table_parts.js";

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".word-table"), now = publishedStep(), focused = focusOf(parentElement);
  Object.assign(state, { data, step: !data.hall && now?.trace === data.trace ? now.step : data.step, mark });
  root.classList.toggle("hall", Boolean(data.hall));
  const scroll = element("div", "scroll"), told = element("p", "told");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", "Readings by word");
  told.setAttribute("aria-live", "polite");
  scroll.append(table());
  root.replaceChildren(element("h2", "", "Which words decide?"), element("p", "verdict", data.verdict), told, scroll, element("p", "part"), ...(data.hall ? [] : [element("p", "care", data.care)]));
  mark();
  onResize(state, root, mark);
  refocus(root, focused);
  if (first) state.unfollow = followStep(({ trace, step }) => {
    if (trace !== state.data.trace || step === state.step) return;
    state.step = step;
    state.mark();
  });
  return () => { state.unfollow?.(); unmountComponent(root); };

  function table() {
    const node = element("table"), head = element("tr"), body = element("tbody"), top = element("thead");
    head.append(column("", "name"));
    data.words.forEach((word, n) => {
      const cell = column(null, "w"), go = button("word", word, () => { if (!offline) setTriggerValue("step", data.places.indexOf(n) + 1); });
      go.disabled = Boolean(offline);
      go.dataset.focus = `word ${n}`;
      cell.append(go);
      head.append(cell);
    });
    const rho = column("ρ with occlusion", "rho");
    rho.title = "Spearman’s rank correlation";
    head.append(rho);
    for (const row of data.rows) body.append(line(row));
    top.append(head);
    node.append(top, body);
    return node;
  }

  function column(text, className) {
    const cell = element("th", className, text);
    cell.scope = "col";
    return cell;
  }

  function line(row) {
    const node = element("tr", row.is === "occlusion" ? "occlusion" : ""), name = element("th", "name", row.name), most = Math.max(...row.values.map(Math.abs), 1e-9), rho = element("td", "rho");
    name.scope = "row";
    name.title = row.meaning;
    node.append(name);
    row.values.forEach((value, n) => {
      const cell = element("td", "v", row.signed ? signed(value) : probability(value));
      cell.style.background = shade(data, value / most, row.signed);
      cell.title = `${row.name}, “${data.words[n]}”: ${row.signed ? value : exactProbability(value)}`;
      node.append(cell);
    });
    if (row.is === "occlusion") rho.append(`n = ${data.words.length}`);
    else rho.append(row.undefined ? element("small", "", row.undefined) : element("b", "", row.rho));
    node.append(rho);
    return node;
  }

  function mark() {
    const { data } = state, word = data.places[state.step - 1] ?? -1;
    for (const each of root.querySelectorAll("tr")) [...each.children].forEach((cell, n) => cell.classList.toggle("now", n === word + 1 && word >= 0));
    writeProbabilities(root.querySelector(".told"), (form) => wordTold(data, word, form));
    const [first, told] = scrolled(root.querySelector(".scroll"), state.from ?? 0, word);
    state.from = first;
    root.querySelector(".part").textContent = told;
  }
}
