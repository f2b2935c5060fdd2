// Copying the page's address, which holds the whole view.

const MESSAGE_MS = 1500; // ms: what came of it stands this long, and as long as the pointer rests there
const COPY = "Copy link";
export const ALONE = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/; // names by which a machine knows itself alone
const timers = new WeakMap();

// An address that others can open: where the lab is open to the network, that is where they find it.
export function linkFor({ protocol, host, hostname, pathname, search, hash }, shared) {
  return `${shared && ALONE.test(hostname) ? shared : `${protocol}//${host}`}${pathname}${search}${hash}`;
}

export function sharedAddress() { // as the first page says it (viz/server/first_paint.py)
  return document.querySelector('meta[name="attention-lab-shared"]')?.content || "";
}

// Without https there is no clipboard to write to: a browser then copies what is selected.
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch { /* there is another way */ }
  const before = document.activeElement, box = document.createElement("textarea");
  box.value = text;
  box.readOnly = true;
  box.style.cssText = "position:fixed;top:0;left:0;opacity:0";
  document.body.append(box);
  box.select();
  let done = false;
  try { done = document.execCommand("copy"); } catch { /* it is shown instead */ }
  box.remove();
  before?.focus?.({ preventScroll: true });
  return done;
}

// The link in place of its button, selected, until it is left.
function show(node, link) {
  const box = document.createElement("input");
  Object.assign(box, { readOnly: true, value: link, className: "link-shown" });
  box.setAttribute("aria-label", "Link to this view: copy it");
  box.title = "Press Ctrl+C to copy it";
  box.onblur = () => { node.hidden = false; box.remove(); };
  node.hidden = true;
  node.after(box);
  box.focus();
  box.select();
}

function rest(node) {
  if (node.matches(":hover")) timers.set(node, setTimeout(rest, MESSAGE_MS, node));
  else node.textContent = COPY;
}

export async function copyLink(node) {
  clearTimeout(timers.get(node));
  const link = linkFor(window.location, sharedAddress());
  if (!await copied(link)) { node.textContent = COPY; show(node, link); return; }
  node.textContent = "Copied";
  timers.set(node, setTimeout(rest, MESSAGE_MS, node));
}
