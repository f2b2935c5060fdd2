// What the lecturer shows: documents in frames. One that can show what is asked for does so at once; else another one is
// loaded behind it, and comes to the front when it has drawn.

import { element } from "../shared/mount.js";
import { placeOf, seen } from "./follow_parts.js";

const KEPT = 4; // documents: who goes back has them at once
const MUTE = 4000; // ms: what has not answered by then is a page that cannot, and is shown as it is

// `shown` gets the title of the document in front, `touched` is called when its reader looks around there.
export function stage(box, code, { shown, touched }) {
  let frames = [], front = null, wanted = null, round = 0, away = false;
  window.addEventListener("message", ({ source, data }) => {
    const frame = frames.find(({ node }) => node.contentWindow === source);
    if (!frame || typeof data !== "object" || data === null) return;
    if (data.lab === "touched" && frame === front) touched();
    if (data.lab === "shown") heard(frame, data);
  });
  return {
    show(address, pointer) { wanted = { address, pointer }; seek(); },
    reachable(is) { // what could not be loaded is loaded anew
      const back = away && is;
      away = !is;
      if (!back || !wanted) return;
      for (const frame of frames.filter(({ speaks }) => !speaks)) drop(frame);
      seek();
    },
  };

  function ask(frame, n, { address, pointer }) {
    frame.node.contentWindow.postMessage({ lab: "show", n, ...placeOf(address), pointer }, "*"); // its origin is its own alone
  }

  function seek() { // asks the document in front, then the others that are there
    round += 1;
    for (const frame of frames) frame.asked = 0;
    next();
  }

  function next() {
    const { page } = placeOf(wanted.address), view = seen(wanted.address);
    const mute = frames.find((frame) => !frame.speaks && frame.loaded && frame.view === view);
    const frame = frames.find((each) => each.speaks && each.asked !== round && placeOf(each.address).page === page);
    if (frame) { frame.asked = round; ask(frame, round, wanted); }
    else if (mute) bring(mute, "");
    else if (!frames.some(({ loaded }) => !loaded)) load(wanted.address); // one after the other: what comes next is asked for then
  }

  function load(address) {
    const node = element("iframe"), frame = { node, address, view: seen(address), speaks: false, loaded: false, asked: 0 };
    node.setAttribute("sandbox", "allow-scripts allow-forms");
    node.title = "What the lecturer shows";
    node.className = "behind";
    node.onload = () => { ask(frame, 0, { address, pointer: "" }); frame.timer ??= setTimeout(() => settle(frame), MUTE); };
    node.src = `/rooms/${code}/page?of=${encodeURIComponent(address)}`;
    frames.push(frame);
    box.append(node);
  }

  function heard(frame, { n, ok, title }) {
    const text = typeof title === "string" ? title.slice(0, 60) : "";
    if (n === 0) { frame.speaks = ok === true; frame.title = text; settle(frame); return; }
    if (n !== round) return;
    if (ok === true) bring(frame, text);
    else next();
  }

  function settle(frame) { // a document has drawn, or does not answer
    clearTimeout(frame.timer);
    if (frame.loaded) return;
    if (!frame.speaks && away) { drop(frame); return; } // the browser's own page, that the lab was not reached
    frame.loaded = true;
    if (frame.view !== seen(wanted.address)) { seek(); return; }
    if (frame.speaks) { frame.asked = round; ask(frame, round, wanted); }
    else bring(frame, "");
  }

  function bring(frame, title) {
    if (front !== frame) {
      front?.node.classList.add("behind");
      frame.node.classList.remove("behind");
      front = frame;
    }
    frames = [frame, ...frames.filter((each) => each !== frame)];
    for (const old of frames.filter(({ loaded }) => loaded).slice(KEPT)) drop(old);
    shown(title);
  }

  function drop(frame) {
    clearTimeout(frame.timer);
    frame.node.remove();
    frames = frames.filter((each) => each !== frame);
    if (front === frame) front = null;
  }
}
