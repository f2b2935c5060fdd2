// What opens over the page is at the end of the document, far from the button that opened it: the keyboard is taken there
// and back. What is told of a thing that is pointed at goes with a click, the menu with what is scrolled.

import { watchTips } from "./tips_parts.js";

const MAIN = '[data-testid="stMain"]';

// On a phone the sidebar lies over the page: it goes once a page is chosen.
function leave({ target }) {
  if (target.closest?.('[data-testid="stSidebarNavLink"]') && window.matchMedia("(max-width: 768px)").matches)
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

let overlays = null, tips = null, scrolling = null;

export function watchPopovers() { // returns what ends it
  overlays?.disconnect();
  tips?.end();
  tips = watchTips();
  scrolling?.abort();
  scrolling = new AbortController();
  const scrolled = () => document.documentElement.toggleAttribute("data-lab-scrolled", document.querySelector(MAIN)?.scrollTop > 8);
  document.addEventListener("click", leave, { signal: scrolling.signal });
  document.addEventListener("scroll", scrolled, { capture: true, passive: true, signal: scrolling.signal });
  const BODY = '[data-testid="stPopoverBody"]';
  const FIRST = 'input, button, select, textarea, a, [tabindex="0"]';
  let opener = null, open = document.querySelector(BODY), awaited = false; // awaited: what it holds is on its way
  const enter = () => {
    const first = open.querySelector(FIRST), at = document.activeElement;
    if (first && (!at || at === document.body || at === opener)) first.focus({ preventScroll: true });
    awaited = !first;
  };
  const look = () => {
    tips.look();
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.setAttribute("aria-label", "Pages"); // as it is shown on a phone
    const now = document.querySelector(BODY);
    if (now === open) { if (now && awaited) enter(); return; }
    open = now;
    if (now) {
      opener = document.activeElement;
      enter();
    } else if ((!document.activeElement || document.activeElement === document.body) && opener?.isConnected) opener.focus({ preventScroll: true });
  };
  overlays = new MutationObserver(() => requestAnimationFrame(look));
  overlays.observe(document.body, { childList: true, subtree: true });
  return () => { overlays?.disconnect(); tips?.end(); scrolling?.abort(); };
}
