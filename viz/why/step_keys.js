// The arrow keys step through the target, or from blank to blank, wherever the page has the focus: no player stands on this page.

import { isNewValue } from "../kit/mount.js";
import { neighbourStep, onPageKeys } from "../kit/page_keys.js";

// `state` is that of the component; it keeps what ends this as `deaf`. `asleep`: another one takes the keys.
export function stepKeys(state, { step, steps, only }, report, asleep) {
  Object.assign(state, { steps, only, asleep, memory: state.memory ?? { pending: [] } });
  if (isNewValue(state.memory, step) || state.step === undefined) state.step = step;
  state.deaf ??= onPageKeys(".none", (key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!by || state.asleep) return false;
    const to = neighbourStep(state.step, by, state.steps, state.only);
    if (to === state.step) return true;
    state.step = to;
    state.memory.pending.push(to);
    report("step", to);
    return true;
  });
}
