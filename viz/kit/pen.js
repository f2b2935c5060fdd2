// A drawing context of a canvas that records its calls, so that a file can repeat them as shapes and texts.

// Marks a node as a separate picture that can be saved under a name. `scales` describe its colour scales if it has no legend: the
// `colours` for numbers from `low` to `high`.
export function markPicture(node, name, ...scales) {
  node.dataset.picture = name;
  node.labScales = scales;
  return node;
}

// States the heads that a part of a picture draws, for the caption.
export function stateHeads(node, ...heads) {
  node.dataset.pictureHeads = JSON.stringify(heads);
  return node;
}

// Excludes a control from the picture that contains it. With `always`, the picture of the whole view omits it too.
export function excludeFromPicture(node, always = false) {
  node.dataset.pictureSkip = always ? "always" : "";
  return node;
}

// Returns a recording context of a canvas and clears the previous record. It adds one method to the browser's context:
// `recordAs(name, args, draw)` records everything that `draw` does as a single call with that name.
export function pen(canvas) {
  const x = canvas.getContext("2d"), calls = [], methods = new Map();
  canvas.labDrawCalls = calls; // stored on the node, because every component has its own copy of this script
  let isPaused = false;
  const record = (call) => { if (!isPaused) calls.push(call); };
  const recordAs = (name, args, draw) => {
    record({ name, args });
    isPaused = true;
    draw();
    isPaused = false;
  };
  const method = (name) => (...args) => { record({ name, args }); return x[name](...args); };
  return new Proxy(x, {
    get(_, name) {
      if (name === "recordAs") return recordAs;
      if (typeof x[name] !== "function") return x[name];
      if (!methods.has(name)) methods.set(name, method(name));
      return methods.get(name);
    },
    set(_, name, value) {
      record({ name, value });
      x[name] = value;
      return true;
    },
  });
}
