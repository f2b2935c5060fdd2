// Counts what the first screen of a page has without scrolling, beside the navigation. For `test_first_screen.py` and `--table`.
//
// words: of two letters or more, without tokens (quoted, or set in a monospaced font), texts in a language of their own, icons, and
//   what only a screen reader reads. groups: elements of the page (a widget, a component, a row of widgets) with at least one visible control.
globalThis.countFirstScreen = () => {
  const WIDGET = '[data-testid="stElementContainer"], [data-testid="stPopover"]', ROW = /st-key-(title_row|save)/;
  const CONTROL = 'button, a[href], input, select, textarea, summary, [role=button], [role=slider], [role=tab], [role=radio], [role=switch]';
  const words = [], groups = new Set();
  const above = (node) => node.parentElement || node.getRootNode().host || null;
  const nearest = (node, fits) => { for (let at = node; at; at = above(at)) if (fits(at)) return at; return null; };
  const isSeen = ({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1 && top < innerHeight && bottom > 0 && left < innerWidth && right > 0;
  const isHidden = (node) => !node.checkVisibility() || nearest(node, (at) => {
    const { visibility, display, opacity, clipPath } = getComputedStyle(at);
    return visibility === "hidden" || display === "none" || Number(opacity) < 0.05 || clipPath.startsWith("inset(50%") || /^(stSidebar|stHeader|stIconMaterial|stSkipToContent)$/.test(at.dataset?.testid ?? "");
  });
  const isToken = (node) => nearest(node, (at) => at.lang && at.tagName !== "HTML") || /mono|code/i.test(getComputedStyle(node).fontFamily);
  const groupOf = (node) => {
    const widget = nearest(node, (at) => at.matches(WIDGET)) ?? node;
    return nearest(widget, (at) => ROW.test(at.className)) ?? widget;
  };
  const visit = (root) => {
    for (const node of root.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        const range = document.createRange(), parent = above(node), text = node.textContent.replace(/“[^”]*”/g, "").trim();
        range.selectNodeContents(node);
        if (!text || !parent || /^(STYLE|SCRIPT|NOSCRIPT|OPTION)$/.test(parent.tagName) || !isSeen(range.getBoundingClientRect()) || isHidden(parent) || isToken(parent)) continue;
        words.push(...text.split(/\s+/).filter((word) => /\p{L}{2,}/u.test(word)));
      } else if (node.nodeType === Node.ELEMENT_NODE) {
        if (node.matches(CONTROL) && isSeen(node.getBoundingClientRect()) && !isHidden(node)) groups.add(groupOf(node));
        visit(node);
        if (node.shadowRoot) visit(node.shadowRoot);
      }
    }
  };
  visit(document.body);
  return { words: words.length, groups: groups.size, text: words.join(" ") };
};
