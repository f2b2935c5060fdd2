// A slider over a training: what one sentence looked like at every recorded step. All steps are here; nothing asks the server while
// it moves, and 300 ms after it rests the server hears of the step once. Nothing here makes markup from text.

import { button, element, focusOf, isNews, mounted, onResize, refocus, REST_MS, unmounted } from "../shared/mount.js";
import { onPageKeys, presses } from "../shared/page_keys.js";
import { leftOut, pictured } from "../shared/save/pen.js";
import { everyHead, oneMap } from "./player_maps.js";
import { inflated, ofStep, SPEEDS, stepLine, walkedTo } from "./player_parts.js";

export default function (args) {
  const { data, parentElement, setStateValue, setTriggerValue } = args;
  const { root, state, first } = mounted(args, ".player", { at: data.at, heard: { said: data.at, told: [] }, timers: {}, speed: 1 });
  if (state.id !== data.id) { stop(); Object.assign(state, { id: data.id, at: data.at, heard: { said: data.at, told: [] }, grids: null }); }
  else if (isNews(state.heard, data.at)) { stop(); state.at = data.at; } // the link, or the back button
  Object.assign(state, { data, go, toggle, stop, setStateValue, paint: draw });
  root.classList.toggle("large", Boolean(data.large));
  const focused = focusOf(parentElement), count = data.steps.length, drawn = [];
  const bar = element("div", "bar"), play = button("btn play", "", () => state.toggle()), range = element("input", "range"), where = element("p", "where"), pace = button("btn pace", "", faster);
  const said = pictured(element("section", "said"), "What it made of the sentence"), maps = pictured(element("section", "maps"), "The maps of this step"), all = element("section", "all");
  build();
  if (state.grids) arranged();
  else inflated(data.grids).then((grids) => { if (state.id === data.id && root.isConnected) { state.grids = grids; state.arranged(); } });
  state.arranged = arranged;
  draw();
  refocus(root, focused);
  onResize(state, root, () => { drawn.forEach((each) => each.settle()); draw(); });
  if (first) {
    state.deaf = onPageKeys(".none", (key, at) => state.pressed(key, at));
    state.watch = new MutationObserver(() => { state.waits ||= requestAnimationFrame(() => { state.waits = 0; stepLine(state.data.steps[state.at]); }); }); // charts come late
    state.watch.observe(document.querySelector(".stApp") ?? document.body, { childList: true, subtree: true });
  }
  state.pressed = pressedHere;
  return () => { state.stop(); clearTimeout(state.timers.rest); state.deaf(); state.watch.disconnect(); unmounted(root); };

  function pressedHere(key, on) {
    if (key === " ") {
      if (presses(on)) return false;
      state.toggle();
      return true;
    }
    const to = walkedTo(key, state.at, count);
    if (to === null) return false;
    state.stop();
    state.go(to);
    return true;
  }

  function go(at) {
    state.at = Math.max(0, Math.min(count - 1, at));
    state.paint();
    clearTimeout(state.timers.rest);
    state.timers.rest = setTimeout(tell, REST_MS);
  }

  function tell() {
    const { said: before, told } = state.heard;
    if (state.timers.play || state.at === (told.at(-1) ?? before)) return;
    told.push(state.at);
    state.setStateValue("step", state.at);
  }

  function stop() { clearInterval(state.timers.play); state.timers.play = null; }

  function toggle() {
    if (state.timers.play) { state.stop(); state.go(state.at); return; }
    if (state.at === count - 1) state.at = 0;
    run();
    state.paint();
  }

  function run() {
    clearInterval(state.timers.play);
    state.timers.play = setInterval(() => {
      if (state.at >= count - 1) { state.stop(); state.go(state.at); } else state.go(state.at + 1);
    }, SPEEDS[state.speed][1]);
  }

  function faster() {
    state.speed = (state.speed + 1) % SPEEDS.length;
    if (state.timers.play) run();
    draw();
  }

  function build() {
    Object.assign(range, { type: "range", min: 0, max: count - 1, value: state.at });
    range.setAttribute("aria-label", "Step of the training");
    range.oninput = () => { state.stop(); state.go(Number(range.value)); };
    play.dataset.focus = "play";
    range.dataset.focus = "range";
    pace.dataset.focus = "pace";
    pace.setAttribute("aria-label", "Speed");
    const step = (text, name, to) => { const node = button("btn", text, () => { state.stop(); state.go(to()); }); node.setAttribute("aria-label", name); node.title = name; node.dataset.focus = name; return node; };
    leftOut(bar, true);
    bar.append(play, pace, step("‹", "One step back (left arrow)", () => state.at - 1), range, step("›", "One step forward (right arrow)", () => state.at + 1), where);
    root.replaceChildren(bar, ...(data.shows.includes("said") ? [said] : []), ...(data.shows.includes("maps") ? [maps] : []), ...(data.shows.includes("all") ? [all] : []));
  }

  function arranged() {
    drawn.length = 0;
    const { chosen } = data;
    maps.replaceChildren();
    all.replaceChildren();
    for (const [n, kept] of state.grids.entries()) {
      const grid = { ...kept, scale: data.grids[n].scale }; // which the theme decides over
      const head = { layer: Math.min(chosen.layer, grid.layers), head: chosen.head === null ? null : Math.min(chosen.head, grid.heads) };
      if (data.shows.includes("maps")) drawn.push(oneMap(maps, grid, head, data, root));
      if (data.shows.includes("all")) drawn.push(everyHead(all, grid, head, data, root, (layer, number) => setTriggerValue("head", { kind: grid.kind, layer, head: number })));
    }
    drawn.forEach((each) => each.settle());
    state.paint();
  }

  function draw() {
    const { at } = state, step = data.steps[at];
    range.value = at;
    play.textContent = state.timers.play ? "Pause" : "Play";
    play.title = "Play (space)";
    where.setAttribute("aria-live", state.timers.play ? "off" : "polite");
    pace.textContent = SPEEDS[state.speed][0];
    where.replaceChildren("Step ", element("b", "", step.toLocaleString("en-US")), ` of ${data.steps[count - 1].toLocaleString("en-US")}`);
    range.setAttribute("aria-valuetext", `Step ${step}`);
    root.dataset.step = step;
    if (data.shows.includes("said")) said.replaceChildren(...ofStep(data, at));
    drawn.forEach((each) => each.draw(at));
    stepLine(step);
  }
}
