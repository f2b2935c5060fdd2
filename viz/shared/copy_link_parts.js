// Copying the page's address, which holds the whole view.

export async function copyLink(node) {
  try {
    await navigator.clipboard.writeText(window.location.href);
    node.textContent = "Copied";
  } catch {
    node.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { node.textContent = "Copy link"; }, 1500);
}
