// Shows charts next to each other, each with its title, a sentence and its legend; in lecture mode one of them or all, enlarged.
// Lines with the name of a published value follow it. With `has_columns`, a click on a map reports the column of its cell, from 0.

import { chartNode, DASHES } from "./chart_canvas.js";
import { element, followLines, mountComponent, onResize, publishedLines, svgElement, unmountComponent } from "./mount.js";
import { markPicture } from "./pen.js";
import { onStageResize, stageSize } from "./stage.js";

const ZOOMS = [0.8, 1.9]; // of a chart in lecture mode: the least and the largest
const TEXT_GAP = 2; // px between the texts of a chart and its canvas
const CHART_GAP = 10; // px between two rows of charts

function legendOf({ data, layout }) {
  const legend = element("p", "legend");
  for (const { name, line, marker } of layout.showlegend ? data.filter((trace) => trace.showlegend !== false) : []) {
    const entry = element("span", "", name), sign = svgElement("svg", { viewBox: "0 0 26 8", "aria-hidden": true });
    sign.append(svgElement("line", { x1: 0, x2: 26, y1: 4, y2: 4, stroke: [line?.color ?? marker.color].flat()[0], "stroke-width": line ? 2 : 8, "stroke-dasharray": (DASHES[line?.dash] ?? []).join(" ") }));
    entry.prepend(sign);
    legend.append(entry);
  }
  return legend;
}

// Returns a wide chart in a part of its own that scrolls.
function scroller(node, name) {
  const box = element("div", "scroller");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", name);
  box.append(node);
  return box;
}

export default function ({ data, parentElement, setTriggerValue, offline = false }) {
  const { root, state } = mountComponent({ data, parentElement }, ".charts"), isLarge = data.large !== null;
  const charts = Number.isInteger(data.large) ? data.charts.slice(data.large, data.large + 1) : data.charts;
  const columns = Math.max(1, Math.min(data.columns, charts.length)), rows = Math.ceil(charts.length / columns);
  if (charts.length === 1) delete root.dataset.picture; // Save lists the chart itself
  root.classList.toggle("large", isLarge);
  root.classList.toggle("several", charts.length > 1);
  root.style.setProperty("--columns", columns);
  const sizeKey = () => `${root.clientWidth} ${isLarge ? stageSize(root).height : ""}`;
  const build = () => {
    state.size = sizeKey();
    const sections = charts.map(({ title, note, figure }) => {
      const section = markPicture(element("section", "chart"), title || data.picture);
      section.append(...(title ? [element("h2", "", title)] : []), ...(note ? [element("p", "", note)] : []));
      if (figure?.layout.showlegend) section.append(legendOf(figure));
      return section;
    });
    root.replaceChildren(...sections);
    const room = isLarge ? (stageSize(root).height - CHART_GAP * (rows - 1)) / rows : 0, texts = sections.map(({ offsetHeight }) => offsetHeight);
    sections.forEach((section, n) => {
      const { figure, title, note } = charts[n];
      if (!figure) return;
      const own = figure.layout.height, free = room - texts[n] - TEXT_GAP, zoom = isLarge ? Math.max(ZOOMS[0], Math.min(ZOOMS[1], free / own)) : 1;
      const height = isLarge ? Math.max(own / 2, free / zoom) : own, width = section.clientWidth / zoom, least = isLarge ? 0 : (figure.layout.minreducedwidth ?? 0);
      const node = chartNode(figure, { root, width: Math.max(width, least), height, zoom, alt: data.alt || (note ? `${title}. ${note}` : title), onColumn });
      if (least <= width) { section.append(node); return; }
      const box = scroller(node, title || data.picture);
      section.append(box);
      box.scrollLeft = node.markedAt - box.clientWidth / 2;
    });
    for (const [name, value] of publishedLines()) moveLines(name, value);
  };
  const onColumn = data.has_columns && !offline ? (column) => setTriggerValue("column", column) : null;
  const moveLines = (name, value) => { for (const node of root.querySelectorAll(".chart-canvas")) node.moveLine(name, value); };
  Object.assign(state, { build, sizeKey });
  state.stop?.();
  state.stop = followLines(moveLines);
  build();
  (isLarge ? onStageResize : onResize)(state, root, () => { if (state.sizeKey() !== state.size) state.build(); });
  return () => { state.stop(); unmountComponent(root); };
}
