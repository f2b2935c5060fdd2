// Starts the site: reads what Python stored in the page, and mounts the components of the app.

import beamTree from "../../decoding_steps/beam_tree.js";
import candidates from "../../decoding_steps/candidates.js";
import headMap from "../../decoding_steps/head_map.js";
import timeline from "../../decoding_steps/timeline.js";
import route from "../../why/route.js";
import { inflated, isTooOld, onTheme, shadowRoot } from "../file_parts.js";
import { start } from "./page.js";

const COMPONENTS = { timeline, candidates, route, head_map: headMap, beam_tree: beamTree };

export async function main() {
  if (isTooOld()) return;
  if (document.readyState === "loading") await new Promise((arrived) => { document.addEventListener("DOMContentLoaded", arrived); }); // the script starts before the data
  const { css, site, stored } = JSON.parse(new TextDecoder().decode(await inflated("view"))), roots = {};
  let mode = "light";

  function mount(name, data, events) {
    roots[name] ??= shadowRoot(document.querySelector(`.part-${name}`), name, css[name]);
    const tell = (event, value) => events[event]?.(value);
    COMPONENTS[name]({ data: { ...data, style: site.styles[mode], component: name }, parentElement: roots[name], setStateValue: tell, setTriggerValue: tell });
  }

  start({ site, stored, mount, onTheme: (draw) => onTheme((to) => { mode = to; document.documentElement.dataset.theme = to; draw(to); }) });
}
