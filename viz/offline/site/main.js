// Starts the site: reads what Python stored in the page, and mounts the components of the app.

import candidates from "../../decoding_steps/candidates.js";
import headMap from "../../decoding_steps/head_map.js";
import timeline from "../../decoding_steps/timeline.js";
import { inflated, isTooOld, onTheme, shadowRoot } from "../file_parts.js";
import { start } from "./page.js";
import { readTrace } from "./stored_trace.js";

const PRINTED = "@media print { input, select, .btn, .link, .why, .way { display: none !important; } }"; // controls do nothing on paper
const components = { timeline, candidates, head_map: headMap };

export async function main() {
  if (isTooOld()) return;
  if (document.readyState === "loading") await new Promise((arrived) => { document.addEventListener("DOMContentLoaded", arrived); }); // the script starts before the data
  const [view, weights] = await Promise.all([inflated("view"), inflated("weights")]);
  const { css, site, stored } = JSON.parse(new TextDecoder().decode(view)), roots = {};
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

  start({ site, trace: readTrace(stored, weights), mount, add, onTheme: (draw) => onTheme((to) => { mode = to; document.documentElement.dataset.theme = to; draw(to); }) });
}
