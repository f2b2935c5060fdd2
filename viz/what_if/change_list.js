// Shows the probability of each token before and after the edits, one row per token. All text is set as textContent.

import { boxOf, button, element, focusOf, mountComponent, probability, refocus, term, unmountComponent, threeDigits, exactProbability, writeProbabilities } from "../kit/mount.js";
import { onStageResize, stageSize } from "../kit/stage.js";

const MIN_ROW = 19, MAX_ROW = 44, MIN_FONT = 14, MAX_FONT = 20, MAX_FONT_TWO_COLUMNS = 15; // px in lecture mode

// Returns the layout of the rows for a height in lecture mode. Rows that do not fit in one column use two.
export function rowsWithin(height, count) {
  const pitch = (columns) => Math.min(MAX_ROW, height / Math.ceil(count / columns)), columns = pitch(1) >= MIN_ROW ? 1 : 2;
  const font = Math.max(MIN_FONT, Math.min(columns === 1 ? MAX_FONT : MAX_FONT_TWO_COLUMNS, Math.floor(0.62 * pitch(columns))));
  return { columns, pitch: Math.max(MIN_ROW, Math.floor(pitch(columns))), font };
}

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".change"), list = element("ol"), focused = focusOf(parentElement), isLabel = data.place === "label";
  const note = element("p", "note", data.edited && data.large ? "Hollow: before. Filled: after." : ""), title = element("h2"), moves = element("div", "moves"), most = element("p", "most");
  if (state.data !== data) Object.assign(state, { data, step: data.step });
  moves.setAttribute("aria-live", "polite");
  data.labels.forEach((label, n) => list.append(row(label, data.before[n], data.edited ? data.after[n] : null, n + 1)));
  if (data.after.length < data.before.length) note.append(data.large ? " After the first difference only the old value is shown." : " After the first difference nothing is compared.");
  const tip = "Hollow: before the edits. Filled: after them. Click a token for what gains and loses at its step.";
  title.append(data.large || offline ? data.title : term({ [data.title]: tip }, data.title));
  root.replaceChildren(title, note, list, ...(data.large ? [] : [most, moves]));
  showStep();
  refocus(root, focused);
  if (data.large) {
    fill();
    onStageResize(state, root, fill);
  }
  return () => unmountComponent(root);

  function choose(number) {
    state.step = number;
    showStep();
    if (!offline) setTriggerValue("step", number);
  }

  function showStep() {
    [...list.children].forEach((line, n) => line.classList.toggle("current", n + 1 === state.step));
    const move = data.moves[isLabel ? 0 : state.step - 1];
    if (!move || data.large || !data.edited) return;
    const title = element("h2", "", isLabel ? "Label " : `${data.place[0].toUpperCase()}${data.place.slice(1)} ${state.step} `), columns = element("div", "columns");
    title.append(element("span", "token", move.title));
    if (move.kl !== null) title.append(" ", term(data.terms, "KL"), element("small", "", `(baseline || edited) ${threeDigits(move.kl)} nats`));
    for (const [name, hue, rows] of move.columns) {
      const column = element("div"), items = element("ul");
      for (const [token, before, after] of rows) {
        const line = element("li");
        line.append(element("span", "token", token), writeProbabilities(element("b", hue), (form) => `${form(before)} → ${form(after)}`));
        items.append(line);
      }
      column.append(element("span", "note", rows.length ? name : `${name}: none`), items);
      columns.append(column);
    }
    const notes = data.edited && move.kl === null ? [data.parted] : move.notes;
    moves.replaceChildren(title, columns, ...notes.map((text) => element("p", "note", text)));
    const isOther = !offline && !isLabel && data.most && data.most !== state.step;
    most.replaceChildren(...(isOther ? [button("", `Go to ${data.place} ${data.most}, “${data.labels[data.most - 1]}”: it changes the most`, () => choose(data.most))] : []));
  }

  function fill() {
    root.classList.add("large");
    const stage = stageSize(root), height = stage.height - (boxOf(list).top - boxOf(root).top), { columns, pitch, font } = rowsWithin(height, data.labels.length);
    root.classList.toggle("two", columns === 2);
    root.classList.toggle("plain", !data.edited);
    for (const line of list.children) line.lastChild.textContent = line[columns === 2 ? "labShortText" : "labText"];
    Object.assign(list.style, { height: `${height}px`, gridTemplateColumns: `repeat(${columns}, minmax(0, 1fr))`, gridTemplateRows: `repeat(${Math.ceil(data.labels.length / columns)}, ${pitch}px)`, fontSize: `${font}px` });
    const current = list.querySelector(".current");
    if (current) list.scrollTop = Math.max(0, current.offsetTop - list.offsetTop - height / 2);
  }

  function row(label, before, after, number) {
    const line = element("li"), track = element("span", "track"), stem = element("i", after < before ? "loss" : "gain");
    const dot = (className, p) => { const node = element("i", className); node.style.left = `${p * 100}%`; return node; };
    if (after !== null && after !== undefined) {
      stem.style.left = `${Math.min(before, after) * 100}%`;
      stem.style.width = `${Math.abs(after - before) * 100}%`;
      track.append(stem, dot("hollow", before), dot(`filled ${after < before ? "loss" : "gain"}`, after));
    } else track.append(dot("hollow", before));
    const text = data.edited ? `${probability(before)} → ${after === undefined ? "–" : probability(after)}` : probability(before);
    const compared = data.edited && after !== undefined;
    line.labText = compared || !data.large ? text : probability(before);
    line.labShortText = compared ? `${probability(before)}→${probability(after)}` : probability(before);
    line.dataset.point = `token ${number}`;
    const token = isLabel || offline || data.large ? element("span", "token", label) : button("token", label, () => choose(number));
    token.dataset.focus = `token ${number}`;
    line.append(token, track, Object.assign(element("span", "value", text), { title: compared ? `${exactProbability(before)} → ${exactProbability(after)}` : exactProbability(before) }));
    return line;
  }
}
