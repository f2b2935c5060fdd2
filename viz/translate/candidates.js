// What may come at the step under view, and what the visitor would rather have. Nothing here makes markup from text.
// The timeline tells the step by an event of the document, so that stepping sends nothing to the server.

const mounts = new WeakMap();

const signed = (v) => `${v < 0 ? "−" : ""}${Math.abs(v).toFixed(2)}`;
const CUTS = { k: "cut by top-k", p: "cut by top-p", t: "cut by a temperature of 0" };

export default function ({ data, parentElement, setTriggerValue, setStateValue }) {
  const root = parentElement.querySelector(".candidates");
  const state = mounts.get(root) || { typed: "", guess: "", revealed: 0 };
  const first = !mounts.has(root);
  mounts.set(root, state);
  const [trace, told] = (document.documentElement.dataset.attentionLabStep || "").split(" ");
  if (state.trace !== data.trace) Object.assign(state, { step: data.step, revealed: 0 });
  if (trace === data.trace) state.step = Number(told);
  if (state.guessing !== data.guess) Object.assign(state, { guessing: data.guess, revealed: 0 });
  if (!data.fault && state.trace !== data.trace) state.typed = "";
  Object.assign(state, { trace: data.trace, data, draw });
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  draw();
  if (first) {
    state.onStep = ({ detail }) => {
      if (detail.trace !== state.data.trace || detail.step === state.step) return;
      Object.assign(state, { step: detail.step, revealed: 0, guess: "" });
      state.draw();
    };
    document.addEventListener(STEP, state.onStep);
  }
  return () => { document.removeEventListener(STEP, state.onStep); mounts.delete(root); };

  function draw() {
    const { data } = state, step = Math.max(1, Math.min(state.step, data.rows.length)) - 1;
    const secret = data.guess && state.revealed !== state.step;
    const line = element("div", "line"), predict = element("button", "link", data.guess ? "Stop guessing" : "Predict first");
    predict.type = "button";
    predict.setAttribute("aria-pressed", String(data.guess));
    predict.title = "The candidates stay hidden until you have guessed the next token";
    predict.onclick = () => setStateValue("guess", !data.guess);
    line.append(element("h2", "", "Likeliest next tokens"), predict);
    const within = parentElement.activeElement?.name;
    root.replaceChildren(line, ...(secret ? ask(step) : show(step)));
    if (within) root.querySelector(`[name=${within}]`)?.focus();
  }

  function ask(step) {
    const form = element("form", "word"), box = field("guess", "Your guess for the next token", state.guess), go = element("button", "go", "Guess");
    const skip = element("button", "link", "Show without guessing");
    skip.type = "button";
    skip.onclick = () => reveal("");
    form.onsubmit = (event) => { event.preventDefault(); if (box.value.trim()) reveal(box.value); };
    box.oninput = () => { state.guess = box.value; };
    form.append(box, go);
    return [element("p", "how", `It has read “${data.reads[step]}” last. What comes next?`), form, skip];
  }

  function reveal(guess) {
    Object.assign(state, { guess, revealed: state.step });
    document.dispatchEvent(new CustomEvent(REVEAL, { detail: { step: state.step } }));
    draw();
  }

  function verdict(step) {
    const plain = (text) => text.replace(/^·/, "").trim().toLowerCase(), guess = plain(state.guess);
    const rows = data.rows[step];
    const whole = rows.findIndex(([piece]) => plain(piece) === guess), part = rows.findIndex(([piece]) => plain(piece).length > 1 && guess.startsWith(plain(piece)));
    const at = whole >= 0 ? whole : part;
    if (at < 0) return `“${state.guess.trim()}” is not among its ${rows.length} likeliest.`;
    const what = whole >= 0 ? `“${state.guess.trim()}”` : `“${rows[at][0].replace(/^·/, "")}”, with which your guess begins,`;
    return `${what} is its number ${at + 1}, with probability ${percent(rows[at][4])}.`;
  }

  function show(step) {
    const rows = [...data.rows[step]], chosen = data.chosen[step], list = element("div", `cand${data.sampling ? " sampling" : ""}`);
    if (!rows.some(([, id]) => id === chosen[1])) rows.splice(data.sampling ? 3 : 4, 0, [...chosen, true]);
    const head = element("div", "head");
    for (const name of data.sampling ? ["token", "logit", data.temperature === "0" ? "greedy" : `÷ ${data.temperature}`, "p"] : []) head.append(element("span", "", name));
    if (data.sampling) list.append(head);
    let cut = false, sum = 0;
    for (const [piece, id, logit, scaled, p, reason, apart] of rows) {
      sum += p;
      const row = element("button", `row${id === chosen[1] ? " on" : ""}${reason ? " cut" : ""}${reason && !cut && !apart ? " first" : ""}`), token = element("span", "t");
      cut = cut || Boolean(reason && !apart);
      row.type = "button";
      if (piece.length > 1 && piece[0] === "·") token.append(element("s", "", "·"), piece.slice(1));
      else token.append(piece);
      const space = piece[0] === "·" ? ". The · stands for a space" : "";
      row.title = (reason ? `${CUTS[reason]}${space}. ` : space ? `${space.slice(2)}. ` : "") + (id === chosen[1] ? "This is what was chosen" : "Click: go on from here with this token instead");
      row.setAttribute("aria-label", `${piece}, probability ${percent(p)}${reason ? `, ${CUTS[reason]}` : ""}${id === chosen[1] ? ", chosen" : ": go on with it instead"}`);
      row.onclick = () => { if (id !== chosen[1]) setTriggerValue("branch", { step: step + 1, token: id }); };
      const bar = element("span", "b");
      bar.append(element("i"));
      bar.firstChild.style.width = `${p * 100}%`;
      row.append(token);
      if (data.sampling) row.append(element("span", "n", signed(logit)), element("span", "n", scaled == null ? "–" : signed(scaled)));
      else row.append(bar);
      row.append(element("span", "n p", percent(p)));
      list.append(row);
    }
    const form = element("form", "word"), box = field("typed", "Or type a word", state.typed), go = element("button", "go", "Go on");
    go.title = "Put this word here, and let the model go on from it";
    box.oninput = () => { state.typed = box.value; };
    form.onsubmit = (event) => { event.preventDefault(); setTriggerValue("word", { step: step + 1, text: box.value }); };
    form.append(box, go);
    const rest = data.sampling ? `${data.kept[step]} of ${data.size} tokens can be drawn` : `All other tokens together: ${percent(Math.max(0, 1 - sum))}`;
    const shown = [list, element("p", "rest", rest), form];
    if (data.guess && state.guess) shown.unshift(element("p", "how verdict", verdict(step)));
    if (data.fault) { const fault = element("p", "fault", data.fault); fault.setAttribute("role", "alert"); shown.push(fault); }
    if (!data.sampling && !data.guess && !data.fault) {
      const how = element("p", "how");
      how.append("Click another token, or type a word: the translation goes on from there.");
      shown.push(how);
    }
    return shown;
  }

  function field(name, hint, value) {
    const box = element("input");
    Object.assign(box, { name, placeholder: hint, value, autocomplete: "off", spellcheck: false });
    box.setAttribute("aria-label", hint);
    return box;
  }
}
