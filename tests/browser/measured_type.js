// Every text that is seen in the window, with its size there in px: of elements, of fields, of svg and of canvases. `lab_type()`
// gives [text, px, kind, where]; texts on canvases are noted as they are drawn, so this must run before the page does.

(() => {
  const drawn = new WeakMap(); // canvas -> place -> [text, px of the canvas]
  const context = CanvasRenderingContext2D.prototype, width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
  const scaleOf = ({ a, b, c, d }) => Math.sqrt(Math.abs(a * d - b * c));
  const notes = (canvas) => { if (!drawn.has(canvas)) drawn.set(canvas, new Map()); return drawn.get(canvas); };
  const { fillText, clearRect } = context;
  context.fillText = function (text, x, y, most) {
    const m = this.getTransform(), px = parseFloat(/([\d.]+)px/.exec(this.font)?.[1]), place = [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f];
    const squeezed = most === undefined ? 1 : Math.min(1, most / this.measureText(text).width);
    if (String(text).trim()) notes(this.canvas).set(String(place.map(Math.round)), [String(text), px * scaleOf(m) * squeezed]);
    return most === undefined ? fillText.call(this, text, x, y) : fillText.call(this, text, x, y, most);
  };
  context.clearRect = function (x, y, w, h) {
    const m = this.getTransform();
    if (w * m.a >= this.canvas.width - 2 && h * m.d >= this.canvas.height - 2) notes(this.canvas).clear();
    return clearRect.call(this, x, y, w, h);
  };
  for (const name of ["width", "height"]) {
    const own = name === "width" ? width : Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "height");
    Object.defineProperty(HTMLCanvasElement.prototype, name, { ...own, set(value) { drawn.delete(this); own.set.call(this, value); } });
  }

  const above = (node) => node.assignedSlot || node.parentElement || node.getRootNode().host || null;
  const chain = (node) => { const found = []; for (let at = node; at; at = above(at)) found.push(at); return found; };
  const within = (a, b) => ({ left: Math.max(a.left, b.left), top: Math.max(a.top, b.top), right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom) });
  const seen = ({ left, top, right, bottom }) => right - left > 2 && bottom - top > 2;

  // The part of a box that no ancestor cuts off; nothing where one of them is not seen.
  function left(box, nodes) {
    let part = within(box, { left: 0, top: 0, right: innerWidth, bottom: innerHeight });
    for (const node of nodes) {
      const style = getComputedStyle(node);
      if (style.visibility === "hidden" && node === nodes[0]) return null;
      if (Number(style.opacity) < 0.05 || /inset\(50%/.test(style.clipPath)) return null;
      if (/hidden|auto|scroll|clip/.test(style.overflow) && node !== document.body && node !== document.documentElement && !(node instanceof SVGElement)) part = within(part, node.getBoundingClientRect());
      if (!seen(part)) return null;
      if (style.position === "fixed") break;
    }
    return part;
  }
  // What is laid over a text hides it.
  function covered(part, node) {
    const x = (part.left + part.right) / 2, y = (part.top + part.bottom) / 2;
    let top = document.elementFromPoint(x, y);
    while (top?.shadowRoot?.elementFromPoint(x, y) && top.shadowRoot.elementFromPoint(x, y) !== top) top = top.shadowRoot.elementFromPoint(x, y);
    return top && !chain(top).includes(node) && !chain(node).includes(top) && !/^(transparent|rgba\(.*, 0\))$/.test(getComputedStyle(top).backgroundColor);
  }
  const turned = (nodes) => nodes.reduce((all, node) => {
    const { transform, scale } = getComputedStyle(node);
    return all * (transform === "none" ? 1 : scaleOf(new DOMMatrix(transform))) * (scale === "none" ? 1 : parseFloat(scale));
  }, 1);
  const named = (nodes) => nodes.slice(0, 40).map((node) => node.dataset?.component || /st-key-[\w-]+/.exec(node.className)?.[0] || "").filter(Boolean).slice(0, 2).reverse().join(" > ") + ` ${nodes[0].tagName.toLowerCase()}.${nodes[0].getAttribute("class") || ""}`;

  function* all(root) {
    for (const node of root.querySelectorAll("*")) { yield node; if (node.shadowRoot) yield* all(node.shadowRoot); }
  }

  function size(node, nodes) {
    const px = parseFloat(getComputedStyle(node).fontSize);
    if (!(node instanceof SVGElement)) return px * (node.currentCSSZoom || 1) * turned(nodes);
    const { height } = node.getBBox(), m = node.getScreenCTM(), box = node.getBoundingClientRect(); // rotated or not, its box tells the zoom
    const corners = Math.abs(m.b) < 1e-6 && height ? box.height / height : scaleOf(m);
    return px * corners;
  }

  window.lab_type = () => {
    const found = [], take = (text, px, kind, nodes) => found.push([text.trim(), px, kind, named(nodes)]);
    for (const node of all(document)) {
      if (/^(SCRIPT|STYLE|TITLE|NOSCRIPT|OPTION|DESC)$/i.test(node.tagName) || node.dataset?.testid === "stIconMaterial") continue; // an icon is no text
      if (node instanceof HTMLCanvasElement) {
        const box = node.getBoundingClientRect(), nodes = chain(node);
        if (drawn.has(node) && left(box, nodes)) for (const [text, px] of drawn.get(node).values()) take(text, (px * box.height) / node.height, "canvas", nodes);
        continue;
      }
      const words = [...node.childNodes].filter((child) => child.nodeType === 3 && child.data.trim()), typed = /^(INPUT|TEXTAREA)$/.test(node.tagName) && (node.value || node.placeholder);
      if (!words.length && (!typed || /^(range|checkbox|radio|file)$/.test(node.type))) continue;
      const range = document.createRange(), nodes = chain(node);
      if (words.length) { range.setStartBefore(words[0]); range.setEndAfter(words.at(-1)); }
      const part = left((typed ? node : node instanceof SVGElement ? node : range).getBoundingClientRect(), nodes);
      if (!part || covered(part, node)) continue;
      take(typed || words.map((child) => child.data).join(" "), size(node, nodes), node instanceof SVGElement ? "svg" : "text", nodes);
    }
    return found;
  };
})();
