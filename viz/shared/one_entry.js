// One entry of the browser's history for a way to another page that takes a new link along. Streamlit makes two: the new link on
// the old page, which nobody has seen, and then the new page; the way back would lead to the first.

export function watchHistory() {
  const push = history.pushState, ends = new AbortController();
  let unseen = ""; // what was written last, while nobody has done anything since
  history.pushState = function (state, title, url) {
    const to = new URL(url ?? "", location.href), turns = to.pathname !== location.pathname;
    if (turns && unseen === location.href && to.search === location.search) history.replaceState(state, title, url);
    else push.call(history, state, title, url);
    unseen = turns ? "" : location.href;
  };
  const seen = () => { unseen = ""; };
  for (const name of ["pointerdown", "keydown"]) window.addEventListener(name, seen, { capture: true, passive: true, signal: ends.signal });
  return () => { ends.abort(); history.pushState = push; };
}
