// Which picture was pointed at or reached by keys last: that is the one that *Save* means.

let pointing = null; // the watch that is on: it is begun anew with each run of the page

export function watchPointed() { // returns what ends it
  pointing?.abort();
  const end = pointing = new AbortController();
  const note = (event) => {
    const node = event.composedPath().find((each) => each.matches?.("[data-picture]:not([data-picture='']), .js-plotly-plot"));
    if (node) document.labPointed = new WeakRef(node);
  };
  for (const name of ["pointerdown", "pointermove", "focusin"]) document.addEventListener(name, note, { capture: true, passive: true, signal: end.signal });
  return () => end.abort();
}
