// What opens over the page is at the end of the document, far from the button that opened it: the keyboard is taken there
// and back. What is told of a thing that is pointed at goes with a click.

import { watchTips } from "./tips_parts.js";

let watcher = null, tips = null;

export default function () {
  watcher?.disconnect();
  tips?.end();
  tips = watchTips();
  const BODY = '[data-testid="stPopoverBody"]';
  let opener = null, open = document.querySelector(BODY);
  const look = () => {
    tips.look();
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
  return () => { watcher?.disconnect(); tips?.end(); };
}
