// The probability of each token before the edits and after them, a row a token. Nothing here makes markup from text.

import { element, mounted, percent, unmounted } from "./mount.js";

export default function ({ data, parentElement }) {
  const { root } = mounted({ data, parentElement }, ".change"), list = element("ol");
  const note = element("p", "note", data.edited ? "Hollow: before. Filled: after." : "Nothing is edited.");
  data.labels.forEach((label, n) => list.append(row(label, data.before[n], data.edited ? data.after[n] : null, n + 1 === data.step)));
  if (data.after.length < data.before.length) note.append(" Where the translations have parted, nothing is compared.");
  root.replaceChildren(element("h2", "", data.edited ? "Probability of the baseline’s token" : "Probability of each token"), note, list);
  return () => unmounted(root);

  function row(label, before, after, current) {
    const line = element("li", current ? "current" : ""), track = element("span", "track"), stem = element("i", after < before ? "loss" : "gain");
    const dot = (className, p) => { const node = element("i", className); node.style.left = `${p * 100}%`; return node; };
    if (after !== null && after !== undefined) {
      stem.style.left = `${Math.min(before, after) * 100}%`;
      stem.style.width = `${Math.abs(after - before) * 100}%`;
      track.append(stem, dot("hollow", before), dot(`filled ${after < before ? "loss" : "gain"}`, after));
    } else track.append(dot("hollow", before));
    const said = data.edited ? `${percent(before)} → ${after === undefined ? "–" : percent(after)}` : percent(before);
    line.append(element("span", "token", label), track, element("span", "value", said));
    return line;
  }
}
