// Plays the recorded steps of one sentence of a training. Moving sends nothing to the server; 300 ms after it stops, the server gets the
// step once.

import { focusOf, element, isNewValue, mountComponent, onResize, publishLine, refocus, REST_MS, unmountComponent } from "../kit/mount.js";
import { onPageKeys, usesSpaceKey } from "../kit/page_keys.js";
import { markPicture } from "../kit/pen.js";
import { describeStep, everyHead, grownTo, isGrown, oneMap, playerBar, SPEEDS, unpackSteps, walkedTo } from "./player_parts.js";

const CHARTS = "training"; // the name of the line of the step in the charts below

export default function (args) {
  const { root, state, first } = mountComponent(args, ".player");
  if (first) state.player = player(root);
  state.player.show(args);
  onResize(state, root, state.player.resized);
  return () => { state.player.end(); unmountComponent(root); };
}

function player(root) {
  const heard = { lastValue: null, pending: [], newest: false }, drawn = [], timers = {};
  const bar = playerBar({ toggle, faster, by: (change) => walk(at + change), to: walk });
  const said = markPicture(element("section", "said"), "What it made of the text"), maps = markPicture(element("section", "maps"), "The maps of this training step"), all = element("section", "all"), answer = element("p", "answer");
  let data = null, at = 0, known = null, speed = 1, report = null, choose = null, arrangedFor = "";
  const stopKeys = onPageKeys(".none", pressed);
  return { show, resized, end };

  function show({ data: next, setTriggerValue, offline }) {
    report = offline ? (place) => setTriggerValue("trained", data.steps[place]) : (place) => setTriggerValue("step", place);
    choose = (kind, layer, head) => {
      setTriggerValue("head", { kind, layer, head });
      if (offline) { data = { ...data, chosen: { layer, head } }; draw(); } // a file has the maps of all heads
    };
    const isSame = data !== null && data.id === next.id && isGrown(data.steps, next.steps), isLonger = isSame && next.steps.length > data.steps.length;
    data = { ...next, isFile: Boolean(offline), ...(offline && isSame ? { chosen: data.chosen } : {}) };
    if (!isSame) restart();
    else if (isLonger) at = grownTo(heard, at, data.at, data.steps.length, bar.isHeld() || Boolean(timers.play));
    else if (isNewValue(heard, data.at) && !bar.isHeld()) { stop(); at = data.at; } // the link, or the back button
    root.classList.toggle("large", data.large);
    root.classList.toggle("single", data.grids.length === 1);
    if (answer.textContent !== data.answer) answer.textContent = data.answer;
    const parts = [...(data.large ? [] : [answer]), bar.node, ...[["said", said], ["maps", maps], ["all", all]].filter(([name]) => data.shows.includes(name)).map(([, node]) => node)];
    if (parts.length !== root.childElementCount || parts.some((node, n) => node !== root.children[n])) root.replaceChildren(...parts);
    unpack();
    draw();
  }

  function restart() {
    stop();
    clearTimeout(timers.rest);
    at = data.at;
    known = null;
    Object.assign(heard, { lastValue: at, pending: [] });
  }

  async function unpack() {
    const of = data, pieces = [of.earlier, of.recent], ids = pieces.map(({ id }) => id).join();
    if (known?.ids === ids) return;
    const steps = await unpackSteps(pieces, of);
    if (of !== data) return; // a newer call unpacks its own
    known = { ids, ...steps };
    draw();
  }

  function draw() {
    bar.show(data.steps, at, data.total, Boolean(timers.play), SPEEDS[speed][0]);
    root.dataset.step = data.steps[at];
    if (known && at < known.probabilities.length) {
      arrange();
      if (data.shows.includes("said")) said.replaceChildren(...describeStep(data, known, at));
      drawn.forEach((each) => each.draw(at));
    }
    publishLine(CHARTS, data.steps[at]);
  }

  function arrange() { // for another head, theme, size, or other steps
    const { shows, large, grids, id, chosen } = data, now = JSON.stringify([id, known.ids, chosen, shows, large, root.clientWidth, innerHeight, grids.map(({ scale }) => scale.at(-1))]);
    if (now === arrangedFor) return;
    const focused = focusOf(root.getRootNode());
    arrangedFor = now;
    drawn.length = 0;
    maps.replaceChildren();
    all.replaceChildren();
    for (const [n, raw] of known.maps.entries()) {
      const grid = { ...grids[n], raw };
      if (shows.includes("maps")) drawn.push(oneMap(maps, grid, data, root));
      if (shows.includes("all")) drawn.push(everyHead(all, grid, data, root, choose));
    }
    drawn.forEach((each) => each.settle());
    refocus(root, focused);
  }

  function resized() { if (data) draw(); }

  function pressed(key, on) {
    const to = data && walkedTo(key, at, data.steps.length);
    if (!data || (key === " " ? usesSpaceKey(on) : to === null)) return false;
    if (key === " ") toggle();
    else walk(to);
    return true;
  }

  function walk(to) { stop(); go(to); }

  function go(to) {
    at = Math.max(0, Math.min(data.steps.length - 1, to));
    draw();
    clearTimeout(timers.rest);
    timers.rest = setTimeout(tell, REST_MS);
  }

  function tell() {
    if (timers.play || at === (heard.pending.at(-1) ?? heard.lastValue)) return;
    heard.pending.push(at);
    heard.newest = at === data.steps.length - 1;
    report(at);
  }

  function stop() { clearInterval(timers.play); timers.play = null; }

  function toggle() {
    if (timers.play) { walk(at); return; }
    if (at === data.steps.length - 1) at = 0;
    run();
    draw();
  }

  function run() {
    stop();
    timers.play = setInterval(() => { if (at >= data.steps.length - 1) walk(at); else go(at + 1); }, SPEEDS[speed][1]);
  }

  function faster() {
    speed = (speed + 1) % SPEEDS.length;
    if (timers.play) run();
    draw();
  }

  function end() {
    stop();
    clearTimeout(timers.rest);
    stopKeys();
  }
}
