// The nearest tokens of a token as bars, a list for each language. Nothing here makes markup from text: textContent only.

import { centreChip, fadeEnds } from "../kit/chip_row.js";
import { button, element, focusOf, mountComponent, refocus, unmountComponent, withMinusSign } from "../kit/mount.js";

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root } = mountComponent({ data, parentElement }, ".neighbours"), focused = focusOf(parentElement);
  const cosines = data.found.flatMap(({ lists }) => lists.flatMap(({ rows }) => rows.map(({ cosine }) => cosine)));
  const low = Math.min(0, ...cosines) * 1.1, share = (value) => (100 * (value - low)) / (1 - low); // one scale for all lists
  root.classList.toggle("large", Boolean(data.large));
  root.replaceChildren(...(data.large ? [] : data.sentence.map(sentenceLine)), ...data.found.map(foundToken));
  refocus(root, focused);
  return () => unmountComponent(root);

  function choice(className, near, name) { // a button that looks up a token
    const node = button(className, null, () => setTriggerValue("near", near));
    node.disabled = Boolean(offline);
    node.dataset.focus = name;
    return node;
  }

  function sentenceLine({ title, tokens }, n) {
    const line = element("div", "line"), chips = fadeEnds(element("div", "chips"));
    chips.setAttribute("role", "group");
    chips.setAttribute("aria-label", `Tokens, ${title}`);
    tokens.forEach((label, i) => {
      const chip = choice("chip", label === data.near ? "" : label, `chip ${n} ${i}`);
      chip.textContent = label;
      chip.setAttribute("aria-pressed", label === data.near);
      chips.append(chip);
    });
    line.append(element("h2", "small", title), chips);
    requestAnimationFrame(() => centreChip(chips, chips.querySelector("[aria-pressed=true]")));
    return line;
  }

  function foundToken({ label, seen, rare, count, others, lists }, n) {
    const section = element("section", "found"), title = element("h2"), both = element("div", "lists");
    title.append(element("span", "token", label), element("small", "", seen));
    both.append(...lists.map((list, i) => nearest(list, `${n} ${i}`)));
    section.append(title, ...(rare ? [element("p", "warn", rare)] : []), ...(count > 1 && !data.large ? [pieces(count, others, n)] : []), both);
    return section;
  }

  function pieces(count, others, n) {
    const line = element("p", "pieces", `“${data.near}” has no token of its own. It is cut into ${count}: the first is shown, the others are`);
    others.forEach(([label, near], i) => {
      const piece = choice("link", near, `piece ${n} ${i}`);
      piece.textContent = label;
      line.append(" ", piece);
    });
    return line;
  }

  function nearest({ title, hue, none, rows }, place) {
    const section = element("section", "list"), heading = element("h3", "", title), list = element("ol"), sign = element("i", "hue");
    sign.style.background = `var(--lab-${hue})`;
    heading.prepend(sign);
    rows.forEach(({ token: [label, near], cosine, note, hollow }, i) => {
      const item = element("li"), row = choice("row", near, `row ${place} ${i}`), bar = element("span", "bar"), fill = element("i", hollow ? "hollow" : "");
      Object.assign(fill.style, { left: `${share(Math.min(0, cosine))}%`, width: `${share(Math.max(0, cosine)) - share(Math.min(0, cosine))}%`, borderColor: `var(--lab-${hue})` });
      if (!hollow) fill.style.background = `color-mix(in srgb, var(--lab-${hue}) 75%, var(--lab-page))`;
      bar.append(fill);
      row.append(element("span", "name", label), bar, element("b", "", withMinusSign(cosine.toFixed(2))));
      row.title = [`cosine ${withMinusSign(cosine.toFixed(5))}`, note].filter(Boolean).join("; ");
      row.setAttribute("aria-label", `${label}, ${[`cosine ${withMinusSign(cosine.toFixed(2))}`, note].filter(Boolean).join("; ")}`);
      row.dataset.point = `row ${place} ${i}`;
      item.append(row);
      list.append(item);
    });
    section.append(heading, rows.length ? list : element("p", "none", none));
    return section;
  }
}
