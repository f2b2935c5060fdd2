// What a thing tells while it is pointed at goes when it is clicked, on Escape and when the pointer leaves, and stays away until
// the pointer has left: Streamlit's own tips come back, or never go, where a click draws their button anew.

const SHUT = "shut";
const TERM = ".lab-term", TIP = '[role="tooltip"]:has(.stTooltipContent)';

const within = ({ clientX: x, clientY: y }, box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
const termAt = (event) => event.composedPath()[0]?.closest?.(TERM);

// Watches the whole page; returns what shuts the tips that have come up since, and what ends the watch.
export function watchTips() {
  let clickedBox = null; // the box that was clicked
  let terms = []; // those that are shut
  let mouse = false; // or else a finger or a pen
  const end = new AbortController(), on = (name, act) => document.addEventListener(name, act, { capture: true, signal: end.signal });
  const look = () => { if (clickedBox) for (const tip of document.querySelectorAll(TIP)) { tip.dataset.labTip = SHUT; } };
  const shut = (term) => { term.dataset.shut = ""; terms.push(term); };
  const open = (openTerm = null) => { for (const term of terms) if (term !== openTerm) delete term.dataset.shut; terms = openTerm ? [openTerm] : []; };
  on("pointerdown", (event) => {
    const term = termAt(event), target = event.composedPath()[0]?.closest?.('[data-testid="stTooltipHoverTarget"], button, a, label');
    clickedBox = target?.getBoundingClientRect() ?? null;
    look();
    mouse = event.pointerType === "mouse";
    if (!term || "shut" in term.dataset) open();
    else if (mouse || term.matches(":focus")) shut(term); // a finger opens it first
  });
  on("mousedown", (event) => { if (mouse && termAt(event)) event.preventDefault(); }); // else the focus would keep it open
  on("pointermove", (event) => {
    if (clickedBox && !within(event, clickedBox)) clickedBox = null;
    if (terms.length) open(termAt(event));
  });
  on("focusout", () => { if (terms.length) requestAnimationFrame(() => open(terms.find((term) => term.matches(":hover")))); });
  on("keydown", (event) => {
    if (event.key === "Escape") for (const term of deep(`${TERM}:is(:hover, :focus)`)) shut(term);
    else if (event.key === "Tab") clickedBox = null;
  });
  return { look, end: () => end.abort() };
}

// What is found in the page and in the shadows of its components.
function deep(selector) {
  const roots = [document, ...[...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].map((node) => node.shadowRoot ?? node.querySelector("*")?.shadowRoot)];
  return roots.flatMap((root) => (root ? [...root.querySelectorAll(selector)] : []));
}
