// What is watched on every page: the theme, the connection, what opens over the page, and the labels of the charts. Streamlit does
// not run the script again when the visitor changes the theme in the menu; figures are coloured on the server, so it is told here:
// "light" or "dark", by the brightness of the page's background. Without a run of a restarted server, the next click would be lost.

import { watchLabels } from "../kit/chart_labels.js";
import { watchPlaces } from "../kit/lazy.js";
import { watchHistory } from "../kit/one_entry.js";
import { watchPopovers } from "../kit/popovers.js";
import { watchPointed } from "../save/last_pointed.js";

const watchers = new WeakMap();

function currentMode() {
  const rgb = getComputedStyle(document.querySelector(".stApp")).backgroundColor.match(/[\d.]+/g).map(Number);
  return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2] < 128 ? "dark" : "light";
}

// Keeps the colours of the page: a run sends them only after the theme has changed.
function keepColours(style) {
  const own = document.getElementById("lab-colours") ?? document.head.appendChild(Object.assign(document.createElement("style"), { id: "lab-colours" }));
  own.textContent = `:root{${Object.entries(style).map(([name, value]) => `${name}:${value}`).join(";")}}`;
}

export function watchPage({ data, parentElement, setStateValue, setTriggerValue }) {
  keepColours(data.style);
  let reported = data.mode;
  const report = () => {
    const mode = currentMode();
    if (mode !== reported) { reported = mode; setStateValue("mode", mode); }
  };
  watchers.get(parentElement)?.disconnect();
  const app = document.querySelector(".stApp"), isConnected = () => app.dataset.testConnectionState === "CONNECTED";
  let wasConnected = isConnected();
  const watcher = new MutationObserver(() => {
    requestAnimationFrame(report);
    if (!wasConnected && isConnected()) setTriggerValue("reconnected", true); // a restarted server knows the widgets after a run
    wasConnected = isConnected();
  });
  watcher.observe(app, { attributes: true, attributeFilter: ["class", "style", "data-test-connection-state"] });
  watchers.set(parentElement, watcher);
  report();
  const ends = [watchPopovers((key) => setTriggerValue("popover", key)), watchPlaces((place) => setTriggerValue("seen", place)), watchLabels(), watchPointed(), watchHistory()];
  return () => { watcher.disconnect(); watchers.delete(parentElement); for (const end of ends) end?.(); };
}
