// Requests the content of a place when it becomes visible and the page has finished its run, so that no page waits for it.

const NEAR = "160px"; // distance below the visible area at which the request is sent
const PAUSE = 100; // ms until the next look at what is still loading
const PLACES = "[data-lab-lazy]:not([data-requested])";

export function watchPlaces(request) { // returns a function that stops the watch
  const app = document.querySelector(".stApp"), visible = new WeakMap(); // place -> whether it is in sight
  let timer = 0;
  const find = () => {
    for (const place of document.querySelectorAll(PLACES)) {
      if (visible.has(place)) continue;
      visible.set(place, false);
      visibility.observe(place);
    }
  };
  const ask = () => {
    const place = [...document.querySelectorAll(PLACES)].find((each) => visible.get(each));
    if (!place || app.dataset.testScriptState !== "notRunning") return; // a request during a run would end that run
    clearTimeout(timer);
    if (document.querySelector('[data-testid="stSkeleton"]') || globalThis.attentionLabCalls?.pending) {
      // a run without the values of widgets that still load would reset them, and undrawn components leave the place in sight
      timer = setTimeout(ask, PAUSE);
      return;
    }
    place.dataset.requested = "";
    request({ name: place.dataset.labLazy, what: place.dataset.what });
  };
  const visibility = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) visible.set(target, isIntersecting);
    ask();
  }, { scrollMargin: NEAR });
  const changes = new MutationObserver(() => { find(); ask(); });
  changes.observe(document.querySelector('[data-testid="stMain"]') ?? document.body, { childList: true, subtree: true });
  changes.observe(app, { attributes: true, attributeFilter: ["data-test-script-state"] });
  find();
  return () => { visibility.disconnect(); changes.disconnect(); clearTimeout(timer); };
}
