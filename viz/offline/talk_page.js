// Script of a talk as one HTML file: shows the page of a stop in a frame, and its line below. Texts go through textContent only.

import { button, element } from "../kit/mount.js";
import { inflated, isTooOld } from "./file_parts.js";

const PAGE_KEYS = { PageDown: 1, PageUp: -1 };

export async function start() {
  if (isTooOld()) return;
  const text = async (id) => new TextDecoder().decode(await inflated(id)), { title, stops } = JSON.parse(await text("talk"));
  const main = document.querySelector("main"), strip = document.querySelector(".strip");
  const line = element("p", "line"), place = element("p", "place");
  const back = button("back", "‹ Back", () => show(at - 1)), next = button("next", "Next ›", () => show(at + 1));
  let at = 0;
  line.setAttribute("role", "status");
  strip.append(line, place, back, next);

  async function show(number) {
    if (number < 1 || number > stops.length) return;
    at = number;
    const stop = stops[number - 1];
    line.textContent = stop.line;
    place.textContent = `${number} of ${stops.length}`;
    back.disabled = number === 1;
    next.disabled = number === stops.length;
    location.replace(`#${number}`);
    const shown = stop.fault ? element("p", "missing", stop.fault) : Object.assign(document.createElement("iframe"), { title: `${title}, stop ${number}: ${stop.page}` });
    if (!stop.fault) shown.srcdoc = await text(`stop-${number}`);
    if (at !== number) return;
    main.replaceChildren(shown);
    shown.onload = () => shown.contentWindow.addEventListener("keydown", pressed);
  }

  function pressed(event) { // page keys change the stop; the arrows step within its page
    if (!(event.key in PAGE_KEYS)) return;
    event.preventDefault();
    show(at + PAGE_KEYS[event.key]);
  }

  window.addEventListener("keydown", pressed);
  window.addEventListener("hashchange", () => { const number = Number(location.hash.slice(1)); if (number !== at) show(number); });
  await show(Math.min(stops.length, Math.max(1, Number(location.hash.slice(1)) || 1)));
}
