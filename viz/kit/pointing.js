// What the pointer is on, as a name that means the same in every layout: `component|name`. Within a component it is what has a
// `data-point`, else a `data-focus`; on a canvas what its `labPoints` say: `at(x, y)` gives a name, `rect(name)` its box in the window.

export function nameAt(event) {
  let what = "";
  for (const node of event.composedPath()) {
    if (!what && node.labPoints) what = node.labPoints.at(event.clientX, event.clientY) || "";
    if (!what) what = node.dataset?.point || (node.getAttribute?.("role") !== "application" && node.dataset?.focus) || ""; // of a place for keys, what is in it
    if (node.dataset?.component) return what && `${node.dataset.component}|${what}`;
  }
  return "";
}

// Its box in the window, or null where it is not shown here.
export function rectOf(text) {
  const at = text.indexOf("|"), what = text.slice(at + 1), root = at > 0 && globalThis.attentionLabRoots?.get(text.slice(0, at));
  if (!root?.isConnected) return null;
  for (const node of [root, ...root.querySelectorAll("canvas")]) {
    const rect = node.labPoints?.rect(what);
    if (rect) return rect;
  }
  const name = CSS.escape(what), node = root.querySelector(`[data-point="${name}"]`) || root.querySelector(`[data-focus="${name}"]`);
  const box = node?.getBoundingClientRect();
  return box?.width ? box : null;
}
