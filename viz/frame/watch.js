// What is watched on every page: the theme, what opens over the page, and the labels of the charts. Streamlit does not run the
// script again when the visitor changes the theme in the menu; figures are coloured on the server, so it is told here: "light" or
// "dark", by the brightness of the page's background.

import { watchLabels } from "../kit/chart_labels.js";
import { watchHistory } from "../kit/one_entry.js";
import { watchPopovers } from "../kit/popovers.js";
import { watchPointed } from "../save/last_pointed.js";

const watchers = new WeakMap();

function currentMode() {
  const rgb = getComputedStyle(document.querySelector(".stApp")).backgroundColor.match(/[\d.]+/g).map(Number);
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] < 128 ? "dark" : "light";
}

export default function ({ data, parentElement, setStateValue }) {
  let reported = data.mode;
  const report = () => {
    const mode = currentMode();
    if (mode !== reported) { reported = mode; setStateValue("mode", mode); }
  };
  watchers.get(parentElement)?.disconnect();
  const watcher = new MutationObserver(() => requestAnimationFrame(report));
  watcher.observe(document.querySelector(".stApp"), { attributes: true, attributeFilter: ["class", "style"] });
  watchers.set(parentElement, watcher);
  report();
  const ends = [watchPopovers(), watchLabels(), watchPointed(), watchHistory()];
  return () => { watcher.disconnect(); watchers.delete(parentElement); for (const end of ends) end?.(); };
}
