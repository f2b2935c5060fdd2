// Returns the probabilities and weights on the page whose exact value is in no tooltip, of those that are drawn as a number.
globalThis.findWithoutExactValue = () => {
  const FORM = /^\(?(<0\.01|>0\.99|0\.(?!00)\d\d|1\.00)(?: → (<0\.01|>0\.99|0\.(?!00)\d\d|1\.00))?[.,)]?$/, missing = [], parts = new Set();
  const format = (p) => (p > 0 && p < 0.01 ? "<0.01" : p > 0.99 && p < 1 ? ">0.99" : p.toFixed(2));
  const fits = (exact, shown) => format(exact) === shown || Math.abs(exact - Number(shown)) < 0.00506; // four digits of 0.96504 round down
  const above = (node) => node.parentElement || node.getRootNode().host || null;
  const check = (text, parent) => {
    let tips = "", part = "";
    for (let at = parent; at && !part; at = above(at)) {
      tips += ` ${at.getAttribute?.("title") ?? ""} ${at.dataset?.tip ?? ""} ${at.querySelector?.(":scope > title")?.textContent ?? ""}`;
      part = at.dataset?.component ?? "";
    }
    const exact = (tips.match(/\d+(?:\.\d+)?(?:e-\d+)?/g) ?? []).filter((each) => each.length > 4 || /^[01]$/.test(each));
    parts.add(part);
    for (const value of text.slice(1).filter(Boolean)) if (!exact.some((each) => fits(Number(each), value))) missing.push(`${part}: ${text[0]}`);
  };
  const visit = (root) => {
    for (const node of root.childNodes) {
      const parent = node.parentElement || root.host, text = node.nodeType === Node.TEXT_NODE && node.textContent.trim().match(FORM);
      if (text && parent?.checkVisibility() && !/^(STYLE|SCRIPT|OPTION|SUP)$/.test(parent.tagName)) check(text, parent);
      if (node.nodeType !== Node.ELEMENT_NODE || node.tagName === "title") continue;
      visit(node);
      if (node.shadowRoot) visit(node.shadowRoot);
    }
  };
  visit(document.body);
  return [missing, [...parts]];
};
