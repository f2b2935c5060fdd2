// The readings of a source in rows, the best first. Nothing here makes markup from text.

import { button, element, focusOf, withMinusSign, mountComponent, refocus, unmountComponent } from "../kit/mount.js";
import { stepKeys } from "./step_keys.js";

const two = (value) => withMinusSign((Math.abs(value) < 0.005 ? 0 : value).toFixed(2));
const CROWDED = 16; // words that share a line in large type

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mountComponent({ data, parentElement }, ".ranking"), focused = focusOf(parentElement), last = data.scale.length - 1;
  root.classList.toggle("many", Boolean(data.many && !data.said));
  root.classList.toggle("large", Boolean(data.said));
  root.classList.toggle("crowded", data.rows[0].words.length > CROWDED);
  root.replaceChildren(...(data.said ? [element("h2", "", data.said)] : []), head(), ...data.rows.map(row), floor());
  refocus(root, focused);
  stepKeys(state, data, setTriggerValue, data.said);
  return () => { state.deaf(); unmountComponent(root); };

  function head() {
    const line = element("div", "head");
    line.append(element("span", "", "Reading"), element("span", "", data.said ? "blue speaks for it, pink against" : `${data.text}: blue where a word speaks for it, pink where against`), element("span", "number", "Area here"));
    if (data.many && !data.said) line.append(element("span", "number", data.many));
    return line;
  }

  function row({ name, label, meaning, share, words, many }) {
    const line = button("row", null, () => setTriggerValue("reading", name)), said = element("span", "words");
    line.setAttribute("aria-pressed", String(name === data.chosen));
    line.dataset.focus = name;
    line.title = meaning;
    for (const [text, value, number] of words) {
      const word = element("span", "word", text);
      word.style.background = data.scale[Math.round(((0.55 * value + 1) / 2) * last)];
      word.title = withMinusSign(String(number));
      said.append(word, " ");
    }
    line.append(element("span", "name", label), said, ...numbers(share == null ? "–" : two(share), share, many));
    return line;
  }

  function floor() {
    const line = element("div", "row floor"), { share, many } = data.random;
    line.append(element("span", "name", "Random orders"), element("span", "words note", "0 on average; ± how far they scatter"), ...numbers(share == null ? "–" : `± ${two(share)}`, null, many));
    return line;
  }

  function numbers(text, share, many) {
    const here = element("span", "number here"), bar = element("i");
    bar.style.width = `calc((100% - 46px) * ${Math.max(0, Math.min(1, share ?? 0))})`;
    here.append(bar, element("b", "", text));
    if (!data.many || data.said) return [here];
    const over = element("span", "number");
    if (many) over.append(element("b", "", two(many[0])), element("small", "", ` ${two(many[1])} to ${two(many[2])}`));
    else over.append("–");
    return [here, over];
  }
}
