// The lecturer's page: documents in frames. A loaded document shows the view if it can; otherwise another one is loaded behind it
// and comes to the front once it is drawn.

import { element } from "../../kit/mount.js";
import { placeOf, viewKey } from "./follow_parts.js";

const MAX_FRAMES = 4; // loaded documents
const ANSWER_MS = 6000; // ms before a document without an answer is shown as it is
const MAY = "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox";

// `onShown` gets the title of the front document and the name of its steps; `onTouched` is called when its reader changes it.
export function stage(box, code, { onShown, onTouched }) {
  let frames = [], front = null, target = null, round = 0, away = false;
  window.addEventListener("message", ({ source, data }) => {
    const frame = frames.find(({ node }) => node.contentWindow === source);
    if (!frame || typeof data !== "object" || data === null) return;
    if (data.lab === "touched" && frame === front) onTouched();
    if (data.lab === "none") arrive(frame);
    if (data.lab === "shown") receive(frame, data);
  });
  return {
    show(address, pointer) { target = { address, pointer, view: viewKey(address) }; seek(); },
    reachable(is) { // reloads failed documents
      const back = away && is;
      away = !is;
      if (!back || !target) return;
      for (const frame of frames.filter(({ speaks }) => !speaks)) drop(frame);
      seek();
    },
  };

  // Sends the view to a document; `own`: the document was made for it. A sandboxed frame has no origin to name.
  function ask(frame, own = false) {
    frame.lastRound = round;
    clearTimeout(frame.timer);
    if (frame.speaks) frame.timer = setTimeout(() => { frame.speaks = false; frame.view = ""; if (frame.lastRound === round) next(); }, ANSWER_MS); // stuck
    frame.node.contentWindow.postMessage({ lab: "show", n: round, own, ...placeOf(target.address), pointer: target.pointer }, "*");
  }

  function seek() { // tries the front document, then the others
    round += 1;
    next();
  }

  function next() {
    const { page } = placeOf(target.address);
    const frame = frames.find((each) => each.speaks && each.lastRound !== round && each.page === page);
    const mute = frames.find(({ arrived, speaks, view }) => arrived && !speaks && view === target.view);
    if (frame) ask(frame);
    else if (mute) bring(mute, "");
    else if (frames.every(({ arrived }) => arrived)) load(); // one load at a time
  }

  function load() {
    const node = element("iframe"), frame = { node, view: target.view, page: placeOf(target.address).page, speaks: false, arrived: false, lastRound: 0 };
    node.setAttribute("sandbox", MAY);
    node.title = "The lecturer’s page";
    node.className = "behind";
    node.onload = () => {
      ask(frame);
      frame.timer = setTimeout(() => arrive(frame), ANSWER_MS);
    };
    node.src = `/rooms/${code}/page`;
    frames.push(frame);
    box.append(node);
  }

  function receive(frame, { n, ok, title, at }) {
    const first = !frame.arrived;
    clearTimeout(frame.timer);
    frame.unit = at === "token" ? at : "step";
    frame.speaks = frame.arrived = true;
    if (n !== round) { if (first) seek(); return; }
    if (ok === true) bring(frame, typeof title === "string" ? title.slice(0, 60) : "");
    else if (frame.sure === round) bring(frame, ""); // as it is
    else if (first && frame.view === target.view) { frame.sure = round; ask(frame, true); }
    else next();
  }

  function arrive(frame) { // a page without an answer, or the browser's error page
    clearTimeout(frame.timer);
    if (frame.arrived) return;
    if (away) { drop(frame); return; }
    frame.arrived = true;
    if (frame.view === target.view) bring(frame, "");
    else seek();
  }

  function bring(frame, title) {
    if (front !== frame) {
      front?.node.classList.add("behind");
      frame.node.classList.remove("behind");
      front = frame;
    }
    frames = [frame, ...frames.filter((each) => each !== frame)];
    for (const old of frames.filter(({ arrived }) => arrived).slice(MAX_FRAMES)) drop(old);
    onShown(title, frame.unit ?? "step");
  }

  function drop(frame) {
    clearTimeout(frame.timer);
    frame.node.remove();
    frames = frames.filter((each) => each !== frame);
    if (front === frame) front = null;
  }
}
