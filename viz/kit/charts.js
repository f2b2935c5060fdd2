// Shows charts next to each other, each with its title and a sentence; in lecture mode one of them, enlarged.

import { chartNode } from "./chart_canvas.js";
import { element, mountComponent, onResize, unmountComponent } from "./mount.js";
import { markPicture } from "./pen.js";
import { onStageResize, stageSize } from "./stage.js";

const ZOOM = 1.9; // of a chart in lecture mode
const MIN_HEIGHT = 120; // px of a chart in lecture mode, before it is enlarged

export default function ({ data, parentElement }) {
  const { root, state } = mountComponent({ data, parentElement }, ".charts"), isLarge = data.large !== null;
  const charts = isLarge ? data.charts.slice(data.large, data.large + 1) : data.charts;
  root.classList.toggle("large", isLarge);
  root.style.setProperty("--columns", data.columns);
  const sizeKey = () => `${root.clientWidth} ${isLarge ? stageSize(root).height : ""}`;
  const build = () => {
    state.size = sizeKey();
    const sections = charts.map(({ title, note }) => {
      const section = markPicture(element("section", "chart"), title);
      section.append(element("h2", "", title), element("p", "", note));
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
  };
  Object.assign(state, { build, sizeKey });
  build();
  (isLarge ? onStageResize : onResize)(state, root, () => { if (state.sizeKey() !== state.size) state.build(); });
  return () => unmountComponent(root);
}
