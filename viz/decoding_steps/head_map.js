// All heads of a kind of attention as thumbnails, and the chosen head large, with the row of the step outlined. Pointing at a thumbnail
// previews its head; a click chooses it. All text is set as textContent.

import { button, focusOf, followStep, mountComponent, nth, onResize, publishedStep, refocus, unmountComponent, headName, element, writeProbabilities } from "../kit/mount.js";
import { describePattern, heatmap, tintOf } from "../kit/heatmap.js";
import { largestCell, readPattern } from "../kit/patterns.js";
import { excludeFromPicture, markPicture, stateHeads } from "../kit/pen.js";
import { withInflatedGrids } from "../kit/inflated_grids.js";
import { offText, thumbnailGrid, unpacked } from "../kit/thumbnails.js";

const MAP_HEIGHT = 272; // px: longer texts make the map higher, at the smallest cells
const MAP = { maxSize: 40, maxHigh: 22, minSize: 6 }; // px of a cell

export default function (args) {
  return withInflatedGrids(args.data, args.parentElement.querySelector(".head-map"), ([grid]) => draw(grid, args));
}

function draw(grid, { data, parentElement, setTriggerValue }) {
  const { root, state, first } = mountComponent({ data, parentElement }, ".head-map", { cursor: {} }), focused = focusOf(parentElement);
  const colour = (name) => data.style[`--lab-${name}`], sans = () => getComputedStyle(root).fontFamily;
  const pattern = readPattern(data.pattern), published = publishedStep();
  const heads = element("section", "heads"), detail = element("section", "detail"), cellLine = excludeFromPicture(element("p", "cell"));
  const own = grid.places.map((_, n) => n), shared = { ...data, chosen: { ...data.chosen, byRow: false } };
  const repaint = [];
  let map = null;
  shared.step = (published?.trace === data.trace && published.step) || data.step;
  const choose = (_, index) => { const [layer, head] = grid.places[index]; setTriggerValue("choose", { kind: grid.kind, layer, head }); };
  const thumbnails = thumbnailGrid(grid, { places: own, named: false, notes: null, told: "" }, { data: shared, state, colour, sans, show, choose, repaint });
  root.classList.remove("waits");
  const line = excludeFromPicture(element("div", "line"));
  line.append(...(data.kinds.length > 1 ? [kinds()] : []), merged());
  heads.append(line, thumbnails);
  detail.append(element("div", "heading"), element("div", "map"), cellLine);
  root.replaceChildren(heads, detail);
  state.width = null;
  state.draw = () => {
    if (root.clientWidth === state.width) return; // an open table changes the height
    state.width = root.clientWidth;
    repaint.forEach((paint) => paint());
    show(null);
  };
  state.moveTo = ({ trace, step }) => {
    if (data.trace && trace !== data.trace) return;
    shared.step = step;
    repaint.forEach((paint) => paint());
    map?.draw();
    showRow();
  };
  onResize(state, root, state.draw);
  state.draw();
  refocus(root, focused);
  if (first) state.unfollow = followStep((at) => state.moveTo(at));
  return () => { state.unfollow?.(); unmountComponent(root); };

  function kinds() {
    const line = element("div", "kinds");
    line.setAttribute("role", "group");
    line.setAttribute("aria-label", "Attention");
    for (const [kind, name] of data.kinds) {
      const node = button(kind === grid.kind ? "on" : "", name, () => setTriggerValue("kind", kind));
      node.setAttribute("aria-pressed", String(kind === grid.kind));
      node.dataset.focus = `kind ${kind}`;
      line.append(node);
    }
    return line;
  }

  function merged() { // one head, or all of them
    const { layer, head } = data.chosen, list = element("select"), choices = { one: "One head", mean: "Mean over heads", ...(data.acts.includes("rollout") && { rollout: "Rollout, on Heads" }) };
    for (const [value, text] of Object.entries(choices)) list.append(Object.assign(element("option", "", text), { value, selected: (head === null) === (value === "mean") && value !== "rollout" }));
    list.setAttribute("aria-label", "Heads of the large map");
    list.dataset.focus = "merged";
    list.onchange = () => {
      if (list.value === "rollout") setTriggerValue("rollout", grid.kind);
      else setTriggerValue("choose", { kind: grid.kind, layer, head: list.value === "mean" ? null : 1 });
    };
    return list;
  }

  function show(preview) { // the head under the pointer, else the chosen one
    const [layer, head] = preview ? grid.places[preview.index] : [];
    const shown = preview ? previewOf(preview.index) : pattern, title = element("h2"), hue = element("i", "hue"), scale = element("span", "scale"), bar = element("i");
    hue.style.background = `var(--lab-${grid.kind})`;
    const at = preview ? { layer, head } : data.chosen;
    title.append(hue, headName(grid.kind, at.layer, at.head) + (preview ? offText(grid, preview.index) : data.chosen.off));
    stateHeads(detail, title.textContent);
    bar.style.background = `linear-gradient(90deg, ${grid.scale.join(", ")})`;
    scale.append("0", bar, "1");
    map = heatmap(shown, {
      root, colour, style: data.style, tint: tintOf(shown, grid.scale), focus: "map", room: { width: detail.clientWidth, height: MAP_HEIGHT, ...MAP },
      label: `${pattern.title}: ${describePattern(shown)}. Arrow keys go from cell to cell.`,
      table: { label: title.textContent, valueName: "Weight" },
      points: { cell: grid.kind, row: `${grid.kind} row`, column: `${grid.kind} column` },
      row: () => (shown.follows && shared.step <= shown.queries.length ? shared.step - 1 : -1), onChoose: preview ? null : showCell,
    });
    markPicture(detail, data.pattern.picture, { colours: grid.scale, low: 0, high: 1 });
    detail.children[0].replaceChildren(title, scale);
    detail.children[1].replaceChildren(map.node);
    if (!preview) showRow();
  }

  function previewOf(index) { // to the nearest 1/255
    const { raw, cells } = unpacked(grid), [, columns] = grid.shape, values = pattern.values.map((row) => new Float32Array(row.length));
    cells.forEach((at, n) => { const row = values[Math.floor(at / columns)]; if (row) row[at % columns] = raw[index * cells.length + n] / 255; });
    return { ...pattern, values, former: null, digits: 2 };
  }

  function showRow() { // where the row of the step looks most
    if (!pattern.follows || shared.step > pattern.queries.length) { cellLine.replaceChildren("Each row is one token looking at the others."); return; }
    showCell(largestCell(pattern, shared.step - 1));
  }

  function showCell([i, j]) {
    if (!pattern.allowed[i][j]) { cellLine.replaceChildren(`“${nth(pattern.queries, i)}” on “${nth(pattern.keys, j)}”: masked.`); return; }
    const value = pattern.values[i][j], place = `“${nth(pattern.queries, i)}” on “${nth(pattern.keys, j)}”`;
    const parts = [writeProbabilities(element("span"), (form) => `${place}: ${form(value)}`)];
    const isComputed = i < grid.shape[0] && j < grid.shape[1]; // not padding of the batch
    const tell = (event) => () => setTriggerValue(event, { query: i + 1, key: j + 1 });
    if (data.acts.includes("block")) parts.push(button("way", "Block this link", tell("block")));
    if (data.acts.includes("compute") && data.chosen.head !== null && isComputed) parts.push(writeProbabilities(button("way", "", tell("compute")), (form) => `How was ${form(value)} computed?`));
    cellLine.replaceChildren(...parts);
  }
}
