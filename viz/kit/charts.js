// Shows charts next to each other, each with its title and a sentence; in lecture mode one of them or all, enlarged.

import { chartNode } from "./chart_canvas.js";
import { element, mountComponent, onResize, unmountComponent } from "./mount.js";
import { markPicture } from "./pen.js";
import { onStageResize, stageSize } from "./stage.js";

const ZOOMS = [0.8, 1.9]; // of a chart in lecture mode: the least and the largest
const TEXT_GAP = 2; // px between the texts of a chart and its canvas
const CHART_GAP = 10; // px between two rows of charts

export default function ({ data, parentElement }) {
  const { root, state } = mountComponent({ data, parentElement }, ".charts"), isLarge = data.large !== null;
  const charts = Number.isInteger(data.large) ? data.charts.slice(data.large, data.large + 1) : data.charts;
  const columns = Math.max(1, Math.min(data.columns, charts.length)), rows = Math.ceil(charts.length / columns);
  root.classList.toggle("large", isLarge);
  root.classList.toggle("several", charts.length > 1);
  root.style.setProperty("--columns", columns);
  const sizeKey = () => `${root.clientWidth} ${isLarge ? stageSize(root).height : ""}`;
  const build = () => {
    state.size = sizeKey();
    const sections = charts.map(({ title, note }) => {
      const section = markPicture(element("section", "chart"), title);
      section.append(element("h2", "", title), ...(note ? [element("p", "", note)] : []));
      return section;
    });
    root.replaceChildren(...sections);
    const room = isLarge ? (stageSize(root).height - CHART_GAP * (rows - 1)) / rows : 0, texts = sections.map(({ offsetHeight }) => offsetHeight);
    sections.forEach((section, n) => {
      const { figure, title, note } = charts[n];
      if (!figure) return;
      const own = figure.layout.height, free = room - texts[n] - TEXT_GAP, zoom = isLarge ? Math.max(ZOOMS[0], Math.min(ZOOMS[1], free / own)) : 1;
      const height = isLarge ? Math.max(own / 2, free / zoom) : own;
      section.append(chartNode(figure, { root, width: section.clientWidth / zoom, height, zoom, alt: note ? `${title}. ${note}` : title }));
    });
  };
  Object.assign(state, { build, sizeKey });
  build();
  (isLarge ? onStageResize : onResize)(state, root, () => { if (state.sizeKey() !== state.size) state.build(); });
  return () => unmountComponent(root);
}
