// A slider over a training: what one sentence looked like at every recorded step. The steps, and the place among them, come as elements of
// their own: they may still be on their way. Nothing asks the server while it moves, and 300 ms after it rests the server hears of the step once.

import { element, focusOf, isNewValue, mountComponent, onResize, refocus, REST_MS, unmountComponent } from "../kit/mount.js";
import { onPageKeys, usesSpaceKey } from "../kit/page_keys.js";
import { markPicture } from "../kit/pen.js";
import { playerBar } from "./player_bar.js";
import { ARRIVED, keptPieces, PLACED, piecesOf, placeOfPlayer } from "./player_cache.js";
import { everyHead, oneMap } from "./player_maps.js";
import { grownTo, isGrown, ofStep, SPEEDS, stepLine, together, walkedTo } from "./player_parts.js";

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
  const said = markPicture(element("section", "said"), "What it made of the sentence"), maps = markPicture(element("section", "maps"), "The maps of this step"), all = element("section", "all");
  let data = null, chosen = null, at = 0, known = null, news = null, speed = 1, report = null, choose = null, arrangedFor = "";
  const deaf = onPageKeys(".none", pressed), watch = new MutationObserver(() => { timers.late ||= requestAnimationFrame(() => { timers.late = 0; if (data) stepLine(data.steps[at]); }); }); // charts come late
  watch.observe(document.querySelector(".stApp") ?? document.body, { childList: true, subtree: true });
  document.addEventListener(ARRIVED, filled);
  document.addEventListener(PLACED, placed);
  return { show, resized, end };

  function show({ data: next, setTriggerValue }) {
    report = (place) => setTriggerValue("step", place);
    choose = (kind, layer, head) => setTriggerValue("head", { kind, layer, head });
    if (data !== null && (data.id !== next.id || !isGrown(data.steps, next.steps))) news = anew;
    else news = data === null ? anew : next.steps.length > data.steps.length ? grown : news;
    data = next;
    placed();
  }

  function placed() { // what the server says of the place: of these very steps, or it is yet to come
    const place = placeOfPlayer();
    if (data === null || place?.of !== data.pieces.join()) return;
    if (news) news(place.at);
    else if (isNewValue(heard, place.at) && !bar.isHeld()) { stop(); at = place.at; } // the link, or the back button
    news = null;
    chosen = place.chosen;
    root.classList.toggle("large", Boolean(data.large));
    root.classList.toggle("single", data.grids.length === 1);
    const parts = [bar.node, ...[["said", said], ["maps", maps], ["all", all]].filter(([name]) => data.shows.includes(name)).map(([, node]) => node)];
    if (parts.length !== root.childElementCount || parts.some((node, n) => node !== root.children[n])) root.replaceChildren(...parts);
    filled();
    draw();
  }

  function anew(to) {
    stop();
    clearTimeout(timers.rest);
    at = to;
    known = null;
    Object.assign(heard, { lastValue: to, pending: [] });
  }

  function grown(to) { // who looks at the newest step goes on with it, and nobody else is moved
    at = grownTo(heard, at, to, data.steps.length, bar.isHeld() || Boolean(timers.play));
  }

  function filled() { // the steps have come, or some of them still have not
    const ids = data?.pieces.join(), found = data && ids !== known?.ids && piecesOf(keptPieces(), data.pieces);
    if (chosen && found) together(found, data).then((made) => { if (made && ids === data?.pieces.join()) { known = { ids, ...made }; draw(); } });
  }

  function draw() {
    if (news || !chosen) return; // the place among these steps has not come yet
    bar.show(data.steps, at, data.total, Boolean(timers.play), SPEEDS[speed][0]);
    root.dataset.step = data.steps[at];
    if (known && at < known.probabilities.length) {
      arrange();
      if (data.shows.includes("said")) said.replaceChildren(...ofStep(data, known, at));
      drawn.forEach((each) => each.draw(at));
    }
    stepLine(data.steps[at]);
  }

  function arrange() { // anew where another head, another theme or other steps are shown
    const { shows, large, grids, id } = data, now = JSON.stringify([id, known.ids, chosen, shows, large, grids.map(({ scale }) => scale.at(-1))]);
    if (now === arrangedFor) return;
    const focused = focusOf(root.getRootNode());
    arrangedFor = now;
    drawn.length = 0;
    maps.replaceChildren();
    all.replaceChildren();
    for (const [n, raw] of known.maps.entries()) {
      const grid = { ...grids[n], raw }, head = { layer: Math.min(chosen.layer, grid.layers), head: chosen.head === null ? null : Math.min(chosen.head, grid.heads) };
      if (shows.includes("maps")) drawn.push(oneMap(maps, grid, head, data, root));
      if (shows.includes("all")) drawn.push(everyHead(all, grid, head, data, root, (layer, number) => choose(grid.kind, layer, number)));
    }
    drawn.forEach((each) => each.settle());
    refocus(root, focused);
  }

  function resized() {
    drawn.forEach((each) => each.settle());
    draw();
  }

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
    cancelAnimationFrame(timers.late);
    deaf();
    watch.disconnect();
    document.removeEventListener(ARRIVED, filled);
    document.removeEventListener(PLACED, placed);
  }
}
