// Tracks the picture that the user last pointed at or focused. *Save* selects it.

let currentWatch = null; // each run of the page starts a new watch

export function watchPointed() { // returns a function that stops the watch
  currentWatch?.abort();
  const controller = currentWatch = new AbortController();
  const rememberPicture = (event) => {
    const node = event.composedPath().find((each) => each.matches?.("[data-picture]:not([data-picture='']), .js-plotly-plot"));
    if (node) document.labLastPointed = new WeakRef(node);
  };
  for (const name of ["pointerdown", "pointermove", "focusin"]) document.addEventListener(name, rememberPicture, { capture: true, passive: true, signal: controller.signal });
  return () => controller.abort();
}
