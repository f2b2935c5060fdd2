// A canvas's pen that remembers what it draws, so that the same can be drawn again as lines and texts in a file.

// A part of a component that can be saved as a picture of its own, by a name; `scales` hold the `colours` in it that stand for numbers
// from `low` to `high`, where it does not tell them itself.
export function pictured(node, name, ...scales) {
  node.dataset.picture = name;
  node.labScales = scales;
  return node;
}

// What is there to be clicked, and is left out of the picture around it; `always`: of that of the whole view too.
export function leftOut(node, always = false) {
  node.dataset.pictureSkip = always ? "always" : "";
  return node;
}

// The pen of a canvas that is drawn anew: whatever it remembered before is forgotten. Beyond a pen of the browser's own it has
// `instead(name, args, draw)`: what `draw` does is remembered as one call of another name.
export function pen(canvas) {
  const x = canvas.getContext("2d"), calls = [], methods = new Map();
  canvas.labDrawn = calls; // on the node itself: every component has its own copy of this script
  let silent = false;
  const remember = (call) => { if (!silent) calls.push(call); };
  const instead = (name, args, draw) => {
    remember({ name, args });
    silent = true;
    draw();
    silent = false;
  };
  const method = (name) => (...args) => { remember({ name, args }); return x[name](...args); };
  return new Proxy(x, {
    get(_, name) {
      if (name === "instead") return instead;
      if (typeof x[name] !== "function") return x[name];
      if (!methods.has(name)) methods.set(name, method(name));
      return methods.get(name);
    },
    set(_, name, value) {
      remember({ name, value });
      x[name] = value;
      return true;
    },
  });
}
