// What may come at the step under view, and what the visitor would rather have. Nothing here makes markup from text.
// The timeline tells the step by an event of the document, so that stepping sends nothing to the server.

import { setTitle, wordOf } from "../kit/glosses.js";
import { button, element, focusOf, followStep, mountComponent, refocus, REVEAL, publishedStep, unmountComponent, threeDigits, exactProbability, probabilityElement, writeProbabilities } from "../kit/mount.js";
import { judged, rest, walking, withChosen } from "./candidates_parts.js";

const LARGE = 5; // candidates in lecture mode
const COLUMNS = (temperature) => [
  ["token", ""],
  ["p", "The model's own probability"],
  [temperature === "0" ? "greedy" : `÷ ${temperature}`, temperature === "0" ? "At a temperature of 0 the likeliest has all" : `After the temperature: logits divided by ${temperature}`],
  ["drawn", "The probability of being drawn: what top-k and top-p leave, scaled up to 1"],
]; // while sampling

export default function ({ data, parentElement, setTriggerValue, setStateValue, offline }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".candidates", { typed: "", guess: "", revealed: 0 }), now = publishedStep();
  if (state.trace !== data.trace) Object.assign(state, { step: data.step, revealed: 0 });
  if (now?.trace === data.trace) state.step = now.step;
  if (state.guessing !== data.guess) Object.assign(state, { guessing: data.guess, revealed: 0 });
  if (!data.fault && state.trace !== data.trace) state.typed = "";
  Object.assign(state, { trace: data.trace, data, draw });
  draw();
  if (first) {
    state.unfollow = followStep(({ trace, step }) => {
      if (trace !== state.data.trace || step === state.step) return;
      Object.assign(state, { step, revealed: 0, guess: "" });
      state.draw();
    });
    state.ends = walking(root, state);
  }
  return () => { state.unfollow(); state.ends(); unmountComponent(root); };

  function draw() {
    const { data } = state, step = Math.max(1, Math.min(state.step, data.rows.length)) - 1;
    const secret = data.guess && state.revealed !== state.step && (!data.open || data.open[step]);
    root.classList.toggle("hall", Boolean(data.hall));
    const line = element("div", "line"), predict = button("link", data.guess ? "Stop guessing" : "Predict first", () => setStateValue("guess", !data.guess));
    predict.setAttribute("aria-pressed", String(data.guess));
    predict.title = "The candidates stay hidden until you have guessed the next token";
    const tie = data.hall && !secret && !data.sampling && data.ties[step] ? [element("p", "rest tie", "The first two are a near-tie.")] : []; // where no room is left below
    line.append(element("h2", "", data.title), ...tie, ...(offline || data.hall || (data.open && !data.open.includes(true)) ? [] : [predict]));
    const focused = focusOf(parentElement);
    root.replaceChildren(...(secret && data.hall ? [] : [line]), ...(secret ? ask(step) : show(step)));
    refocus(root, focused);
  }

  function ask(step) {
    if (data.hall) return [element("p", "next", data.comes), element("p", "how", data.open ? "→ shows it." : `It has read “${data.reads[step]}” last. → shows it.`)];
    const form = element("form", "word"), box = field("guess", data.open ? "Your guess for the blank" : "Your guess for the next token", state.guess), go = element("button", "go", "Guess");
    const skip = button("link", "Show without guessing", () => reveal(""));
    form.onsubmit = (event) => { event.preventDefault(); if (box.value.trim()) reveal(box.value); };
    box.oninput = () => { state.guess = box.value; };
    form.append(box, go);
    return [element("p", "how", data.open ? data.comes : `It has read “${data.reads[step]}” last. ${data.comes}`), form, skip];
  }

  function reveal(guess) {
    Object.assign(state, { guess, revealed: state.step });
    document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } }));
    draw();
  }

  function show(step) {
    const typed = step < data.given, sampling = data.sampling && !typed; // what was typed was not drawn
    const rows = data.rows[step].slice(0, data.hall ? LARGE : undefined).map((each, n) => [...each, sampling ? data.before[step][n] : undefined]), chosen = data.chosen[step], list = element("div", `cand${sampling ? " sampling" : ""}`);
    withChosen(rows, [...chosen, sampling ? data.chosenBefore[step] : undefined, true], { sampling, hall: data.hall, stands: Boolean(data.open) });
    const head = element("div", "head");
    for (const name of sampling ? COLUMNS(data.temperature) : []) { const column = element("span", "", name[0]); column.title = name[1]; head.append(column); }
    if (sampling) list.append(head);
    const open = !offline && (!data.open || data.open[step]);
    let cut = false;
    for (const [piece, id, logit, scaled, p, reason, before, apart] of rows) {
      const row = button(`row${id === chosen[1] ? " on" : ""}${reason ? " cut" : ""}${reason && !cut && !apart ? " first" : ""}`, null, () => { if ((id !== chosen[1] || data.open) && open) setTriggerValue("branch", { step: step + 1, token: id }); }), token = element("span", "t");
      cut = cut || Boolean(reason && !apart);
      if (piece.length > 1 && piece[0] === "·") token.append(element("s", "", "·"), piece.slice(1));
      else token.append(piece);
      const space = piece[0] === "·" ? ". The · stands for a space" : "";
      const kind = data.kinds?.[step]?.[id];
      if (kind) { token.append(element("small", "", kind.split(":")[0])); }
      if (apart && data.open) token.append(element("small", "", "stands here"));
      const does = id === chosen[1] && !open ? (data.open ? "" : typed ? "This is what you gave" : "This is what was chosen") : open ? data.act : "";
      const logits = sampling ? `Logit ${threeDigits(logit)}${scaled == null ? "" : `, divided by ${data.temperature}: ${threeDigits(scaled)}`}. ` : "";
      const about = (kind ? `${kind[0].toUpperCase()}${kind.slice(1)}. ` : "") + logits + (reason ? `${data.cuts[reason]}${space}. ` : space ? `${space.slice(2)}. ` : "") + does;
      setTitle(row, about, data.words?.length ? (id === chosen[1] && !data.guess && data.words[step]) || wordOf(piece, data.chosen.slice(0, step).map(([before]) => before)) : "");
      row.disabled = !open;
      row.dataset.point = `candidate ${id}`;
      row.dataset.focus = `candidate ${id}`; // after it is forced, the focus goes to the same token of the new step
      row.setAttribute("aria-label", `${piece}, ${before ? `probability ${exactProbability(before[0])}, of being drawn ${exactProbability(p)}` : `probability ${exactProbability(p)}`}${reason ? `, ${data.cuts[reason]}` : ""}${id === chosen[1] ? ", chosen" : open ? `: ${data.open ? "put it into the blank" : "go on with it instead"}` : ""}`);
      const bar = element("span", "b");
      bar.append(element("i"));
      bar.firstChild.style.width = `${p * 100}%`;
      row.append(token);
      if (sampling) row.append(...before.map((value) => probabilityElement("span", "n", value)));
      else row.append(bar);
      row.append(probabilityElement("span", "n p", p));
      const candidate = element("div", apart && data.open && !data.hall ? "candidate apart" : "candidate"), rival = id === chosen[1] ? rows.find((other) => other[1] !== id)?.[1] : id;
      candidate.append(row);
      if (!sampling && open && rival != null && !offline && !data.hall) {
        const why = button("why", "why?", () => setTriggerValue("reason", { step: step + 1, token: rival }));
        why.title = id === chosen[1] ? "What speaks for it" : `What speaks for “${chosen[0]}”, and not for this one`;
        why.setAttribute("aria-label", id === chosen[1] ? `Why ${piece}` : `Why not ${piece}`);
        candidate.append(why);
      }
      list.append(candidate);
    }
    const form = element("form", "word"), box = field("typed", data.word[0], state.typed), go = element("button", "go", data.word[1]);
    go.title = data.word[2];
    box.oninput = () => { state.typed = box.value; };
    form.onsubmit = (event) => { event.preventDefault(); setTriggerValue("word", { step: step + 1, text: box.value }); };
    form.append(box, go);
    if (data.ask) {
      const ask = element("button", "go ask", data.ask[0]);
      Object.assign(ask, { type: "button", title: data.ask[1], onclick: () => setTriggerValue("asked", { step: step + 1, text: box.value }) });
      form.append(ask);
    }
    const others = element("p", "rest", sampling ? `${data.kept[step].toLocaleString("en")} of ${data.size.toLocaleString("en")} tokens can be drawn` : "");
    if (!sampling) writeProbabilities(others, (form) => rest(rows, form));
    others.classList.toggle("tie", Boolean(data.hall));
    if (data.hall) return [list, ...(sampling ? [others] : []), ...(data.fault ? [element("p", "fault", data.fault)] : [])];
    const shown = [list, others, ...(open ? [form] : [])];
    if (data.ties[step]) {
      const tie = element("p", "rest tie", "The first two are a near-tie: it takes little to tip it.");
      tie.title = `Here is ${data.nearTie}`;
      shown.push(tie);
    }
    if (typed) shown.unshift(element("p", "how typed", `“${chosen[0]}” was given, not chosen. What the model expected here:`));
    if (data.guess && state.guess) shown.unshift(writeProbabilities(element("p", "how verdict"), (form) => judged(data.rows[step], state.guess, form)));
    if (open && data.told?.[step]) { const told = element("p", "rest told", data.told[step]); told.setAttribute("role", "status"); shown.push(told); }
    if (data.fault) { const fault = element("p", "fault", data.fault); fault.setAttribute("role", "alert"); shown.push(fault); }
    return shown;
  }

  function field(name, hint, value) {
    const box = element("input");
    Object.assign(box, { name, placeholder: hint, value, autocomplete: "off", spellcheck: false });
    box.setAttribute("aria-label", hint);
    box.dataset.focus = name;
    return box;
  }
}
