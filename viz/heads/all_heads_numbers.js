// A head's numbers beside those of all heads of its site. Nothing here makes markup from text: textContent only.

import { element, minus } from "../shared/mount.js";

// Whose numbers are shown: one head's, or those of all heads of a layer, or of the site.
export const meant = (grid, { index, layer }) => grid.places.map(([own], n) => (index === null ? layer === null || own === layer : n === index));

export function numbers(metrics, grid, at, settings, agreement) {
  const box = element("section", ""), title = element("h3", "", "On this sentence"), list = element("div", "numbers"), own = meant(grid, at);
  title.append(element("small", "", `beside the site’s ${grid.places.length} heads`));
  for (const { name, label, unit, meaning, digits } of metrics.filter((metric) => grid.numbers[metric.name])) {
    const values = grid.numbers[name], top = Math.max(...values, 1e-9), track = element("div", "track");
    values.forEach((value, n) => {
      const tick = element("i", own[n] && (at.index !== null || at.layer !== null) ? "on" : "");
      tick.style.left = `${(value / top) * 100}%`;
      track.append(tick);
    });
    const shown = values.filter((_, n) => own[n]), named = element("span", "", unit ? `${label}, ${unit}` : label);
    named.title = meaning;
    list.append(named, track, element("b", "", (shown.reduce((a, b) => a + b, 0) / shown.length).toFixed(digits)));
  }
  box.append(title, list);
  if (at.index === null) box.append(element("p", "agree", at.layer === null ? "The numbers are means over all heads of the site." : `The numbers are means over the heads of layer ${at.layer}, marked.`));
  box.append(settings);
  if (agreement) {
    const agree = element("p", "agree"), told = (value) => (value === null ? "–" : minus(value.toFixed(2)));
    agree.append("Rank correlation of this head’s weights with its contributions ", element("b", "", told(agreement.contribution)), ", with the rollout ", element("b", "", told(agreement.rollout)), ": where they disagree, no one of them is the whole story.");
    box.append(agree);
  }
  return box;
}
