// A document in the page of who follows a lecture: that page says what is shown, and is told when its reader looks around.
// Nobody but the page around it is heard, and nothing is asked of a document that stands alone.

import { asked } from "./led_parts.js";
import { bringer, ring } from "./led_ring.js";
import { followStep } from "../kit/mount.js";

// What is `on` once the document is led. `begin` starts it with what can be done, when the document has been drawn; what was
// asked before is done then. `looks`: what its reader does here is told to the page around it.
export function led() {
  const page = window.parent, leader = { on: false, begin: () => {}, looks: () => {} };
  if (page === window) return leader;
  let waits = null, show = (message) => { waits = message; };
  const tell = (message) => page.postMessage(message, "*"); // the page around it chose this document: it knows all that is told
  window.addEventListener("message", ({ source, data }) => { if (source === page && data?.lab === "show") show(data); });

  leader.begin = ({ view, chosen, take }) => {
    const point = ring(), bring = bringer(view.large, "guess" in view.led);
    let base = view.asked, stepped = null, busy = false;
    leader.looks = () => { if (leader.on && !busy) tell({ lab: "touched" }); };
    followStep(({ step }) => { // the timeline tells the others at once, and the file only when it rests
      if (!busy && "step" in chosen && step !== chosen.step) { stepped = step; leader.looks(); }
    });
    const follow = (fields, query, pointer) => {
      leader.on = busy = true;
      document.documentElement.classList.add("led");
      if (stepped !== null) take({ step: stepped }); // else what is asked for would be no news to who stepped on
      stepped = null;
      take(fields);
      bring(query);
      point(typeof pointer === "string" ? pointer : "");
    };
    show = ({ n, page: place, query, pointer, own }) => { // `own`: it was made for this query, however that says it
      let fields = place === view.page ? asked(query, view.asked, view) : null;
      if (fields) base = view.asked;
      else if (place === view.page) fields = asked(query, own ? (base = query) : base, view);
      let ok = false;
      try { if (fields) { follow(fields, query, pointer); ok = true; } } finally {
        busy = false;
        tell({ lab: "shown", n, ok, title: document.querySelector("h1").textContent, at: view.at });
      }
    };
    if (waits) show(waits);
  };
  return leader;
}
