// The log-probability of a token, or of a translation, while words are taken away, from either end of one order. Nothing here
// makes markup from text.

import { svgElement, element, withMinusSign, mountComponent, onResize, unmountComponent } from "../kit/mount.js";
import { markPicture } from "../kit/pen.js";

const LEFT = 64, RIGHT = 18, TOP = 12, BOTTOM = 26; // px that stand around the lines
const ENDS = { first: "● most important first", last: "■ least important first" };

// Round numbers between two others, not more than `most`.
export function ticks(low, high, most) {
  const step = [1, 2, 5].flatMap((n) => [-3, -2, -1, 0, 1, 2].map((e) => n * 10 ** e)).sort((a, b) => a - b).find((n) => Math.floor(high / n) - Math.ceil(low / n) < most) ?? high - low;
  return Array.from({ length: Math.floor(high / step) - Math.ceil(low / step) + 1 }, (_, n) => (Math.ceil(low / step) + n) * step);
}

export default function ({ data, parentElement }) {
  const { root, state } = mountComponent({ data, parentElement }, ".curves"), words = element("p", "words"), legend = element("p", "legend"), told = element("p", "told");
  const chart = markPicture(element("div", "chart"), "Words taken away");
  told.setAttribute("role", "status");
  for (const [text, value] of data.words) {
    const word = element("span", "word", text);
    word.style.background = data.scale[Math.round(((0.55 * value + 1) / 2) * (data.scale.length - 1))];
    words.append(word);
  }
  legend.append(element("span", "", `${data.axis}, words taken away:`));
  for (const { end } of data.lines) legend.append(element("b", end, ENDS[end]));
  if (data.chance.length) legend.append(element("span", "random", "random orders"));
  root.replaceChildren(element("h2", "", data.said), element("p", "reading", `${data.reading}:`), words, legend, chart, told);
  quiet();
  draw();
  onResize(state, root, () => { if (chart.clientWidth !== state.width || chart.clientHeight !== state.height) draw(); });
  return () => unmountComponent(root);

  function quiet() { told.textContent = `${data.meaning} If it is right, the first line falls at once, the second late.`; }

  function draw() {
    const wide = (state.width = chart.clientWidth), high = (state.height = chart.clientHeight), last = data.grid.at(-1) || 1;
    if (wide < 100 || high < 60) return;
    const all = [...data.lines.flatMap(({ values }) => values), ...data.chance.flat()], room = 0.06 * Math.max(Math.max(...all) - Math.min(...all), 0.1);
    const low = Math.min(...all) - room, top = Math.max(...all) + room;
    const x = (k) => LEFT + (k / last) * (wide - LEFT - RIGHT), y = (v) => TOP + ((top - v) / (top - low)) * (high - TOP - BOTTOM);
    const picture = svgElement("svg", { width: wide, height: high, viewBox: `0 0 ${wide} ${high}`, role: "img", "aria-label": data.axis });
    for (const v of ticks(low, top, Math.max(2, Math.floor(high / 44)))) {
      picture.append(svgElement("line", { class: "across", x1: LEFT, x2: wide - RIGHT, y1: y(v), y2: y(v) }), svgElement("text", { x: LEFT - 8, y: y(v) + 5, "text-anchor": "end" }, withMinusSign(String(Number(v.toFixed(3))))));
    }
    const every = Math.ceil((data.grid.length * 30) / (wide - LEFT - RIGHT));
    data.grid.forEach((k, n) => { if (n % every === 0 || n === data.grid.length - 1) picture.append(svgElement("text", { x: x(k), y: high - 7, "text-anchor": "middle" }, String(k))); });
    const path = (values) => values.map((v, n) => `${n ? "L" : "M"}${x(data.grid[n])} ${y(v)}`).join("");
    if (data.chance.length) {
      const [lowest, mean, highest] = data.chance, back = lowest.map((v, n) => `L${x(data.grid[n])} ${y(v)}`).reverse().join("");
      picture.append(svgElement("path", { class: "band", d: `${path(highest)}${back}Z` }), svgElement("path", { class: "mean", d: path(mean) }));
    }
    for (const { end, values, taken } of data.lines) {
      picture.append(svgElement("path", { class: `line ${end}`, d: path(values) }));
      values.forEach((v, n) => picture.append(point(end, n, x(data.grid[n]), y(v), `${data.grid[n]} of ${last} away (${taken[n]}): log-probability ${withMinusSign(v.toFixed(2))}`)));
    }
    chart.replaceChildren(picture);
  }

  function point(end, n, x, y, text) {
    const node = end === "first" ? svgElement("circle", { cx: x, cy: y, r: 6 }) : svgElement("rect", { x: x - 5, y: y - 5, width: 10, height: 10 });
    node.classList.add("point", end);
    node.dataset.point = `${end} ${n}`;
    node.onmouseenter = () => { told.textContent = text; };
    node.onmouseleave = quiet;
    return node;
  }
}
