// The place of a component in lecture mode: what is left of the stage below the component's upper edge, in its own pixels.

import { onResize, zoomOf } from "../kit/mount.js";

const MARGIN = 6; // px below it

const stageOf = (root) => root.getRootNode().host?.closest(".st-key-lecture_stage");

export function placeOf(root) {
  const bottom = Math.min(stageOf(root)?.getBoundingClientRect().bottom ?? innerHeight, innerHeight);
  return { width: root.clientWidth, height: Math.max(120, (bottom - root.getBoundingClientRect().top) / zoomOf(root) - MARGIN) };
}

export function onStage(state, root, draw) { // draws it again in another size of the stage
  const fresh = !state.resize, stage = stageOf(root);
  onResize(state, root, draw);
  if (fresh && stage) state.resize.observe(stage);
}
