// Remote control of a document in the followers' page: the outer page sets the view and hears when the reader changes it.
// Only messages of the outer page count. A document that is opened alone does nothing here.

import { remoteFields } from "./remote_fields.js";
import { pictureScroller, ring } from "./pointer_ring.js";
import { followStep } from "../kit/mount.js";

// `on`: the document is controlled. `begin` starts it after drawing, with the last earlier message. `reportChange` reports a change by
// the reader.
export function remoteControl() {
  const page = window.parent, leader = { on: false, begin: () => {}, reportChange: () => {} };
  if (page === window) return leader;
  let pending = null, show = (message) => { pending = message; };
  const send = (message) => page.postMessage(message, "*"); // the outer page chose this document, so "*" reveals nothing
  window.addEventListener("message", ({ source, data }) => { if (source === page && data?.lab === "show") show(data); });

  leader.begin = ({ view, chosen, take }) => {
    const point = ring(), bring = pictureScroller(view.large, "guess" in view.led);
    let base = view.asked, stepped = null, busy = false;
    leader.reportChange = () => { if (leader.on && !busy) send({ lab: "touched" }); };
    followStep(({ step }) => { // the timeline reports to the file only when it rests
      if (!busy && "step" in chosen && step !== chosen.step) { stepped = step; leader.reportChange(); }
    });
    const follow = (fields, query, pointer) => {
      leader.on = busy = true;
      document.documentElement.classList.add("controlled");
      if (stepped !== null) take({ step: stepped }); // otherwise the new step would be no change
      stepped = null;
      take(fields);
      bring(query);
      point(typeof pointer === "string" ? pointer : "");
    };
    show = ({ n, page: place, query, pointer, own }) => { // `own`: the document was made for this query
      let fields = place === view.page ? remoteFields(query, view.asked, view) : null;
      if (fields) base = view.asked;
      else if (place === view.page) fields = remoteFields(query, own ? (base = query) : base, view);
      let ok = false;
      try { if (fields) { follow(fields, query, pointer); ok = true; } } finally {
        busy = false;
        send({ lab: "shown", n, ok, title: document.querySelector("h1").textContent, at: view.at });
      }
    };
    if (pending) show(pending);
  };
  return leader;
}
