// What the lecturer shows: documents in frames. One that can show what is asked for does so at once; else another one is
// loaded behind it, and comes to the front when it has drawn.

import { element } from "../../kit/mount.js";
import { placeOf, seen } from "./follow_parts.js";

const KEPT = 4; // documents: who goes back has them at once
const MUTE = 6000; // ms after it came, by which a document has answered; what has not is shown as it is
const MAY = "allow-scripts allow-forms allow-popups allow-popups-to-escape-sandbox";

// `shown` gets the title of the document in front and what its steps are called, `touched` is called when its reader looks around there.
export function stage(box, code, { shown, touched }) {
  let frames = [], front = null, wanted = null, round = 0, away = false;
  window.addEventListener("message", ({ source, data }) => {
    const frame = frames.find(({ node }) => node.contentWindow === source);
    if (!frame || typeof data !== "object" || data === null) return;
    if (data.lab === "touched" && frame === front) touched();
    if (data.lab === "none") arrive(frame);
    if (data.lab === "shown") heard(frame, data);
  });
  return {
    show(address, pointer) { wanted = { address, pointer, view: seen(address) }; seek(); },
    reachable(is) { // what could not be loaded is loaded anew
      const back = away && is;
      away = !is;
      if (!back || !wanted) return;
      for (const frame of frames.filter(({ speaks }) => !speaks)) drop(frame);
      seek();
    },
  };

  // Asks a document; `own` where it was made for what is wanted. Its origin is its own alone, so there is none to name.
  function ask(frame, own = false) {
    frame.asked = round;
    clearTimeout(frame.timer);
    if (frame.speaks) frame.timer = setTimeout(() => { frame.speaks = false; frame.view = ""; if (frame.asked === round) next(); }, MUTE); // it is stuck
    frame.node.contentWindow.postMessage({ lab: "show", n: round, own, ...placeOf(wanted.address), pointer: wanted.pointer }, "*");
  }

  function seek() { // asks the document in front, then the others that are there
    round += 1;
    next();
  }

  function next() {
    const { page } = placeOf(wanted.address);
    const frame = frames.find((each) => each.speaks && each.asked !== round && each.page === page);
    const mute = frames.find(({ arrived, speaks, view }) => arrived && !speaks && view === wanted.view);
    if (frame) ask(frame);
    else if (mute) bring(mute, "");
    else if (frames.every(({ arrived }) => arrived)) load(); // one after the other: what is wanted by then comes next
  }

  function load() {
    const node = element("iframe"), frame = { node, view: wanted.view, page: placeOf(wanted.address).page, speaks: false, arrived: false, asked: 0 };
    node.setAttribute("sandbox", MAY);
    node.title = "What the lecturer shows";
    node.className = "behind";
    node.onload = () => {
      ask(frame);
      frame.timer = setTimeout(() => arrive(frame), MUTE);
    };
    node.src = `/rooms/${code}/page`;
    frames.push(frame);
    box.append(node);
  }

  function heard(frame, { n, ok, title, at }) {
    const first = !frame.arrived;
    clearTimeout(frame.timer);
    frame.at = at === "place" ? at : "step";
    frame.speaks = frame.arrived = true;
    if (n !== round) { if (first) seek(); return; }
    if (ok === true) bring(frame, typeof title === "string" ? title.slice(0, 60) : "");
    else if (frame.sure === round) bring(frame, ""); // as it is
    else if (first && frame.view === wanted.view) { frame.sure = round; ask(frame, true); }
    else next();
  }

  function arrive(frame) { // a page that says nothing, or the browser's own that the lab was not reached
    clearTimeout(frame.timer);
    if (frame.arrived) return;
    if (away) { drop(frame); return; }
    frame.arrived = true;
    if (frame.view === wanted.view) bring(frame, "");
    else seek();
  }

  function bring(frame, title) {
    if (front !== frame) {
      front?.node.classList.add("behind");
      frame.node.classList.remove("behind");
      front = frame;
    }
    frames = [frame, ...frames.filter((each) => each !== frame)];
    for (const old of frames.filter(({ arrived }) => arrived).slice(KEPT)) drop(old);
    shown(title, frame.at ?? "step");
  }

  function drop(frame) {
    clearTimeout(frame.timer);
    frame.node.remove();
    frames = frames.filter((each) => each !== frame);
    if (front === frame) front = null;
  }
}
