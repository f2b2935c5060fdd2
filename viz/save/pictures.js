// What of a page can be saved as a picture: what calls itself one, every chart, and the whole view; the first is what is meant.

import { MAIN } from "./picture.js";

const LOWEST = 60; // px: a lower component is no picture

const shown = (node) => node.checkVisibility?.({ visibilityProperty: true }) !== false && node.getBoundingClientRect().height > 8;

// All elements of a kind, with those in the shadows of components.
export function found(root, selector) {
  const own = [...root.querySelectorAll(selector)];
  const hosts = [...root.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].map((host) => host.shadowRoot ?? host.querySelector("*")?.shadowRoot).filter(Boolean);
  return [...own, ...hosts.flatMap((shadow) => [...shadow.querySelectorAll(selector)])];
}

const titled = (text) => text.charAt(0).toUpperCase() + text.slice(1).replaceAll(/[_-]/g, " ");
const keyOf = (node) => /st-key-(\S+)/.exec(node.closest('[class*="st-key-"]')?.className)?.[1] || "";

// A component that does not call itself a picture is one where it is as large as one.
function unnamed(main) {
  return [...main.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].flatMap((host) => {
    const shadow = host.shadowRoot ?? host.querySelector("*")?.shadowRoot, root = shadow?.querySelector("div, section");
    if (!root || root.closest("[data-picture-skip]") || shadow.querySelector("[data-picture], [data-picture-skip]")) return [];
    return shown(root) && root.getBoundingClientRect().height >= LOWEST ? [{ node: root, name: titled(keyOf(host)) }] : [];
  });
}

function inSight({ node }) { // how much of the window a picture takes
  const { left, top, right, bottom } = node.getBoundingClientRect();
  return Math.max(0, Math.min(right, innerWidth) - Math.max(left, 0)) * Math.max(0, Math.min(bottom, innerHeight) - Math.max(top, 0));
}

// The pictures of the page as { node, name }, in the order of the page; the number of the one that is meant: what was pointed at last,
// else what takes most of the window.
export function pictures() {
  const main = document.querySelector(MAIN);
  const called = found(main, "[data-picture]").filter((node) => node.dataset.picture && shown(node)).map((node) => ({ node, name: node.dataset.picture }));
  const charts = found(main, ".js-plotly-plot").filter(shown).map((node) => ({ node, name: node._context?.toImageButtonOptions?.filename || titled(keyOf(node)) }));
  const all = [...called, ...charts, ...unnamed(main)], at = new Map(all.map((each) => [each, each.node.getBoundingClientRect()]));
  all.sort((a, b) => at.get(a).top - at.get(b).top || at.get(a).left - at.get(b).left);
  const pointed = document.labPointed?.deref?.(), chosen = all.findIndex(({ node }) => node === pointed);
  const most = all.reduce((best, each, n) => (best < 0 || inSight(each) > inSight(all[best]) ? n : best), -1);
  return { all: [...all, { node: main, name: "The whole view" }], chosen: chosen >= 0 ? chosen : Math.max(0, most) };
}
