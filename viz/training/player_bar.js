// The controls of the slider over a training. They are made once: who drags the slider does not lose it when the page is run.

import { element, button } from "../kit/mount.js";
import { excludeFromPicture } from "../kit/pen.js";

// `does`: what `toggle`, `faster`, `by` (so many steps on) and `to` (a place among the steps) do.
export function playerBar({ toggle, faster, by, to }) {
  const node = excludeFromPicture(element("div", "bar"), true), range = element("input", "range"), where = element("p", "where");
  const play = button("btn play", "", toggle), pace = button("btn pace", "", faster);
  let held = false;
  const named = (made, name, focus = name) => { made.setAttribute("aria-label", name); made.dataset.focus = focus; return made; };
  const step = (text, name, change) => { const made = named(button("btn", text, () => by(change)), name); made.title = name; return made; };
  range.type = "range";
  named(range, "Step of the training", "range");
  named(pace, "Speed", "pace");
  play.dataset.focus = "play";
  play.title = "Play (space)";
  range.oninput = () => to(Number(range.value));
  range.onpointerdown = () => { held = true; };
  range.onpointerup = range.onpointercancel = range.onchange = () => { held = false; };
  node.append(play, pace, step("‹", "One step back (left arrow)", -1), range, step("›", "One step forward (right arrow)", 1), where);

  function show(steps, at, total, playing, speed) {
    Object.assign(range, { min: 0, max: steps.length - 1, value: at });
    range.setAttribute("aria-valuetext", `Step ${steps[at]}`);
    play.textContent = playing ? "Pause" : "Play";
    pace.textContent = speed;
    where.setAttribute("aria-live", playing ? "off" : "polite");
    where.replaceChildren("Step ", element("b", "", steps[at].toLocaleString("en-US")), ` of ${total.toLocaleString("en-US")}`);
  }

  return { node, show, isHeld: () => held };
}
