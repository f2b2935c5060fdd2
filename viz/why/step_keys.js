// The arrow keys step through the target, wherever the page has the focus: no player stands on this page.

import { isNews } from "../shared/mount.js";
import { onPageKeys } from "../shared/page_keys.js";

// `state` is that of the component; it keeps what ends this as `deaf`. `asleep`: another one takes the keys.
export function stepKeys(state, { step, steps }, report, asleep) {
  Object.assign(state, { steps, asleep, memory: state.memory ?? { told: [] } });
  if (isNews(state.memory, step) || state.step === undefined) state.step = step;
  state.deaf ??= onPageKeys(".none", (key) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (!by || state.asleep) return false;
    const to = Math.max(1, Math.min(state.steps, state.step + by));
    if (to === state.step) return true;
    state.step = to;
    state.memory.told.push(to);
    report("step", to);
    return true;
  });
}
