// Measures the room of a component in lecture mode: the stage below the component's upper edge, in the component's own pixels.

import { onResize, zoomOf } from "../kit/mount.js";

const MARGIN = 6; // px below the component

const stageOf = (root) => root.getRootNode().host?.closest(".st-key-lecture_stage");

export function stageSize(root) {
  const bottom = Math.min(stageOf(root)?.getBoundingClientRect().bottom ?? innerHeight, innerHeight);
  return { width: root.clientWidth, height: Math.max(120, (bottom - root.getBoundingClientRect().top) / zoomOf(root) - MARGIN) };
}

// Sets the first of some font sizes, in px, with which a line of text fits its width, else the first. The stylesheet of the line uses it
// as --fitted.
export function fitFont(node, sizes) {
  const fits = (size) => { node.style.setProperty("--fitted", `${size}px`); return node.scrollWidth <= node.clientWidth; };
  if (!sizes.some(fits)) fits(sizes[0]);
}

export function onStageResize(state, root, draw) { // redraws the component when its stage or an element above it changes size
  const isNew = !state.resize, stage = stageOf(root);
  onResize(state, root, draw);
  if (isNew && stage) for (const node of [stage, ...stage.children]) state.resize.observe(node);
}
