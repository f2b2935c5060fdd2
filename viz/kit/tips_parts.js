// Hides a tooltip on a click, on Escape and when the pointer leaves, and keeps it hidden until the pointer has left. Streamlit's own
// tooltips reappear or stay when a click redraws their button.

const CLOSED = "shut";
const TERM = ".lab-term", TIP = '[role="tooltip"]:has(.stTooltipContent)';

const within = ({ clientX: x, clientY: y }, box) => x >= box.left && x <= box.right && y >= box.top && y <= box.bottom;
const termAt = (event) => event.composedPath()[0]?.closest?.(TERM);

// Watches the whole page. Returns a function that hides the tooltips of the clicked element, and one that stops the watch.
export function watchTips() {
  let clickedBox = null; // the box of the clicked element
  let closedTerms = []; // terms with a hidden tooltip
  let isMouse = false; // false for a finger or a pen
  const end = new AbortController(), on = (name, act) => document.addEventListener(name, act, { capture: true, signal: end.signal });
  const hideClicked = () => { if (clickedBox) for (const tip of document.querySelectorAll(TIP)) { tip.dataset.labTip = CLOSED; } };
  const close = (term) => { term.dataset.shut = ""; closedTerms.push(term); };
  const open = (openTerm = null) => { for (const term of closedTerms) if (term !== openTerm) delete term.dataset.shut; closedTerms = openTerm ? [openTerm] : []; };
  on("pointerdown", (event) => {
    const term = termAt(event), target = event.composedPath()[0]?.closest?.('[data-testid="stTooltipHoverTarget"], button, a, label');
    clickedBox = target?.getBoundingClientRect() ?? null;
    hideClicked();
    isMouse = event.pointerType === "mouse";
    if (!term || "shut" in term.dataset) open();
    else if (isMouse || term.matches(":focus")) close(term); // the first tap opens the tooltip
  });
  on("mousedown", (event) => { if (isMouse && termAt(event)) event.preventDefault(); }); // the focus would keep the tooltip open
  on("pointermove", (event) => {
    if (clickedBox && !within(event, clickedBox)) clickedBox = null;
    if (closedTerms.length) open(termAt(event));
  });
  on("focusout", () => { if (closedTerms.length) requestAnimationFrame(() => open(closedTerms.find((term) => term.matches(":hover")))); });
  on("keydown", (event) => {
    if (event.key === "Escape") for (const term of findDeep(`${TERM}:is(:hover, :focus)`)) close(term);
    else if (event.key === "Tab") clickedBox = null;
  });
  return { hideClicked, end: () => end.abort() };
}

// Returns the elements that match in the page and in the shadow roots of its components.
function findDeep(selector) {
  const roots = [document, ...[...document.querySelectorAll('[data-testid="stBidiComponentIsolated"]')].map((node) => node.shadowRoot ?? node.querySelector("*")?.shadowRoot)];
  return roots.flatMap((root) => (root ? [...root.querySelectorAll(selector)] : []));
}
