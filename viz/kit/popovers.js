// Moves the keyboard focus into a popover and back to its button, because a popover is at the end of the document. A click hides
// tooltips. Scrolling marks the page for its styles.

import { watchTips } from "./tips_parts.js";

const MAIN = '[data-testid="stMain"]';

// Closes the sidebar after a page is chosen on a phone, where the sidebar covers the page.
function closeSidebar({ target }) {
  if (target.closest?.('[data-testid="stSidebarNavLink"]') && window.matchMedia("(max-width: 768px)").matches)
    document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

let overlays = null, tips = null, scrolling = null;

// Requests the content of an open popover when the page has finished its run: a request during a run would end that run.
function requestContent(body, request) {
  const place = body?.querySelector("[data-lab-popover]:not([data-requested])");
  if (!place || document.querySelector(".stApp").dataset.testScriptState !== "notRunning") return;
  place.dataset.requested = "";
  request(place.dataset.labPopover);
}

export function watchPopovers(request) { // returns a function that stops the watch
  overlays?.disconnect();
  tips?.end();
  tips = watchTips();
  scrolling?.abort();
  scrolling = new AbortController();
  const markScrolled = () => document.documentElement.toggleAttribute("data-lab-scrolled", document.querySelector(MAIN)?.scrollTop > 8);
  document.addEventListener("click", closeSidebar, { signal: scrolling.signal });
  document.addEventListener("scroll", markScrolled, { capture: true, passive: true, signal: scrolling.signal });
  const BODY = '[data-testid="stPopoverBody"]';
  const FIRST = 'input, button, select, textarea, a, [tabindex="0"]';
  let opener = null, popover = document.querySelector(BODY), isLoading = false; // isLoading: the popover is open, its content is not there yet
  const enter = () => {
    const first = popover.querySelector(FIRST), focused = document.activeElement;
    if (first && (!focused || focused === document.body || focused === opener)) first.focus({ preventScroll: true });
    isLoading = !first;
  };
  const update = () => {
    tips.hideClicked();
    document.querySelector('[data-testid="stExpandSidebarButton"]')?.setAttribute("aria-label", "Pages"); // phones show this button
    const current = document.querySelector(BODY);
    requestContent(current, request);
    if (current === popover) { if (current && isLoading) enter(); return; }
    popover = current;
    if (current) {
      opener = document.activeElement;
      enter();
    } else if ((!document.activeElement || document.activeElement === document.body) && opener?.isConnected) opener.focus({ preventScroll: true });
  };
  overlays = new MutationObserver(() => requestAnimationFrame(update));
  overlays.observe(document.body, { childList: true, subtree: true });
  overlays.observe(document.querySelector(".stApp"), { attributes: true, attributeFilter: ["data-test-script-state"] });
  return () => { overlays?.disconnect(); tips?.end(); scrolling?.abort(); };
}
