// Makes one entry of the browser's history when a link leads to another page with new parameters. Streamlit makes two: the new
// parameters on the old page, which nobody has seen, and then the new page. In a talk of several pages, one press of Back reaches the
// previous stop. Without this file it takes two.

let stopWatch = null; // stops the current watch: each run of the page starts a new one, which must not wrap the previous one

export function watchHistory() { // returns a function that stops the watch
  stopWatch?.();
  const push = history.pushState, listeners = new AbortController();
  let unseenAddress = ""; // the last address, until the user presses a key or a button
  const pushOnce = function (state, title, url) {
    const to = new URL(url ?? "", location.href), isOtherPage = to.pathname !== location.pathname;
    if (isOtherPage && unseenAddress === location.href && to.search === location.search) history.replaceState(state, title, url);
    else push.call(history, state, title, url);
    unseenAddress = isOtherPage ? "" : location.href;
  };
  history.pushState = pushOnce;
  const forget = () => { unseenAddress = ""; };
  for (const name of ["pointerdown", "keydown"]) window.addEventListener(name, forget, { capture: true, passive: true, signal: listeners.signal });
  stopWatch = () => { listeners.abort(); if (history.pushState === pushOnce) history.pushState = push; };
  return stopWatch;
}
