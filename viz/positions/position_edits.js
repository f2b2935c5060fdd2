// A row for each edit of the positions: a button, the change of the log-probability, and the new translation.

import { button, element, focusOf, mountComponent, refocus, unmountComponent } from "../kit/mount.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const { root } = mountComponent({ data, parentElement }, ".position-edits"), focused = focusOf(parentElement);
  root.classList.toggle("large", data.large);
  root.replaceChildren(...row(element("span", "note", "Baseline"), { words: data.base.map((word) => [word, false]) }), ...data.rows.flatMap((each) => row(choice(each), each)));
  refocus(root, focused);
  return () => unmountComponent(root);

  function choice({ code, name, made, fault }) {
    const node = button("", name, () => setTriggerValue("make", code));
    node.dataset.focus = code;
    node.setAttribute("aria-pressed", String(made));
    if (made) node.title = "Take this edit back";
    node.disabled = Boolean(fault) && !made;
    return node;
  }

  function row(first, { words, change, note, fault }) {
    const number = element("b", change?.[1] ?? "", change?.[0] ?? ""), text = element("div");
    if (fault) text.append(element("p", "note", fault));
    else text.append(sentence(words));
    if (note) text.append(element("p", "note", note));
    return [first, number, text];
  }

  function sentence(words) {
    const node = element("p", "words", words.length ? null : "(nothing)");
    node.lang = data.lang;
    words.forEach(([word, changed], n) => node.append(n ? " " : "", changed ? element("mark", "", word) : word));
    return node;
  }
}
