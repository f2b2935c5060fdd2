// Where the row of a step looks, as lines between the tokens. Nothing here makes markup from text: textContent only.

import { boxOf, svgElement, probabilityLabel } from "../kit/mount.js";
import { scrolledOnce, scrolledTo } from "./timeline_scrolling.js";

export const WRITTEN = 0.08; // weights above this are printed

// Weight and number of each token that may be seen, the lightest first: no line leads to what the mask forbids, not even one of weight 0.
export const seenOf = (weights, allowed) => weights.map((weight, j) => [weight, j]).filter(([, j]) => allowed[j]).sort((a, b) => a[0] - b[0]);

export function drawLines(root, data, shifted, { source, inputs, reading, saying }, step, still = false) { // still: nothing scrolls
  const rows = root.querySelector(".rows"), svg = root.querySelector(".rows svg");
  svg.replaceChildren();
  const box = boxOf(rows);
  if (!box.width || getComputedStyle(svg).display === "none") return;
  const place = (chip) => { const r = boxOf(chip); return { left: r.left - box.left, right: r.right - box.left, top: r.top - box.top, bottom: r.bottom - box.top, x: (r.left + r.right) / 2 - box.left }; };
  const from = place(reading), to = place(saying);
  const x = shifted ? from.x : (from.left + to.right) / 2, top = from.top - 4, bottom = from.bottom + 9;
  const style = (weight, site) => ({ fill: "none", stroke: `var(--lab-${site})`, "stroke-width": 0.75 + 9 * weight, "stroke-opacity": Math.min(1, 0.12 + 1.6 * weight) });
  const written = [], close = root.classList.contains("hall") ? 34 : 0; // px: large numbers that would meet, the heavier is written
  const write = (weight, at, y, site) => written.every(([x, other]) => other !== site || Math.abs(x - at) >= close) && written.push([at, site]) && svg.append(probabilityLabel({ x: at, y, "text-anchor": "middle", fill: `var(--lab-${site}-ink)` }, weight));
  for (const [weight, j] of seenOf(data.cross[step], data.crossAllowed[step])) {
    const chip = place(source[j]), bend = 0.66 * (top - chip.bottom);
    svg.append(svgElement("path", { d: `M${x} ${top}C${x} ${top - Math.min(28, bend)} ${chip.x} ${chip.bottom + Math.min(34, bend)} ${chip.x} ${chip.bottom + 2}`, ...style(weight, "cross") }));
  }
  for (const [weight, j] of seenOf(data.cross[step], data.crossAllowed[step]).reverse()) {
    const chip = place(source[j]);
    if (weight > WRITTEN) write(weight, chip.x, chip.bottom + 17, "cross");
  }
  const seen = seenOf(data.decoder[step], data.allowed[step]);
  for (const [weight, j] of seen) {
    if (j >= inputs.length) continue;
    const chip = place(inputs[j]);
    if (shifted) {
      svg.append(svgElement("path", { d: `M${to.x} ${to.top - 3}C${to.x} ${to.top - 18} ${chip.x} ${chip.bottom + 18} ${chip.x} ${chip.bottom + 3}`, ...style(weight, data.own) }));
    } else if (j !== step) { // the token that is read looks at itself: both ends are in the frame
      const depth = Math.min(38, 14 + Math.abs(chip.x - x) * 0.1);
      svg.append(svgElement("path", { d: `M${x} ${bottom}C${x} ${bottom + depth} ${chip.x} ${bottom + depth} ${chip.x} ${chip.bottom + 8}`, ...style(weight, data.own) }));
    }
  }
  for (const [weight, j] of seen.slice(-2).reverse()) if (weight > WRITTEN && j < inputs.length) {
    const chip = place(inputs[j]);
    write(weight, chip.x, chip.bottom + (shifted ? 15 : 24), data.own);
  }
  const frame = shifted ? { left: Math.min(from.left, to.left), right: Math.max(from.right, to.right), bottom: to.bottom } : { left: from.left, right: to.right, bottom: from.bottom };
  const air = (beside) => (beside ? 0 : root.querySelector(".tight") ? 1 : 3); // the frame lies over no neighbour in the same word
  const before = air(!shifted && reading.previousElementSibling), after = air(!shifted && saying.nextElementSibling);
  svg.append(svgElement("rect", { x: frame.left - before, y: from.top - 3, width: frame.right - frame.left + before + after, height: frame.bottom - from.top + 13, rx: 7, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
  const scroll = root.querySelector(".scroll");
  if (!still && scroll.scrollWidth > scroll.clientWidth) {
    const strongest = !source.length ? frame : place(source[data.cross[step].indexOf(Math.max(...data.cross[step]))]);
    scroll.scrollLeft = data.own === "encoder" ? scrolledOnce([frame.left, frame.right], scroll.clientWidth) : scrolledTo([frame.left, frame.right], [strongest.left, strongest.right], scroll.clientWidth, root.classList.contains("hall"));
  }
  root.querySelector(".frame").countBeyond();
}
