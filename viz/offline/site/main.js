// Starts the site: reads what Python stored in the page, and mounts the components of the app.

import candidates from "../../decoding_steps/candidates.js";
import headMap from "../../decoding_steps/head_map.js";
import timeline from "../../decoding_steps/timeline.js";
import { inflated, isTooOld, onTheme, shadowRoot } from "../file_parts.js";
import { start } from "./page.js";
import { addSites, readTrace } from "./stored_trace.js";

const PRINTED = "@media print { input, select, .btn, .link, .why, .way { display: none !important; } }"; // controls do nothing on paper
const components = { timeline, candidates, head_map: headMap };

/** Resolves when the element with this id has arrived with all its text: something stands behind it, or the page has ended. */
function arrived(id) {
  return new Promise((resolve) => {
    const observer = new MutationObserver(look);
    function look() {
      if (document.readyState === "loading" && !document.getElementById(id)?.nextSibling) return;
      observer.disconnect();
      resolve();
    }
    observer.observe(document.body, { childList: true });
    document.addEventListener("DOMContentLoaded", look, { once: true });
    look();
  });
}

export async function main() {
  if (isTooOld()) return;
  const data = async (id) => { await arrived(id); return inflated(id); }; // the script starts before the data
  const [view, opening] = await Promise.all([data("view"), data("opening")]);
  const { css, site, stored } = JSON.parse(new TextDecoder().decode(view)), trace = readTrace(stored), roots = {};
  addSites(trace, stored, stored.opening, opening);
  const whole = data("weights").then((weights) => addSites(trace, stored, Object.keys(stored.attention).filter((name) => !stored.opening.includes(name)), weights));
  if (location.search) await whole; // a link may ask for any map
  let mode = "light";

  function mount(name, data, events) {
    roots[name] ??= shadowRoot(document.querySelector(`.part-${name}`), name, css[name] + PRINTED);
    const tell = (event, value) => events[event]?.(value);
    components[name]({ data: { ...data, style: site.styles[mode], component: name }, parentElement: roots[name], setStateValue: tell, setTriggerValue: tell });
  }

  /** Adds components with their styles, and constants. */
  function add(views) {
    Object.assign(components, views.components);
    Object.assign(css, views.css);
    Object.assign(site, views.site);
  }

  start({ site, trace, whole, mount, add, onTheme: (draw) => onTheme((to) => { mode = to; document.documentElement.dataset.theme = to; draw(to); }) });
}
