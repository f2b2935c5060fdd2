// Copies the page's address, which stores the whole view.

const MESSAGE_MS = 1500; // ms: the message stays at least this long, and until the pointer leaves it
const COPY = "Copy link";
export const LOCAL_HOST = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/; // host names that only work on the same machine
const timers = new WeakMap();

// Returns an address that others can open. If the lab is open to the network, this is its shared address.
export function linkFor({ protocol, host, hostname, pathname, search, hash }, shared) {
  return `${shared && LOCAL_HOST.test(hostname) ? shared : `${protocol}//${host}`}${pathname}${search}${hash}`;
}

export function sharedAddress() { // the first page contains it (viz/server/serve.py)
  return document.querySelector('meta[name="attention-lab-shared"]')?.content || "";
}

// Copies a text and returns whether this succeeded. Without https there is no clipboard API, so the browser copies a selection.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* the selection below is the fallback */ }
  const focusedElement = document.activeElement, box = document.createElement("textarea");
  box.value = text;
  box.readOnly = true;
  box.style.cssText = "position:fixed;top:0;left:0;opacity:0";
  document.body.append(box);
  box.select();
  let success = false;
  try { success = document.execCommand("copy"); } catch { /* the caller shows the link */ }
  box.remove();
  focusedElement?.focus?.({ preventScroll: true });
  return success;
}

// Shows the selected link in place of its button until the link loses the focus.
function showLink(node, link) {
  const box = document.createElement("input");
  Object.assign(box, { readOnly: true, value: link, className: "link-text" });
  box.setAttribute("aria-label", "Link to this view: copy it");
  box.title = "Press Ctrl+C to copy it";
  box.onblur = () => { node.hidden = false; box.remove(); };
  node.hidden = true;
  node.after(box);
  box.focus();
  box.select();
}

function resetText(node) {
  if (node.matches(":hover")) timers.set(node, setTimeout(resetText, MESSAGE_MS, node));
  else node.textContent = COPY;
}

export async function copyLink(node) {
  clearTimeout(timers.get(node));
  const link = linkFor(window.location, sharedAddress());
  if (!await copyText(link)) { node.textContent = COPY; showLink(node, link); return; }
  node.textContent = "Copied";
  timers.set(node, setTimeout(resetText, MESSAGE_MS, node));
}
