// Copying the page's address, which holds the whole view.

const SAID = 1500; // ms: what came of it stands this long, and as long as the pointer rests there
const timers = new WeakMap();

function rest(node) {
  if (node.matches(":hover")) timers.set(node, setTimeout(rest, SAID, node));
  else node.textContent = "Copy link";
}

export async function copyLink(node) {
  clearTimeout(timers.get(node));
  try {
    await navigator.clipboard.writeText(window.location.href);
    node.textContent = "Copied";
  } catch {
    node.textContent = "Copy it from the address bar";
  }
  timers.set(node, setTimeout(rest, SAID, node));
}
