// Lists the parts of a page that can be saved as a picture: the marked pictures, every chart and the whole view.

import { MAIN } from "./picture.js";

const MIN_HEIGHT = 60; // px: a component below this height is no picture

const isRendered = (node) => node.checkVisibility?.({ visibilityProperty: true }) !== false && node.getBoundingClientRect().height > 8;

// Returns all elements that match, including those in the shadow roots of components.
export function findElements(root, selector) {
  const elements = [...root.querySelectorAll(selector)];
  const shadows = [...root.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].map((host) => host.shadowRoot ?? host.querySelector("*")?.shadowRoot).filter(Boolean);
  return [...elements, ...shadows.flatMap((shadow) => [...shadow.querySelectorAll(selector)])];
}

// Returns the heads that a picture, or the part around it, and its visible parts state.
export function statedHeads(picture) {
  const around = picture.closest("[data-picture-heads]"), parts = [...(around ? [around] : []), ...findElements(picture, "[data-picture-heads]")];
  return parts.filter(isRendered).flatMap((part) => JSON.parse(part.dataset.pictureHeads));
}

const titleOf = (text) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/[_-]/g, " ");
const keyOf = (node) => /st-key-(\S+)/.exec(node.closest('[class*="st-key-"]')?.className)?.[1] || "";

// Returns the large components without a picture mark as pictures.
function unmarkedPictures(main) {
  return [...main.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].flatMap((host) => {
    const shadow = host.shadowRoot ?? host.querySelector("*")?.shadowRoot, root = shadow?.querySelector("div, section");
    if (!root || root.closest("[data-picture-skip]") || shadow.querySelector("[data-picture], [data-picture-skip]")) return [];
    return isRendered(root) && root.getBoundingClientRect().height >= MIN_HEIGHT ? [{ node: root, name: titleOf(keyOf(host)) }] : [];
  });
}

function visibleArea({ node }) { // area of the window that a picture covers, in px²
  const { left, top, right, bottom } = node.getBoundingClientRect();
  return Math.max(0, Math.min(right, innerWidth) - Math.max(left, 0)) * Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
}

// Returns the pictures of the page as { node, name }, in the order of the page, and the index of the selected one. This is the picture
// that the user pointed at last, else the one with the largest visible area.
export function listPictures() {
  const main = document.querySelector(MAIN);
  const marked = findElements(main, "[data-picture]").filter((node) => node.dataset.picture && isRendered(node)).map((node) => ({ node, name: node.dataset.picture }));
  const charts = findElements(main, ".js-plotly-plot").filter(isRendered).map((node) => ({ node, name: node._context?.toImageButtonOptions?.filename || titleOf(keyOf(node)) }));
  const all = [...marked, ...charts, ...unmarkedPictures(main)], rects = new Map(all.map((each) => [each, each.node.getBoundingClientRect()]));
  all.sort((a, b) => rects.get(a).top - rects.get(b).top || rects.get(a).left - rects.get(b).left);
  const pointedNode = document.labLastPointed?.deref?.(), pointedIndex = all.findIndex(({ node }) => node === pointedNode);
  const largestIndex = all.reduce((best, each, n) => (best < 0 || visibleArea(each) > visibleArea(all[best]) ? n : best), -1);
  return { all: [...all, { node: main, name: "The whole view" }], selected: pointedIndex >= 0 ? pointedIndex : Math.max(0, largestIndex) };
}
