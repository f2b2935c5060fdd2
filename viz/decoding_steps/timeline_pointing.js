// Pointing at a token, or walking to it with the keys: who looks at a source token, where a target row looks. The step stays,
// and nothing is sent. Nothing here makes markup from text: textContent only.

import { meaningOf } from "../kit/glosses.js";
import { ARROWS, boxOf, nth, probability, element, svgElement, writeProbabilities } from "../kit/mount.js";

const TOLD = 3, LEAST = 0.005; // how many weights are told, and from which on

const largest = (weights) => weights.map((weight, n) => [weight, n]).filter(([weight]) => weight >= LEAST).sort((a, b) => b[0] - a[0]).slice(0, TOLD);
const listed = (weights, texts, form) => largest(weights).map(([weight, n]) => `${nth(texts, n)} ${form(weight)}`).join(", ") || "no token from 0.01 on";

// Each row in words, `le -> chat`; `known` of them, for what is to be guessed is not told.
export const rowNames = ({ start, target, inputs, own }, known) => target.slice(0, known).map((token, n) => (inputs ? inputs[n].t === token.t && own === "encoder" ? token.t : `${inputs[n].t} → ${token.t}` : `${n ? target[n - 1].t : start} → ${token.t}`));

// A sentence on a token: [side, number]; of the target, of the row that says it, with the meaning of its word.
export function toldOf(data, [side, n], known, form = probability) {
  const meaning = side === "target" && !data.guess && data.words ? meaningOf(data.words[n]) : "", text = lookOf(data, [side, n], known, form);
  return meaning ? `${meaning}. ${text}` : text;
}

function lookOf(data, [side, n], known, form) {
  const source = data.source.map((token) => token.t), rows = rowNames(data, known), inputs = (data.inputs?.map((token) => token.t) ?? [data.start, ...data.target.map((token) => token.t)]).slice(0, known);
  if (side === "source") return `“${nth(source, n)}” is looked at by ${listed(data.cross.slice(0, known).map((weights) => weights[n]), rows, form)} (${data.where.cross})`;
  const own = data.decoder[n].slice(0, known).map((weight, j) => (data.allowed[n][j] ? weight : 0));
  if (!source.length) return `“${rows[n]}” looks at ${listed(own, inputs, form)} (${Object.values(data.where)[0]})`;
  return `“${rows[n]}” looks at ${listed(data.cross[n], source, form)} (${data.where.cross}); in the target at ${listed(own, inputs, form)} (${data.where.decoder})`;
}

// `state` has what the timeline draws: `data`, `step`, `known()` rows, `lines(row, still)`, `tokens` of both sides.
export function pointing(state, rows, label) {
  const rest = [...label.childNodes];
  let at = null;
  label.setAttribute("aria-live", "polite");
  Object.assign(rows, { tabIndex: 0 });
  rows.dataset.focus = "tokens";
  rows.setAttribute("role", "application");
  rows.setAttribute("aria-label", state.data.source.length ? "Tokens of both sentences. Left and right go from token to token, up and down to the other sentence: who looks at a source token, where a target row looks." : "Tokens of the text. Left and right go from token to token: where each looks.");

  function tinted(chips, weights) {
    chips.forEach((chip, n) => { chip.style.background = weights ? state.data.crossTints[Math.round((weights[n] ?? 0) * (state.data.crossTints.length - 1))] : ""; });
  }

  function point(to) {
    if (String(to) === String(at)) return;
    at = to;
    const { source, outputs } = state.tokens, data = state.told ?? state.data, known = state.known();
    tinted(outputs, null);
    tinted(source, data.cross[at?.[0] === "target" ? at[1] : state.step - 1]);
    label.replaceChildren(...(at ? [writeProbabilities(element("span"), (form) => toldOf(data, at, known, form))] : rest));
    if (!at || at[0] === "target") {
      state.lines(at ? at[1] : state.step - 1, true);
      if (at && at[1] !== state.step - 1) rows.querySelector("svg rect")?.setAttribute("stroke-dasharray", "4 3"); // the step is elsewhere
      return;
    }
    tinted(outputs.slice(0, known), data.cross.map((weights) => weights[at[1]]));
    state.lines(state.step - 1, true);
    onlookers(at[1], known);
  }

  function onlookers(j, known) { // a line from every row, as far as it is known
    const svg = rows.querySelector("svg"), { source, inputs, outputs } = state.tokens, box = boxOf(rows);
    const end = boxOf(source[j]), x = (end.left + end.right) / 2 - box.left, y = end.bottom - box.top + 2;
    svg.replaceChildren(...state.data.cross.slice(0, known).map((weights, t) => {
      const one = boxOf(inputs[t]), other = boxOf(outputs[t]), from = (Math.min(one.left, other.left) + Math.max(one.right, other.right)) / 2 - box.left, top = one.top - box.top - 4;
      return svgElement("path", { d: `M${from} ${top}C${from} ${top - 38} ${x} ${y + 46} ${x} ${y}`, fill: "none", stroke: "var(--lab-cross)", "stroke-width": 0.75 + 9 * weights[j], "stroke-opacity": Math.min(1, 0.12 + 1.6 * weights[j]), "data-row": t + 1 });
    }), ...[...svg.querySelectorAll("rect")]);
  }

  function of(chip) { // the side and the number of a token on the page
    const { source, inputs, outputs } = state.tokens, known = state.known();
    if (source.includes(chip)) return ["source", source.indexOf(chip)];
    const row = outputs.includes(chip) ? outputs.indexOf(chip) : inputs.indexOf(chip);
    return row >= 0 && row < known ? ["target", row] : null;
  }

  rows.onmouseover = (event) => point(of(event.target.closest(".chip")));
  rows.onmouseleave = () => point(null);
  rows.onblur = () => point(null);
  rows.onkeydown = (event) => {
    if (event.target !== rows || event.altKey || event.ctrlKey || event.metaKey) return;
    const arrow = ARROWS[event.key], [side, n] = at || [state.data.source.length ? "source" : "target", -1], counts = { source: state.data.source.length, target: state.known() };
    if (event.key === "Escape") point(null);
    else if (arrow) {
      const other = arrow[0] ? (arrow[0] > 0 ? "target" : "source") : side;
      if (counts[other]) point([other, Math.max(0, Math.min(counts[other] - 1, arrow[0] ? (at ? n : state.step - 1) : n + arrow[1]))]);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
