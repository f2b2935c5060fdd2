// Asks for what will stand here once it comes into sight and the page is drawn: nobody waits for it before.

import { mounted, unmounted } from "./mount.js";

const NEAR = "160px"; // so far below the edge of what is seen it is asked for already

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mounted({ data, parentElement }, ".lazy"), app = document.querySelector(".stApp");
  state.end?.();
  let inSight = false;
  const sight = new IntersectionObserver((entries) => { inSight = entries.at(-1).isIntersecting; ask(); }, { scrollMargin: NEAR });
  const runs = new MutationObserver(() => ask()); // asked during a run, it would end that run
  state.end = () => { sight.disconnect(); runs.disconnect(); };
  function ask() {
    if (!inSight || app.dataset.testScriptState !== "notRunning" || state.asked === data.what) return;
    state.asked = data.what;
    state.end();
    setTriggerValue("seen", data.what);
  }
  sight.observe(root);
  runs.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  return () => { state.end(); unmounted(root); };
}
