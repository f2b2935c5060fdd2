// What opens over the page is at the end of the document, far from the button that opened it: the keyboard is taken there
// and back. What is told of a thing that is pointed at goes with a click, the menu with what is scrolled.

import { watchTips } from "./tips_parts.js";

const MAIN = '[data-testid="stMain"]';

// On a phone the sidebar lies over the page: it goes once a page is chosen.
function leave({ target }) {
  if (target.closest?.('[data-testid="stSidebarNavLink"]') && window.matchMedia("(max-width: 768px)").matches)
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

let watcher = null, tips = null, scrolling = null;

export default function () {
  watcher?.disconnect();
  tips?.end();
  tips = watchTips();
  scrolling?.abort();
  scrolling = new AbortController();
  const scrolled = () => document.documentElement.toggleAttribute("data-lab-scrolled", document.querySelector(MAIN)?.scrollTop > 8);
  document.addEventListener("click", leave, { signal: scrolling.signal });
  document.addEventListener("scroll", scrolled, { capture: true, passive: true, signal: scrolling.signal });
  const BODY = '[data-testid="stPopoverBody"]';
  let opener = null, open = document.querySelector(BODY);
  const look = () => {
    tips.look();
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.setAttribute("aria-label", "Pages"); // as it is shown on a phone
    const now = document.querySelector(BODY);
    if (now === open) return;
    if (now) {
      opener = document.activeElement;
      now.querySelector('input, button, select, textarea, a, [tabindex="0"]')?.focus({ preventScroll: true });
    } else if ((!document.activeElement || document.activeElement === document.body) && opener?.isConnected) opener.focus({ preventScroll: true });
    open = now;
  };
  watcher = new MutationObserver(() => requestAnimationFrame(look));
  watcher.observe(document.body, { childList: true, subtree: true });
  return () => { watcher?.disconnect(); tips?.end(); scrolling?.abort(); };
}
