// One entry of the browser's history for a way to another page that takes a new link along. Streamlit makes two: the new link on
// the old page, which nobody has seen, and then the new page; the way back would lead to the first. Measured in a talk of several pages:
// one press of Back reaches the previous stop; without this file it takes two.

let endOfEntries = null; // of the watch that is on: it is begun anew with each run of the page, and must not wrap itself

export function watchHistory() { // returns what ends it
  endOfEntries?.();
  const push = history.pushState, ends = new AbortController();
  let unseen = ""; // what was written last, while nobody has done anything since
  const watched = function (state, title, url) {
    const to = new URL(url ?? "", location.href), turns = to.pathname !== location.pathname;
    if (turns && unseen === location.href && to.search === location.search) history.replaceState(state, title, url);
    else push.call(history, state, title, url);
    unseen = turns ? "" : location.href;
  };
  history.pushState = watched;
  const forget = () => { unseen = ""; };
  for (const name of ["pointerdown", "keydown"]) window.addEventListener(name, forget, { capture: true, passive: true, signal: ends.signal });
  endOfEntries = () => { ends.abort(); if (history.pushState === watched) history.pushState = push; };
  return endOfEntries;
}
