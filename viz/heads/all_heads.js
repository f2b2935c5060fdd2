// All heads as thumbnails on a canvas for each kind of site, and one head large. Nothing here makes markup from text.
// Hovering previews a head, a click or Enter chooses it; only that is sent.

import { element, focusOf, mounted, onKeys, onResize, refocus, unmounted, button, minus } from "../shared/mount.js";
import { ARRIVED, store } from "./thumbnails_parts.js";
import { allThree, previewed, rgb, unpacked } from "./all_heads_parts.js";
import { fullMap, painted, tokenLines } from "./all_heads_maps.js";
import { numbers } from "./all_heads_numbers.js";

const LEFT = 22, TOP = 16, GAP = 2;

export default function (args) { // the thumbnails come as an element of their own, once: they may still be on their way
  const ready = () => store().get(args.data.grids), root = args.parentElement.querySelector(".all-heads");
  let leave = () => {};
  const arrived = () => {
    if (!ready()) return;
    document.removeEventListener(ARRIVED, arrived);
    leave = draw({ ...args.data, grids: ready() }, args);
  };
  root.classList.toggle("waits", !ready());
  document.addEventListener(ARRIVED, arrived);
  arrived();
  return () => { document.removeEventListener(ARRIVED, arrived); leave(); };
}

function draw(data, { parentElement, setTriggerValue }) {
  const { root, state } = mounted({ data, parentElement }, ".all-heads", { cursor: {} }), { chosen } = data, focused = focusOf(parentElement);
  root.classList.remove("waits");
  const colour = (name) => data.style[`--lab-${name}`];
  const sans = () => getComputedStyle(root).fontFamily;
  const panel = element("section", "detail");
  const at = data.grids.find((grid) => grid.kind === chosen.kind);
  const repaint = [];
  const boxes = element("div", "grids");
  for (const grid of data.grids) boxes.append(site(grid));
  root.replaceChildren(boxes, panel);
  show(null);
  refocus(root, focused);
  onResize(state, root, () => repaint.forEach((paint) => paint()));
  requestAnimationFrame(state.draw); // fonts and sizes are there by then
  return () => unmounted(root);

  function indexOf(grid, layer, head) { return grid.places.findIndex(([l, h]) => l === layer && h === head); }

  // -- thumbnails --------------------------------------------------------------------------------------------------

  function picture(grid) { // every head under the other, a pixel a cell; the largest of several cells where they are many
    const kept = chosen.byRow ? "byRow" : "plain";
    if (grid[kept]) return grid[kept];
    const { raw, cells } = unpacked(grid), [m, n] = grid.shape, canvas = element("canvas"), count = grid.places.length, all = cells.length;
    const pool = Math.max(1, Math.ceil(Math.max(m, n) / 72)), high = Math.ceil(m / pool), wide = Math.ceil(n / pool);
    Object.assign(canvas, { width: wide, height: high * count });
    const image = new ImageData(wide, high * count), levels = new Int16Array(wide * high * count).fill(-1), colours = grid.scale.map(rgb), most = new Float32Array(m);
    for (let head = 0; head < count; head++) {
      most.fill(data.chosen.byRow ? 0 : 255);
      if (data.chosen.byRow) for (let k = 0; k < all; k++) { const i = Math.floor(cells[k] / n), w = raw[head * all + k]; if (w > most[i]) most[i] = w; }
      for (let k = 0; k < all; k++) {
        const i = Math.floor(cells[k] / n), j = cells[k] % n, at = (head * high + Math.floor(i / pool)) * wide + Math.floor(j / pool);
        const level = most[i] ? (raw[head * all + k] / most[i]) * 255 : 0;
        if (level > levels[at]) levels[at] = level;
      }
    }
    levels.forEach((level, at) => { if (level >= 0) image.data.set([...colours[Math.round((level / 255) * (colours.length - 1))], 255], at * 4); });
    canvas.getContext("2d").putImageData(image, 0, 0);
    return (grid[kept] = Object.assign(canvas, { high, wide }));
  }

  function site(grid) {
    const box = element("section", "site"), top = element("div", "top"), title = element("h2", "kind"), hue = element("i", "hue");
    hue.style.background = `var(--lab-${grid.kind})`;
    title.append(hue, grid.name);
    top.append(title, element("span", "", `${grid.places.length} heads`));
    const canvas = element("canvas"), source = picture(grid);
    canvas.tabIndex = 0;
    canvas.dataset.focus = grid.kind;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `${grid.name}: ${grid.layers} layers by ${grid.heads} heads. Arrow keys preview a head, Enter chooses it.`);
    const live = element("span", "");
    live.setAttribute("aria-live", "polite");
    live.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
    const ground = element("canvas"), scaled = (drawn, ratio) => { const x = drawn.getContext("2d"); x.setTransform(ratio, 0, 0, ratio, 0, 0); return x; };
    let over = null, tile = 30;

    function settle() { // the thumbnails, drawn once for a size
      const width = canvas.parentElement?.clientWidth || 320, ratio = Math.max(2, devicePixelRatio || 1);
      tile = Math.max(8, Math.min(64, (width - LEFT) / grid.heads));
      const height = TOP + grid.layers * tile;
      Object.assign(canvas, { width: width * ratio, height: height * ratio });
      canvas.style.height = `${height}px`;
      Object.assign(ground, { width: canvas.width, height: canvas.height });
      const x = scaled(ground, ratio);
      x.imageSmoothingEnabled = tile * ratio < Math.max(source.high, source.wide);
      x.font = `11px ${sans()}`;
      x.fillStyle = colour("ink2");
      x.textBaseline = "middle";
      if (data.order === "position") {
        x.textAlign = "center";
        for (let head = 0; head < grid.heads; head++) x.fillText(head + 1, LEFT + (head + 0.5) * tile, TOP / 2);
        x.textAlign = "left";
        for (let layer = 0; layer < grid.layers; layer++) x.fillText(`L${layer + 1}`, 0, TOP + (layer + 0.5) * tile);
      } else {
        x.textAlign = "left";
        x.fillText(`by ${data.order}, row by row`, LEFT, TOP / 2);
      }
      grid.places.forEach((place, index) => {
        const [left, y] = corner(index);
        x.drawImage(source, 0, index * source.high, source.wide, source.high, left, y, tile - GAP, tile - GAP);
        frame(x, index, "line", 1);
      });
      paint();
    }

    function corner(index) { return [LEFT + (index % grid.heads) * tile, TOP + Math.floor(index / grid.heads) * tile]; }

    function frame(x, index, name, thick) {
      const [left, y] = corner(index);
      x.strokeStyle = colour(name);
      x.lineWidth = thick;
      x.strokeRect(left + 0.5, y + 0.5, tile - GAP - 1, tile - GAP - 1);
    }

    function paint() { // what is chosen, and what is pointed at
      const x = scaled(canvas, 1);
      x.clearRect(0, 0, canvas.width, canvas.height);
      x.drawImage(ground, 0, 0);
      scaled(canvas, canvas.width / (canvas.parentElement?.clientWidth || 320));
      grid.places.forEach(([layer, head], index) => {
        const on = (data.together || grid.kind === chosen.kind) && [null, layer].includes(chosen.layer) && [null, head].includes(chosen.head);
        if (on || over === index) frame(x, index, "ink", on && chosen.layer !== null ? 2.5 : 1.5);
      });
    }

    const hit = (event) => {
      const column = Math.floor((event.offsetX - LEFT) / tile), row = Math.floor((event.offsetY - TOP) / tile), index = row * grid.heads + column;
      return column >= 0 && column < grid.heads && row >= 0 && index < grid.places.length ? index : null;
    };
    const look = (index) => {
      if (index === over) return;
      over = index;
      paint();
      show(index === null ? null : { grid, index });
      if (index !== null) live.textContent = `Layer ${grid.places[index][0]}, head ${grid.places[index][1]}`;
    };
    const choose = (index) => { const [layer, head] = grid.places[index]; setTriggerValue("choose", { kind: grid.kind, layer, head }); };
    canvas.onmousemove = (event) => look(hit(event));
    canvas.onmouseleave = () => look(null);
    canvas.onblur = () => look(null);
    canvas.onclick = (event) => { const index = hit(event); if (index !== null) { state.cursor[grid.kind] = index; choose(index); } };
    onKeys(canvas, (key, arrow) => {
      const last = grid.places.length - 1, from = state.cursor[grid.kind] ?? (grid.kind === chosen.kind ? Math.max(0, indexOf(grid, chosen.layer ?? 1, chosen.head ?? 1)) : 0);
      if (key === "Enter" || key === " ") choose(over ?? from);
      else if (arrow) {
        const to = over === null ? from : from + arrow[0] * grid.heads + arrow[1];
        if (to >= 0 && to <= last) { state.cursor[grid.kind] = to; look(to); }
      } else return false;
      return true;
    });
    box.append(top, canvas, live);
    repaint.push(settle);
    return box;
  }

  // -- one head ----------------------------------------------------------------------------------------------------

  function show(preview) { // a head under the pointer, else the one that is chosen
    const grid = preview ? preview.grid : at, [layer, head] = preview ? grid.places[preview.index] : [chosen.layer, chosen.head];
    const title = element("div", "name"), name = element("h2"), hue = element("i", "hue");
    panel.style.setProperty("--hue", `var(--lab-${grid.kind})`);
    hue.style.background = "var(--hue)";
    const where = layer === null ? "mean over layers and heads" : `layer ${layer}, ${head === null ? "mean over heads" : `head ${head}`}`, three = element("div", "three");
    if (data.together && !preview) name.append(`All three at once: ${where}`);
    else name.append(hue, `${grid.title}, ${where}`);
    const small = !chosen.byRow && Math.max(...grid.shape) > 60 ? "; small weights of a long sentence: colour by row’s maximum shows more" : "";
    const what = preview ? "preview: click to choose it" : chosen.readAs + (chosen.measure === "weights" ? "" : "; thumbnails and numbers stay those of the weights") + small;
    title.append(name, element("span", "say", what));
    const ways = element("div", "ways");
    if (!preview) {
      if (head !== null) ways.append(way("mean", "Mean over heads", () => setTriggerValue("choose", { kind: grid.kind, layer, head: null })));
      ways.append(way("average", layer === null ? "One layer" : "Mean over layers", () => setTriggerValue("set", { average: layer !== null })));
      if (layer !== null) ways.append(way("unfold", "Unfold it, stage by stage", () => setTriggerValue("unfold", true)));
      ways.append(way("together", data.together ? "One site alone" : "All three at once", () => setTriggerValue("set", { together: !data.together })));
      ways.append(way("colour", chosen.byRow ? "Colour 0 to 1" : "Colour by row’s maximum", () => setTriggerValue("set", { by_row: !chosen.byRow })));
      title.append(ways);
    }
    const map = preview ? previewed(grid, preview.index, chosen.byRow) : chosen, index = preview ? preview.index : head === null || layer === null ? null : indexOf(grid, layer, head);
    if (data.together && !preview) {
      three.classList.add("one");
      three.append(allThree(data.together, Object.fromEntries(data.grids.map((each) => [each.kind, each.name]))), below());
    } else three.append(lines(map, grid), whole(map, grid), numbers(data.metrics, grid, { index, layer }, switches(), preview ? null : chosen.agreement));
    const beside = preview || data.together ? [] : [readings(grid)];
    const tops = [...panel.querySelectorAll(".lines, .map")].map((node) => node.scrollTop);
    const focus = focusOf(parentElement);
    panel.replaceChildren(title, three, ...beside);
    [...panel.querySelectorAll(".lines, .map")].forEach((node, n) => { node.scrollTop = tops[n] || 0; });
    if (focus && panel.contains(parentElement.activeElement) === false) refocus(panel, focus);
  }

  function below() {
    const line = element("div", "below");
    line.append(mass(), switches());
    return line;
  }

  function way(focus, text, act) {
    const node = button("mean", text, act);
    node.dataset.focus = focus;
    return node;
  }

  function readings(grid) { // the same head read in three ways, each in its own map
    const row = element("section", "readings");
    row.append(element("h3", "", "Three readings side by side"));
    for (const name in chosen.readings) {
      const values = chosen.readings[name], canvas = painted({ values, allowed: chosen.allowed, byRow: chosen.byRow }, grid), figure = element("figure"), agreed = chosen.agreement[name];
      const size = Math.max(2, Math.min(11, Math.floor(210 / Math.max(values.length, values[0].length))));
      Object.assign(canvas.style, { width: `${values[0].length * size}px`, height: `${values.length * size}px` });
      let best = [0, 0];
      values.forEach((weights, i) => weights.forEach((w, j) => { if (w > values[best[0]][best[1]]) best = [i, j]; }));
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `${name}: the largest value, ${values[best[0]][best[1]].toFixed(3)}, is ${chosen.queries[best[0]]} looking at ${chosen.keys[best[1]]}`);
      const told = agreed === undefined ? "" : `, rank correlation with the weights ${agreed === null ? "–" : minus(agreed.toFixed(2))}`;
      figure.append(canvas, element("figcaption", "", name + told));
      row.append(figure);
    }
    return row;
  }

  function lines(map, grid) {
    const box = element("section", ""), { title, scroll, said } = tokenLines(map, grid);
    box.append(title, scroll, said);
    if (!map.rough) box.append(mass());
    return box;
  }

  function mass() {
    const line = element("label", ""), range = element("input");
    Object.assign(range, { type: "range", min: 50, max: 100, step: 5, value: chosen.mass });
    range.dataset.focus = "mass";
    range.setAttribute("aria-label", "Share of each row's weight that is drawn, per cent");
    range.onchange = () => setTriggerValue("set", { mass: Number(range.value) });
    line.append("Keep the heaviest", range, element("span", "", `${chosen.mass}%`));
    return line;
  }

  function whole(map, grid) {
    const box = element("section", ""), { title, scroll, said } = fullMap(map, grid, colour, sans());
    box.append(title, scroll, said);
    return box;
  }

  function switches() {
    const box = element("div", "switches");
    for (const [field, text] of [["hide", "Hide <s>, </s> and punctuation in the lines"], ["merge", "Merge pieces into words"]]) {
      const line = element("label", ""), input = element("input");
      Object.assign(input, { type: "checkbox", checked: chosen[field] });
      input.setAttribute("role", "switch");
      input.dataset.focus = field;
      input.onchange = () => setTriggerValue("set", { [field]: input.checked });
      line.append(input, text);
      box.append(line);
    }
    return box;
  }
}
