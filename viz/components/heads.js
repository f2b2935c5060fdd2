// All heads as thumbnails on a canvas for each kind of site, and one head large. Nothing here makes markup from text.
// Hovering previews a head, a click or Enter chooses it; only that is sent.

const mounts = new WeakMap();

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".all-heads"), { chosen } = data;
  const state = mounts.get(root) || { cursor: {} };
  const focused = parentElement.activeElement?.dataset?.focus;
  mounts.set(root, state);
  for (const name in data.style) root.style.setProperty(name, data.style[name]);
  const colour = (name) => data.style[`--lab-${name}`];
  const sans = () => getComputedStyle(root).fontFamily;
  const panel = element("section", "detail");
  const at = data.grids.find((grid) => grid.kind === chosen.kind);
  const repaint = [];
  const boxes = element("div", "grids");
  for (const grid of data.grids) boxes.append(site(grid));
  root.replaceChildren(boxes, panel);
  show(null);
  if (focused) root.querySelector(`[data-focus="${focused}"]`)?.focus({ preventScroll: true });
  state.paint = () => repaint.forEach((paint) => paint());
  if (!state.resize) {
    state.resize = new ResizeObserver(() => state.paint());
    state.resize.observe(root);
  }
  requestAnimationFrame(state.paint); // fonts and sizes are there by then
  return () => { state.resize?.disconnect(); mounts.delete(root); };

  function indexOf(grid, layer, head) { return grid.places.findIndex(([l, h]) => l === layer && h === head); }

  // -- thumbnails --------------------------------------------------------------------------------------------------

  function picture(grid) { // every head under the other, one pixel a cell
    const { raw, cells } = unpacked(grid), [m, n] = grid.shape, canvas = element("canvas");
    Object.assign(canvas, { width: n, height: m * grid.places.length });
    const image = new ImageData(n, m * grid.places.length), table = [];
    const colours = grid.scale.map(rgb);
    for (let level = 0; level < 256; level++) table.push(colours[Math.round((level / 255) * (colours.length - 1))]);
    for (let i = 0; i < raw.length; i++) {
      const [r, g, b] = table[raw.charCodeAt(i)], at = Math.floor(i / cells.length) * m * n + cells[i % cells.length];
      image.data.set([r, g, b, 255], at * 4);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    return canvas;
  }

  function site(grid) {
    const box = element("section", "site"), top = element("div", "top"), title = element("h3"), hue = element("i", "hue");
    hue.style.background = `var(--lab-${grid.kind})`;
    title.append(hue, grid.name);
    top.append(title, element("span", "", `${grid.places.length} heads`));
    const canvas = element("canvas"), source = picture(grid), [m, n] = grid.shape;
    canvas.tabIndex = 0;
    canvas.dataset.focus = grid.kind;
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `${grid.name}: ${grid.layers} layers by ${grid.heads} heads. Arrow keys preview a head, Enter chooses it.`);
    const live = element("span", "");
    live.setAttribute("aria-live", "polite");
    live.style.cssText = "position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)";
    let over = null, tile = 30;

    function paint() {
      const width = canvas.parentElement?.clientWidth || 320, ratio = Math.max(2, devicePixelRatio || 1);
      tile = Math.max(8, Math.min(64, (width - LEFT) / grid.heads));
      const height = TOP + grid.layers * tile;
      Object.assign(canvas, { width: width * ratio, height: height * ratio });
      canvas.style.height = `${height}px`;
      const x = canvas.getContext("2d");
      x.setTransform(ratio, 0, 0, ratio, 0, 0);
      x.imageSmoothingEnabled = tile * ratio < Math.max(m, n);
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
      grid.places.forEach(([layer, head], index) => {
        const left = LEFT + (index % grid.heads) * tile, y = TOP + Math.floor(index / grid.heads) * tile, size = tile - GAP;
        x.drawImage(source, 0, index * m, n, m, left, y, size, size);
        const on = grid.kind === chosen.kind && layer === chosen.layer && (chosen.head === null || head === chosen.head);
        x.strokeStyle = colour(on || over === index ? "ink" : "line");
        x.lineWidth = on ? 2.5 : over === index ? 1.5 : 1;
        x.strokeRect(left + 0.5, y + 0.5, size - 1, size - 1);
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
    canvas.onkeydown = (event) => {
      const last = grid.places.length - 1, from = state.cursor[grid.kind] ?? (grid.kind === chosen.kind ? Math.max(0, indexOf(grid, chosen.layer, chosen.head ?? 1)) : 0);
      const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -grid.heads, ArrowDown: grid.heads };
      if (event.key === "Enter" || event.key === " ") choose(over ?? from);
      else if (moves[event.key]) {
        const to = over === null ? from : from + moves[event.key];
        if (to >= 0 && to <= last) { state.cursor[grid.kind] = to; look(to); }
      } else return;
      event.preventDefault();
      event.stopPropagation();
    };
    box.append(top, canvas, live);
    repaint.push(paint);
    return box;
  }

  // -- one head ----------------------------------------------------------------------------------------------------

  function show(preview) { // a head under the pointer, else the one that is chosen
    const grid = preview ? preview.grid : at, [layer, head] = preview ? grid.places[preview.index] : [chosen.layer, chosen.head];
    const title = element("div", "name"), name = element("h2"), hue = element("i", "hue");
    panel.style.setProperty("--hue", `var(--lab-${grid.kind})`);
    hue.style.background = "var(--hue)";
    name.append(hue, `${grid.name}${grid.kind === "cross" ? "-attention" : " self-attention"}, layer ${layer}, ${head === null ? "mean over heads" : `head ${head}`}`);
    const what = preview ? "preview: click to choose it" : MEASURES[chosen.measure] + (chosen.measure === "weights" ? "" : "; thumbnails and numbers stay those of the weights");
    title.append(name, element("span", "say", what));
    if (!preview && head !== null) {
      const mean = element("button", "mean", "Mean over heads");
      mean.type = "button";
      mean.dataset.focus = "mean";
      mean.onclick = () => setTriggerValue("choose", { kind: grid.kind, layer, head: null });
      title.append(mean);
    }
    const map = preview ? previewed(grid, preview.index) : chosen;
    const three = element("div", "three");
    three.append(lines(map, grid), whole(map, grid), numbers(grid, preview ? preview.index : head === null ? null : indexOf(grid, layer, head)));
    const tops = [...panel.querySelectorAll(".lines, .map")].map((node) => node.scrollTop);
    const focus = parentElement.activeElement?.dataset?.focus;
    panel.replaceChildren(title, three);
    [...panel.querySelectorAll(".lines, .map")].forEach((node, n) => { node.scrollTop = tops[n] || 0; });
    if (focus && panel.contains(parentElement.activeElement) === false) panel.querySelector(`[data-focus="${focus}"]`)?.focus({ preventScroll: true });
  }

  function lines(map, grid) {
    const box = element("section", ""), scroll = element("div", "lines"), { queries, keys } = map;
    const head = element("h3", "", "Token to token");
    head.append(element("small", "", map.rough ? "weights above 0.08" : "left is looked at, right asks"));
    const most = Math.max(queries.length, keys.length), pitch = Math.max(13, Math.min(22, 300 / most)), height = most * pitch + 4, width = 380;
    const long = Math.max(...keys.map((k) => k.length)), from = Math.min(150, 12 + long * 7.3), to = width - Math.min(170, 12 + Math.max(...queries.map((q) => q.length)) * 7.3);
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": `${queries.length} queries on the right, ${keys.length} keys on the left; a thick line is much weight` });
    const y = (i, count) => (i + 0.5) * pitch + ((most - count) * pitch) / 2, paths = [];
    map.values.forEach((row, i) => row.forEach((weight, j) => {
      if (!map.kept[i][j]) return;
      const [a, b] = [y(j, keys.length), y(i, queries.length)], middle = (from + to) / 2;
      const path = drawing("path", { d: `M${from} ${a}C${middle} ${a} ${middle} ${b} ${to} ${b}`, stroke: `var(--lab-${grid.kind})`, "stroke-width": 0.75 + 4 * weight, "stroke-opacity": Math.min(1, 0.1 + 0.9 * weight) });
      paths.push([path, i, j, weight]);
      svg.append(path);
    }));
    const labels = [];
    const isolate = (side, n) => {
      for (const [path, i, j, weight] of paths) path.setAttribute("stroke-opacity", n === null || (side ? i : j) === n ? Math.min(1, 0.1 + 0.9 * weight) : 0.03);
      for (const [text, s, k] of labels) text.classList.toggle("off", n !== null && s === side && k !== n);
    };
    const label = (text, side, n, count) => {
      const node = drawing("text", { x: side ? to + 6 : from - 6, y: y(n, count) + 4, class: side ? "query" : "key" }, cut(text, 22));
      node.append(drawing("title", {}, text));
      node.onmouseenter = () => isolate(side, n);
      node.onmouseleave = () => isolate(side, null);
      labels.push([node, side, n]);
      svg.append(node);
    };
    keys.forEach((text, n) => label(text, 0, n, keys.length));
    queries.forEach((text, n) => label(text, 1, n, queries.length));
    if (map.row !== null) svg.append(drawing("rect", { x: to + 2, y: y(map.row, queries.length) - pitch / 2 + 1, width: width - to - 4, height: pitch - 2, rx: 4, fill: "none", stroke: "var(--lab-ink)", "stroke-width": 2 }));
    scroll.append(svg);
    box.append(head, scroll);
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
    const box = element("section", ""), scroll = element("div", "map"), canvas = element("canvas"), said = element("p", "said");
    const title = element("h3", "", "Full map");
    title.append(element("small", "", "a row asks, a column answers"));
    const { queries, keys, values } = map, n = keys.length, m = queries.length;
    const left = Math.min(110, 12 + Math.max(...queries.map((q) => q.length)) * 6), top = 52, size = Math.max(5, Math.min(20, Math.floor((310 - left) / n))), ratio = Math.max(2, devicePixelRatio || 1);
    const width = left + n * size + 40, height = top + m * size + 2;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
    let mark = null;
    const paint = () => {
      const x = canvas.getContext("2d");
      x.setTransform(ratio, 0, 0, ratio, 0, 0);
      x.clearRect(0, 0, width, height);
      for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) if (map.allowed[i][j]) {
        x.fillStyle = grid.scale[Math.round(Math.min(1, values[i][j]) * (grid.scale.length - 1))];
        x.fillRect(left + j * size, top + i * size, size, size);
      }
      x.strokeStyle = colour("border");
      x.lineWidth = 1;
      x.strokeRect(left - 0.5, top - 0.5, n * size + 1, m * size + 1);
      x.textBaseline = "middle";
      if (size >= 8) {
        for (let i = 0; i < m; i++) {
          x.font = `${i === map.row || mark?.[0] === i ? "650 " : ""}11px ${sans()}`;
          x.fillStyle = colour(i === map.row || mark?.[0] === i ? "ink" : "ink2");
          x.textAlign = "right";
          x.fillText(cut(queries[i], 18), left - 5, top + (i + 0.5) * size, left - 6);
        }
        for (let j = 0; j < n; j++) {
          x.save();
          x.translate(left + (j + 0.5) * size, top - 5);
          x.rotate(-Math.PI / 3);
          x.font = `${mark?.[1] === j ? "650 " : ""}11px ${sans()}`;
          x.fillStyle = colour(mark?.[1] === j ? "ink" : "ink2");
          x.textAlign = "left";
          x.fillText(cut(keys[j], 9), 0, 0);
          x.restore();
        }
      }
      x.strokeStyle = colour("ink");
      x.lineWidth = 1.5;
      if (map.row !== null) x.strokeRect(left - 1, top + map.row * size, n * size + 2, size);
      if (mark) x.strokeRect(left + mark[1] * size, top + mark[0] * size, size, size);
    };
    const rest = map.rough ? "" : "Point at a cell for its exact value.";
    canvas.onmousemove = (event) => {
      const j = Math.floor((event.offsetX - left) / size), i = Math.floor((event.offsetY - top) / size);
      mark = i >= 0 && i < m && j >= 0 && j < n ? [i, j] : null;
      said.textContent = !mark ? rest : map.allowed[i][j] ? `${queries[i]} on ${keys[j]}: ${map.rough ? "about " : ""}${values[i][j].toFixed(map.rough ? 2 : 5)}` : `${queries[i]} may not look at ${keys[j]}`;
      paint();
    };
    canvas.onmouseleave = () => { mark = null; said.textContent = rest; paint(); };
    let best = [0, 0];
    values.forEach((row, i) => row.forEach((w, j) => { if (w > values[best[0]][best[1]]) best = [i, j]; }));
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${m} queries by ${n} keys; the largest value, ${values[best[0]][best[1]].toFixed(3)}, is ${queries[best[0]]} looking at ${keys[best[1]]}`);
    said.textContent = rest;
    scroll.append(canvas);
    box.append(title, scroll, said);
    paint();
    return box;
  }

  function chosenIndex(grid) { return chosen.head === null ? null : indexOf(grid, chosen.layer, chosen.head); }

  function numbers(grid, index) {
    const box = element("section", ""), title = element("h3", "", "On this sentence"), list = element("div", "numbers");
    title.append(element("small", "", `beside the site’s ${grid.places.length} heads`));
    NUMBERS.forEach((name, n) => {
      const values = grid.numbers[n], top = Math.max(...values, 1e-9), track = element("div", "track");
      values.forEach((value, k) => {
        const tick = element("i", k === index ? "on" : "");
        tick.style.left = `${(value / top) * 100}%`;
        track.append(tick);
      });
      const shown = index === null ? values.reduce((a, b) => a + b, 0) / values.length : values[index];
      list.append(element("span", "", name), track, element("b", "", shown.toFixed(2)));
    });
    const switches = element("div", "switches");
    for (const [field, text] of [["hide", "Hide <s>, </s> and punctuation in the lines"], ["merge", "Merge pieces into words"]]) {
      const line = element("label", ""), box = element("input");
      Object.assign(box, { type: "checkbox", checked: chosen[field] });
      box.setAttribute("role", "switch");
      box.dataset.focus = field;
      box.onchange = () => setTriggerValue("set", { [field]: box.checked });
      line.append(box, text);
      switches.append(line);
    }
    const { contribution, rollout } = chosen.agreement, agree = element("p", "agree");
    const told = (value) => (value === null ? "–" : value.toFixed(2).replace("-", "−"));
    agree.append("Rank correlation of this head’s weights with its contributions ", element("b", "", told(contribution)), ", with the rollout ", element("b", "", told(rollout)), ": where they differ, none of them alone is what matters.");
    box.append(title, list, switches, ...(chosen.kind === grid.kind && index === chosenIndex(grid) ? [agree] : []));
    if (index === null) box.insertBefore(element("p", "agree", "The numbers are means over all heads of the site."), switches);
    return box;
  }
}
