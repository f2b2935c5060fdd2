// Outlines the row of the current step in the page's maps. Each map that follows the step has a frame around its first row, and this
// script moves the frame. The figures are not redrawn.

import { followStep, mountComponent, publishedStep, unmountComponent } from "./mount.js";

export const NAME = "step row"; // name of the frame among a figure's shapes

// Returns how many rows the frame moves down, or null if the map has no row for the step.
export const rowsDown = (step, [below, above]) => (step >= 1 && step <= Math.round(below - above) ? step - 1 : null);

function outline(step) {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const index = plot.layout?.shapes?.findIndex((shape) => shape.name === NAME) ?? -1;
    const path = index < 0 ? null : plot.querySelector(`.shapelayer path[data-index="${index}"], .shapelayer [data-index="${index}"] path`);
    if (!path) continue;
    const offset = rowsDown(step, plot.layout.yaxis.range), row = String(offset === null ? "" : offset + 1);
    path.style.transform = `translateY(${(offset ?? 0) * path.getBBox().height}px)`;
    path.style.opacity = offset === null ? 0 : 1;
    plot.dataset.row = row;
  }
}

export default function ({ data, parentElement }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".step-rows");
  state.step = (data.follow && publishedStep()?.step) || data.step;
  const draw = () => outline(state.step);
  draw();
  if (first) {
    let frame = 0;
    state.stopFollowing = followStep((message) => { if (state.follow) { state.step = message.step; outline(state.step); } });
    state.observer = new MutationObserver(() => { frame ||= requestAnimationFrame(() => { frame = 0; outline(state.step); }); }); // maps appear late, and Plotly rebuilds them after a resize
    state.observer.observe(document.querySelector(".stApp"), { childList: true, subtree: true });
  }
  state.follow = data.follow;
  return () => { state.stopFollowing(); state.observer.disconnect(); unmountComponent(root); };
}
