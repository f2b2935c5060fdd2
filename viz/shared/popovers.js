// What opens over the page is at the end of the document, far from the button that opened it: the keyboard is taken there
// and back.

let watcher = null;

export default function () {
  watcher?.disconnect();
  const BODY = '[data-testid="stPopoverBody"]';
  let opener = null, open = document.querySelector(BODY);
  const look = () => {
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
  return () => watcher?.disconnect();
}
