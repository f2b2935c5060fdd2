// Outlines the row of the step in the page's maps: each that follows it has a frame around its first row, which is moved here.
// The figures stay as they are, and nothing is drawn again.

import { followStep, mounted, toldStep, unmounted } from "./mount.js";

export const NAME = "step row"; // of the frame, among a figure's shapes

// How far down the frame stands, in rows; null where the map has no such row.
export const rowsDown = (step, [below, above]) => (step >= 1 && step <= Math.round(below - above) ? step - 1 : null);

function outline(step) {
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const at = plot.layout?.shapes?.findIndex((shape) => shape.name === NAME) ?? -1;
    const path = at < 0 ? null : plot.querySelector(`.shapelayer path[data-index="${at}"], .shapelayer [data-index="${at}"] path`);
    if (!path) continue;
    const down = rowsDown(step, plot.layout.yaxis.range), row = String(down === null ? "" : down + 1);
    path.style.transform = `translateY(${(down ?? 0) * path.getBBox().height}px)`;
    path.style.opacity = down === null ? 0 : 1;
    plot.dataset.row = row;
  }
}

export default function ({ data, parentElement }) {
  const { root, state, first } = mounted({ data, parentElement }, ".step-rows");
  state.step = (data.follow && toldStep()?.step) || data.step;
  const draw = () => outline(state.step);
  draw();
  if (first) {
    let waits = 0;
    state.unfollow = followStep((message) => { if (state.follow) { state.step = message.step; outline(state.step); } });
    state.watch = new MutationObserver(() => { waits ||= requestAnimationFrame(() => { waits = 0; outline(state.step); }); }); // maps come late, and are set anew in another size
    state.watch.observe(document.querySelector(".stApp"), { childList: true, subtree: true });
  }
  state.follow = data.follow;
  return () => { state.unfollow(); state.watch.disconnect(); unmounted(root); };
}
