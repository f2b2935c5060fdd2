// Names the element under the pointer as `component|name`, independent of the layout. The name is the element's `data-point`, else its
// `data-focus`. A canvas has `labPoints`: `at(x, y)` returns a name, `rect(name)` returns its box in the window.

export function nameAt(event) {
  let name = "";
  for (const node of event.composedPath()) {
    if (!name && node.labPoints) name = node.labPoints.at(event.clientX, event.clientY) || "";
    if (!name) name = node.dataset?.point || (node.getAttribute?.("role") !== "application" && node.dataset?.focus) || ""; // skips an element that only handles keys
    if (node.dataset?.component) return name && `${node.dataset.component}|${name}`;
  }
  return "";
}

// Returns the box of a name in the window, or null if it is not visible.
export function rectOf(text) {
  const separator = text.indexOf("|"), name = text.slice(separator + 1), root = separator > 0 && globalThis.attentionLabRoots?.get(text.slice(0, separator));
  if (!root?.isConnected) return null;
  for (const node of [root, ...root.querySelectorAll("canvas")]) {
    const rect = node.labPoints?.rect(name);
    if (rect) return rect;
  }
  const escaped = CSS.escape(name), node = root.querySelector(`[data-point="${escaped}"]`) || root.querySelector(`[data-focus="${escaped}"]`);
  const box = node?.getBoundingClientRect();
  return box?.width ? box : null;
}
