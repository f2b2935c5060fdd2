// Words on their way to tokens. Walking sends nothing; 300 ms after the last move the server hears of the word and the merge.

import { fadeEnds } from "../kit/chip_row.js";
import { button, element, focusOf, isNewValue, mountComponent, onKeys, onResize, refocus, REST_MS, unmountComponent, stepForKey } from "../kit/mount.js";
import { onPageKeys } from "../kit/page_keys.js";
import { fitFont } from "../kit/stage.js";
import { cells } from "./stages_parts.js";
import { LENT, pieces, results, row, told } from "./tokens_parts.js";

const WORDS = { n: 1, p: -1 };
const CHIP_FONTS = [16.5, 15.5, 14.5, 14]; // px in lecture mode: the first with which a line of words fits, else the first

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".tokens", { memory: { pending: [] } }), focused = focusOf(parentElement);
  const news = isNewValue(state.memory, data.at.join(" "));
  if (news || state.id !== data.id) { clearTimeout(state.rest); state.at = data.at; }
  state.id = data.id;
  const all = words(), repaint = [];
  let [of, number, done] = state.at;

  const lines = element("div", "lines"), rail = element("nav", "rail"), list = element("ol", ""), range = element("input", "range");
  const title = element("h2"), count = element("span", "count"), main = element("section", "main"), steps = element("div", "steps"), drawn = element("div", "drawn");
  const sentence = element("p", "sentence"), lent = element("p", "lent", LENT), end = element("div", "end"), body = element("div", "body"), top = element("div", "top");
  data.lines.forEach((line, n) => lines.append(chips(line, n)));
  rail.setAttribute("aria-label", "Merges");
  Object.assign(range, { type: "range", min: 0, step: 1 });
  range.setAttribute("aria-label", "Merges made");
  range.dataset.focus = "range";
  range.oninput = () => go(Number(range.value));
  rail.append(range, fadeEnds(list));
  sentence.setAttribute("aria-live", "polite");
  for (const [name, move, text] of [["back", -1, "‹"], ["on", 1, "›"]]) {
    const walk = button("walk", text, () => go(done + move));
    walk.dataset.focus = name;
    walk.setAttribute("aria-label", name === "on" ? "Next merge" : "Merge before");
    steps.append(walk);
  }
  top.append(title, count, steps);
  main.append(top, drawn, sentence, lent, end);
  root.classList.toggle("large", Boolean(data.large)); // in a lecture one word fills the page
  body.append(...(data.large ? [main] : [rail, main]));
  root.replaceChildren(lines, body);
  choose(of, number, done, false);
  refocus(root, focused);

  onResize(state, root, () => {
    repaint.forEach((paint) => paint());
    if (data.large) for (const line of lines.querySelectorAll(".chips")) fitFont(line, CHIP_FONTS);
  });
  state.go = (key) => {
    if (data.large && key in WORDS) return word(WORDS[key]);
    const to = stepForKey(data.large && key === " " ? "ArrowRight" : key, done, merges().length);
    if (to === null) return false;
    go(key === "Home" ? 0 : to);
    return true;
  };
  if (first) state.deaf = onPageKeys(".scroll,.drawn", (key) => state.go(key));
  document.fonts?.ready.then(() => state.draw());
  return () => {
    state.deaf();
    clearTimeout(state.rest);
    unmountComponent(root);
  };

  function words() { // key -> its words, each with its line; they are numbered through all lines of a key
    const found = {};
    for (const line of data.lines) (found[line.key] ||= []).push(...line.words.map((word) => ({ word, line, table: data.tables[line.side] })));
    return found;
  }

  function word(by) { // the next one, of whichever line
    const every = Object.keys(all).flatMap((key) => all[key].map((_, n) => [key, n + 1])), at = every.findIndex(([key, n]) => key === of && n === number) + by;
    if (every[at]) choose(...every[at], 0);
    return true;
  }

  function merges() {
    return all[of][number - 1].word.merges;
  }

  function chips(line, n) {
    const node = element("div", "line"), group = fadeEnds(element("div", "chips"));
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", `Words, ${line.title}`);
    const before = data.lines.slice(0, n).filter((each) => each.key === line.key).reduce((sum, each) => sum + each.words.length, 0);
    line.words.forEach((word, i) => {
      const chip = button("chip", null, () => choose(line.key, before + i + 1, 0)), labels = pieces(word, word.merges.length).map((id) => data.tables[line.side].labels[id]);
      if (line.code) chip.lang = line.code;
      labels.forEach((label) => chip.append(element("span", "", label)));
      chip.dataset.focus = `${line.key} ${before + i + 1}`;
      chip.setAttribute("aria-label", `${labels.join(" | ")}, ${labels.length} token${labels.length === 1 ? "" : "s"}`);
      onKeys(chip, (key, move) => { // to the next word, as the pointer would
        const to = { Home: 1, End: all[line.key].length }[key] ?? (move?.[1] ? before + i + 1 + move[1] : 0);
        if (!all[line.key][to - 1]) return Boolean(move?.[1]);
        choose(line.key, to, 0);
        refocus(root, `${line.key} ${to}`);
        return true;
      });
      group.append(chip);
    });
    if (!line.words.length) group.append(element("span", "none", "(empty)"));
    node.append(element("h2", "small", line.title), group);
    return node;
  }

  function choose(key, to, made, tell = true) {
    [of, number] = [key, to];
    const { word, table, line } = all[of][number - 1], label = pieces(word, word.merges.length).map((id) => table.labels[id]).join("");
    title.textContent = label;
    title.lang = line.code;
    lent.hidden = !word.lent;
    for (const chip of lines.querySelectorAll(".chip")) {
      const on = chip.dataset.focus === `${of} ${number}`, [its, place] = chip.dataset.focus.split(" ");
      chip.setAttribute("aria-pressed", on);
      chip.tabIndex = on || (its !== of && place === "1") ? 0 : -1; // one stop for each line of the sentence
      if (on) chip.parentElement.scrollLeft = chip.offsetLeft - chip.parentElement.offsetLeft - (chip.parentElement.clientWidth - chip.offsetWidth) / 2;
      if (on) chip.parentElement.scrollTop = chip.offsetTop - chip.parentElement.offsetTop - chip.parentElement.clientHeight / 2 + chip.offsetHeight / 2;
    }
    list.replaceChildren(...[null, ...word.merges].map((merge, n) => {
      const item = element("li"), name = button("", merge ? table.labels[merge[1]] : "bytes", () => go(n));
      name.dataset.focus = `merge ${n}`;
      if (merge) name.append(element("small", "", place(word, table, n - 1).toLocaleString("en")));
      item.append(name);
      return item;
    }));
    range.max = word.merges.length;
    range.disabled = !word.merges.length;
    finish(word, table, line);
    go(made, tell);
  }

  function place(word, table, n) { // the rank of a word's merge, from 0
    const found = pieces(word, n), [at] = word.merges[n];
    return table.ranks[`${found[at]},${found[at + 1]}`];
  }

  function go(to, tell = true) {
    const { word, table } = all[of][number - 1], last = word.merges.length;
    done = Math.max(0, Math.min(last, to));
    state.at = [of, number, done];
    [...list.children].forEach(({ firstChild }, n) => { if (n === done) firstChild.setAttribute("aria-current", "step"); else firstChild.removeAttribute("aria-current"); });
    const item = list.children[done];
    list.scrollTo(item.offsetLeft - (list.clientWidth - item.offsetWidth) / 2, item.offsetTop - (list.clientHeight - item.offsetHeight) / 2);
    range.value = done;
    range.setAttribute("aria-valuetext", `${done} of ${last} merges made`);
    count.textContent = last ? `${done} of ${last} merges` : "no merges";
    const [back, on] = steps.children;
    back.disabled = done === 0;
    on.disabled = done === last;
    sentence.textContent = told(word, done, table);
    drawn.replaceChildren(row(word, done, table));
    const next = drawn.querySelector(".next");
    if (next) drawn.scrollTop = next.offsetTop - (drawn.clientHeight - next.offsetHeight) / 2;
    if (!tell) return;
    clearTimeout(state.rest);
    state.rest = setTimeout(() => {
      state.memory.pending.push(state.at.join(" "));
      setTriggerValue("at", { of: state.at[0], word: state.at[1], done: state.at[2] });
    }, REST_MS);
  }

  function finish(word, table, line) {
    repaint.length = 0;
    const ids = pieces(word, word.merges.length), label = (id) => table.labels[id];
    const scroll = element("div", "scroll"), made = results(word, table, (id, n) => {
      const link = button("link", "Its neighbours", () => setTriggerValue("open", { side: line.side, token: id }));
      link.setAttribute("aria-label", `Neighbours of ${label(id)} in the embedding table`);
      link.dataset.focus = `open ${n}`;
      link.disabled = Boolean(offline);
      return link;
    });
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Its tokens");
    scroll.append(made);
    if (data.large) { end.replaceChildren(scroll); return; }
    const values = { name: `Row${ids.length > 1 ? "s" : ""} of the embedding table`, rows: ids.map(label), columns: table.width, values: word.values, unit: "dimension", marked: null };
    const where = `The id is the token’s row in the embedding table (${table.rows.toLocaleString("en")} rows of ${table.width} numbers): at first, that row is all the model knows about it.`;
    end.replaceChildren(element("h2", "small", ids.length > 1 ? `Its ${ids.length} tokens` : "Its token"), scroll, element("p", "how", where), cells(values, data, repaint, Math.max(...values.rows.map(({ length }) => length))));
    requestAnimationFrame(() => repaint.forEach((paint) => paint()));
  }
}
