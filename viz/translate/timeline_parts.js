// What the timeline is made of, and its keys; put before timeline.js. Nothing here makes markup from text: textContent only.


const ICONS = {
  first: "M2 2h2v10H2zM12 2v10L5 7z", back: "M10.5 2v10L3 7z", forward: "M3.5 2v10L11 7z", last: "M10 2h2v10h-2zM2 2v10l7-5z",
  play: "M3 1v12l9-6z", pause: "M2 2h4v10H2zM8 2h4v10H8z",
};

function icon(name) {
  const svg = drawing("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" });
  svg.append(drawing("path", { d: ICONS[name] }));
  return svg;
}

function button(className, label, name, onClick) {
  const node = element("button", className);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.title = label;
  node.append(icon(name));
  node.onclick = onClick;
  return node;
}


async function copyLink(node) {
  try {
    await navigator.clipboard.writeText(window.location.href);
    node.textContent = "Copied";
  } catch {
    node.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { node.textContent = "Copy link"; }, 1500);
}

// Whether the space bar means something to what has the focus; on a token of the timeline, and on what is chosen already, it does not.
const presses = (at) => !at.closest?.(".chip,.kind[aria-pressed=true],[role=radio][aria-checked=true]") && Boolean(at.closest?.("button,summary,a,input:not(.range),[role=radio],[role=switch],[role=treeitem]"));
// Whether the arrow keys do.
const moves = (at) => Boolean(at.closest?.("[role=slider],[role=listbox],[role=menu],[role=tree],[role=tablist],[role=combobox]")) || (at.type === "range" && at.className !== "range");

// Arrow keys, home and end step, and space plays, wherever the focus is, except where they mean something else already.
function listen(state) {
  const keys = { ArrowLeft: () => state.step - 1, ArrowRight: () => state.step + 1, Home: () => 1, End: () => state.data.target.length };
  state.onKey = (event) => {
    const at = event.composedPath()[0];
    if (event.key === "Enter" && at.tagName === "INPUT") setTimeout(() => at.blur(), 50); // what follows is meant for the steps
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
    if (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) && !/^(checkbox|radio|range)$/.test(at.type)) return;
    if (event.key === " " ? presses(at) : !keys[event.key] || moves(at)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === " ") return state.toggle();
    clearInterval(state.timers.play);
    state.timers.play = null;
    state.go(keys[event.key]());
  };
  state.onReveal = (event) => state.reveal(event.detail.step);
  document.addEventListener(REVEAL, state.onReveal);
  document.addEventListener("keydown", state.onKey, true); // before a group of buttons takes the arrows
  state.resize = new ResizeObserver(() => state.go && redraw(state));
  state.resize.observe(state.root);
  document.fonts?.ready.then(() => { state.width = null; redraw(state); }); // lines end at the chips as they are set then
}

function redraw(state) {
  const width = state.root.getBoundingClientRect().width;
  if (width === state.width) return;
  state.width = width;
  const scroll = state.root.querySelector(".scroll");
  scroll.classList.remove("tight");
  scroll.classList.toggle("tight", scroll.scrollWidth > scroll.clientWidth);
  clearTimeout(state.timers.rest);
  state.go(state.step);
}

function unlisten(state) {
  document.removeEventListener("keydown", state.onKey, true);
  document.removeEventListener(REVEAL, state.onReveal);
  state.resize?.disconnect();
}
