// Shows charts next to each other, each with its title, a sentence and its legend; in lecture mode one of them, enlarged. Lines
// with the name of a published value follow it.

import { chartNode, DASHES } from "./chart_canvas.js";
import { element, followLines, mountComponent, onResize, publishedLines, svgElement, unmountComponent } from "./mount.js";
import { markPicture } from "./pen.js";
import { onStageResize, stageSize } from "./stage.js";

const ZOOM = 1.9; // of a chart in lecture mode
const MIN_HEIGHT = 120; // px of a chart in lecture mode, before it is enlarged

function legendOf({ data, layout }) {
  const legend = element("p", "legend");
  for (const { name, line } of layout.showlegend ? data.filter((trace) => trace.showlegend !== false) : []) {
    const entry = element("span", "", name), sign = svgElement("svg", { viewBox: "0 0 26 8", "aria-hidden": true });
    sign.append(svgElement("line", { x1: 0, x2: 26, y1: 4, y2: 4, stroke: line.color, "stroke-width": 2, "stroke-dasharray": (DASHES[line.dash] ?? []).join(" ") }));
    entry.prepend(sign);
    legend.append(entry);
  }
  return legend;
}

export default function ({ data, parentElement }) {
  const { root, state } = mountComponent({ data, parentElement }, ".charts"), isLarge = data.large !== null;
  const charts = isLarge ? data.charts.slice(data.large, data.large + 1) : data.charts;
  root.classList.toggle("large", isLarge);
  root.style.setProperty("--columns", data.columns);
  const sizeKey = () => `${root.clientWidth} ${isLarge ? stageSize(root).height : ""}`;
  const build = () => {
    state.size = sizeKey();
    const sections = charts.map(({ title, note, figure }) => {
      const section = markPicture(element("section", "chart"), title);
      section.append(element("h2", "", title), element("p", "", note));
      if (figure?.layout.showlegend) section.append(legendOf(figure));
      return section;
    });
    root.replaceChildren(...sections);
    sections.forEach((section, n) => {
      const { figure, title, note } = charts[n];
      if (!figure) return;
      const zoom = isLarge ? ZOOM : 1, width = section.clientWidth / zoom;
      const height = isLarge ? Math.max(MIN_HEIGHT, (stageSize(root).height - section.offsetHeight) / zoom) : figure.layout.height;
      section.append(chartNode(figure, { root, width, height, zoom, alt: `${title}. ${note}` }));
    });
    for (const [name, value] of publishedLines()) moveLines(name, value);
  };
  const moveLines = (name, value) => { for (const node of root.querySelectorAll(".chart-canvas")) node.moveLine(name, value); };
  Object.assign(state, { build, sizeKey });
  state.stop?.();
  state.stop = followLines(moveLines);
  build();
  (isLarge ? onStageResize : onResize)(state, root, () => { if (state.sizeKey() !== state.size) state.build(); });
  return () => { state.stop(); unmountComponent(root); };
}
