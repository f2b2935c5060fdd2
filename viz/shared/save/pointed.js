// Which picture was pointed at or reached by keys last: that is the one that *Save* means.

export function watchPointed() { // returns what ends it
  const end = new AbortController();
  const note = (event) => {
    const node = event.composedPath().find((each) => each.matches?.("[data-picture]:not([data-picture='']), .js-plotly-plot"));
    if (node) document.labPointed = new WeakRef(node);
  };
  for (const name of ["pointerdown", "pointermove", "focusin"]) document.addEventListener(name, note, { capture: true, passive: true, signal: end.signal });
  return () => end.abort();
}
