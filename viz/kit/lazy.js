// Requests the content of this place when it becomes visible and the page has finished its run, so that no page waits for it.

import { mountComponent, unmountComponent } from "./mount.js";

const NEAR = "160px"; // distance below the visible area at which the request is sent
const PAUSE = 100; // ms until the next look at widgets that are still loading

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mountComponent({ data, parentElement }, ".lazy"), app = document.querySelector(".stApp");
  state.end?.();
  let isVisible = false;
  const visibility = new IntersectionObserver((entries) => { isVisible = entries.at(-1).isIntersecting; request(); }, { scrollMargin: NEAR });
  const runs = new MutationObserver(() => request()); // a request during a run would end that run
  state.end = () => { visibility.disconnect(); runs.disconnect(); clearTimeout(state.timer); };
  function request() {
    if (!isVisible || app.dataset.testScriptState !== "notRunning" || state.requested === data.what) return;
    if (document.querySelector('[data-testid="stSkeleton"]')) { // a run without the values of these widgets would reset them
      clearTimeout(state.timer);
      state.timer = setTimeout(request, PAUSE);
      return;
    }
    state.requested = data.what;
    state.end();
    setTriggerValue("seen", data.what);
  }
  visibility.observe(root);
  runs.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  return () => { state.end(); unmountComponent(root); };
}
