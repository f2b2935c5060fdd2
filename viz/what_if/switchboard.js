// The mask as a clickable matrix, and all heads as clickable grids. Nothing here makes markup from text: textContent only.
// A click reports the code of an edit; the server makes the edit or takes it back. Hovering and moving send nothing.

import { button, density, focusOf, mountComponent, nth, onKeys, refocus, pointerPosition, term, unmountComponent, headName, signed, exactProbability, element } from "../kit/mount.js";
import { cellTable, headTable } from "../kit/cell_table.js";
import { drawLabels, textWidths, mapLayout, mapPoints } from "../kit/map_labels.js";
import { onStageResize, stageSize } from "../kit/stage.js";
import { excludeFromPicture, pen, markPicture } from "../kit/pen.js";
import { contrastColour } from "../kit/readable.js";

const CELL = 18, LEAST = 9, FONT = 12; // px: a cell, its labels
const LARGE = { cell: 44, least: 2, font: 14, beside: 320, told: 56, head: 120, row: 40 }; // px in lecture mode, with the heads beside the mask

export default function ({ data, parentElement, setTriggerValue, offline }) {
  const { root, state } = mountComponent({ data, parentElement }, ".switchboard", { row: 0, column: 0 }), focused = focusOf(parentElement);
  const { large } = data;
  const build = () => {
    const place = stageSize(root), size = `${place.width} ${place.height}`;
    if (state.built === data && state.size === size) return;
    Object.assign(state, { built: data, size });
    root.classList.toggle("large", Boolean(large));
    root.replaceChildren(matrix(place), grids(place));
    refocus(root, focused);
  };
  build();
  if (large) onStageResize(state, root, build);
  return () => unmountComponent(root);

  function toggle(code) { setTriggerValue("toggle", code); }

  function heading(text, tip) {
    const title = element("h2");
    title.append(large || offline ? text : term({ [text]: tip }, text));
    return title;
  }

  // -- the mask matrix ---------------------------------------------------------------------------------------------

  function matrix(place) {
    const { queries, keys, values, allowed, blocked, scale, block } = data;
    const box = markPicture(element("section", "matrix"), "Who may see whom", { colours: scale, low: 0, high: 1 }), n = keys.length, m = queries.length;
    box.setAttribute("aria-label", "Who may see whom");
    const title = heading("Who may see whom", `${data.title}. Colour: attention weight. ${data.terms["attention weight"]} Click a cell or a token to block it.`), hue = element("i", "hue");
    hue.style.background = `var(--lab-${data.kind})`;
    title.prepend(hue);
    title.append(large || offline ? `: ${data.title}` : kinds());
    box.append(title);
    const sans = getComputedStyle(root).fontFamily;
    const font = large ? LARGE.font : FONT, measured = (texts) => textWidths(texts, `650 ${font}px ${sans}`);
    const labels = { font, rows: measured(queries), columns: measured(keys) };
    const layout = large
      ? mapLayout({ ...labels, width: place.width - LARGE.beside, height: place.height - LARGE.told, minSize: LARGE.least, maxSize: LARGE.cell })
      : mapLayout({ ...labels, width: data.width, minSize: LEAST, maxSize: CELL });
    const { left: LEFT, top: TOP, size } = layout, scroll = element("div", "scroll"), canvas = element("canvas");
    const { width, height } = layout, ratio = density(root);
    Object.assign(canvas, { width: width * ratio, height: height * ratio, tabIndex: 0, labPoints: mapPoints(canvas, layout, m, n) });
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    Object.assign(canvas.dataset, { left: LEFT, top: TOP, size });
    canvas.dataset.focus = "matrix";
    canvas.setAttribute("role", "application");
    canvas.setAttribute("aria-label", `Mask matrix, ${m} rows by ${n} columns. Arrow keys move${offline ? "" : ", space blocks a cell or frees it; beyond the first row and column stand the tokens, for a whole column or row"}.`);
    const said = excludeFromPicture(element("p", "said"));
    said.setAttribute("aria-live", "polite");
    state.row = Math.min(state.row, m - 1);
    state.column = Math.min(state.column, n - 1);
    let hover = null;
    const reached = () => [state.row < 0 ? null : state.row, state.column < 0 ? null : state.column]; // by keys; -1 is a token's own label
    const colour = (name) => getComputedStyle(root).getPropertyValue(`--lab-${name}`).trim();

    function draw() {
      const x = pen(canvas);
      x.setTransform(ratio, 0, 0, ratio, 0, 0);
      x.clearRect(0, 0, width, height);
      for (let i = 0; i < m; i++) for (let j = 0; j < n; j++) cell(x, i, j);
      const every = (count, some) => Array.from({ length: count }, (_, at) => at).filter(some);
      const strong = { rows: every(m, (i) => blocked[i].some(Boolean)), columns: every(n, (j) => blocked.some((row) => row[j])) };
      const [row, column] = hover || [];
      if (row != null) strong.rows = [row, ...strong.rows.filter((i) => i !== row)];
      if (column != null) strong.columns = [column, ...strong.columns.filter((j) => j !== column)];
      drawLabels(x, layout, { queries, keys, font, family: sans, strong, colour });
      const at = hover || (canvas.matches(":focus") ? reached() : null);
      if (at) {
        x.strokeStyle = colour("ink");
        x.lineWidth = 1.5;
        const [left, top, w, h] = frame(at);
        x.strokeRect(left, top, w, h);
      }
    }

    function frame([i, j]) {
      if (i === null) return [LEFT + j * size, TOP, size - 1, m * size - 1];
      if (j === null) return [LEFT, TOP + i * size, n * size - 1, size - 1];
      return [LEFT + j * size, TOP + i * size, size - 1, size - 1];
    }

    function cell(x, i, j) {
      const left = LEFT + j * size, top = TOP + i * size, s = size - 1;
      if (blocked[i][j]) {
        x.strokeStyle = colour("ink");
        x.lineWidth = size > 12 ? 2 : 1.2;
        x.strokeRect(left + 1, top + 1, s - 2, s - 2);
        const inset = size > 12 ? 4.5 : 3;
        x.beginPath();
        x.moveTo(left + inset, top + inset);
        x.lineTo(left + s - inset, top + s - inset);
        x.moveTo(left + s - inset, top + inset);
        x.lineTo(left + inset, top + s - inset);
        x.stroke();
      } else if (allowed[i][j]) {
        x.fillStyle = scale[Math.round(Math.min(1, values[i][j]) * (scale.length - 1))];
        x.fillRect(left, top, size < 6 ? size : s, size < 6 ? size : s);
        if (size < 6) return; // a line around each would hide them
        x.strokeStyle = colour("line");
        x.lineWidth = 1;
        x.strokeRect(left + 0.5, top + 0.5, s - 1, s - 1);
      }
    }

    function tell([i, j]) {
      if (offline && (i === null || j === null)) return nth(i === null ? keys : queries, i ?? j);
      if (i === null) return `${nth(keys, j)} as a column: nobody sees it, with a click`;
      if (j === null) return `${nth(queries, i)} as a row: it sees nothing, with a click`;
      if (!allowed[i][j] && !blocked[i][j]) return `${nth(queries, i)} cannot see ${nth(keys, j)}`;
      return `${nth(queries, i)} ${blocked[i][j] ? "is kept from" : "looks at"} ${nth(keys, j)}` + (blocked[i][j] ? "" : `, weight ${exactProbability(values[i][j])}`);
    }

    function at(event) {
      const [across, deep] = pointerPosition(event, canvas), j = Math.floor((across - LEFT) / size), i = Math.floor((deep - TOP) / size);
      const row = i >= 0 && i < m, column = j >= 0 && j < n;
      if (row && column) return [i, j];
      if (row && across < LEFT) return [i, null];
      if (column && deep < TOP) return [null, j];
      return null;
    }

    const number = (position) => (position === null ? block.every : position + 1);
    const code = ([i, j]) => block.code.replace("{query}", number(i)).replace("{key}", number(j));
    canvas.onmousemove = (event) => { hover = at(event); said.textContent = hover ? tell(hover) : ""; draw(); };
    canvas.onmouseleave = () => { hover = null; said.textContent = ""; draw(); };
    canvas.onclick = (event) => { const where = at(event); if (where && !offline) toggle(code(where)); };
    canvas.onfocus = canvas.onblur = () => { said.textContent = canvas.matches(":focus-visible") ? tell(reached()) : ""; draw(); };
    onKeys(canvas, (key, move) => {
      if (move) {
        const row = Math.min(m - 1, state.row + move[0]), column = Math.min(n - 1, state.column + move[1]);
        if (row >= -1 && column >= -1 && row + column > -2) Object.assign(state, { row, column });
        hover = null;
        said.textContent = tell(reached());
        draw();
      } else if ((key === " " || key === "Enter") && !offline) toggle(code(reached()));
      else return false;
      return true;
    });
    const cells = queries.flatMap((_, i) => keys.flatMap((__, j) => (allowed[i][j] && !blocked[i][j] ? [{ value: values[i][j], i, j }] : [])));
    const texts = ({ value, i, j }) => [nth(queries, i), nth(keys, j), exactProbability(value)];
    scroll.append(canvas);
    box.append(scroll, cellTable({ owner: root, name: "matrix", label: `Who may see whom, ${data.title}`, read: () => [{ cells, unit: "cells", columns: ["Row", "Column", "Weight"], texts }] }), said);
    draw();
    requestAnimationFrame(draw); // fonts and colours of the page are there by then
    return box;
  }

  function kinds() {
    const row = excludeFromPicture(element("span", "kinds"));
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Attention");
    for (const [kind, name] of data.kinds.length > 1 ? data.kinds : []) {
      const node = button("", name, () => setTriggerValue("kind", kind));
      node.setAttribute("aria-pressed", String(kind === data.kind));
      node.dataset.focus = `kind ${kind}`;
      row.append(node);
    }
    return row;
  }

  // -- the heads ---------------------------------------------------------------------------------------------------

  function grids(place) {
    const box = markPicture(element("section", "heads"), "Which head matters here");
    box.setAttribute("aria-label", "Heads");
    const meaning = `Pink: less likely without this head. Blue: more likely. (Change in ${data.scored}, nats.)`;
    box.append(heading("Which head matters?", meaning));
    if (large || offline) box.append(element("p", "sub", meaning));
    const most = Math.max(0.01, ...data.grids.flatMap((g) => g.changes.flat().map(Math.abs))), all = data.grids.flatMap((g) => g.changes.flat()), count = all.filter((change) => change !== null).length;
    for (const grid of data.grids) {
      box.append(element("h3", "", grid.title));
      const rows = element("div", "grid");
      rows.style.gridTemplateColumns = `20px repeat(${grid.changes[0].length}, minmax(0, ${large ? 44 : 19}px))`;
      const high = large ? Math.max(19, Math.min(LARGE.row, (place.height - LARGE.head) / grid.changes.length)) : null;
      if (large) rows.append(element("span"), ...grid.changes[0].map((_, head) => element("span", "head", `H${head + 1}`)));
      grid.changes.forEach((row, layer) => {
        rows.append(layerButton(grid, layer));
        row.forEach((change, head) => {
          const off = grid.off[layer][head], known = change !== null;
          const node = element("button", off ? "off" : known ? "" : "waiting", off ? "✕" : known ? "" : `${head + 1}`);
          const name = headName(grid.kind, layer + 1, head + 1);
          node.type = "button";
          node.dataset.focus = grid.codes[layer][head];
          if (high) node.style.height = `${high}px`;
          const told = (when) => (known ? `${data.scored} ${signed(change)} nats when ${when}` : "not measured yet");
          if (known) node.dataset.change = change;
          node.setAttribute("aria-pressed", off);
          node.setAttribute("aria-label", `${name}: ${told("off")}${off ? ", off now" : ""}`);
          node.title = `${name}: ${told("it is off")}. ${offline ? (off ? "It is off here." : "") : off ? "Click to switch it on." : "Click to switch it off."}`.trim();
          node.disabled = Boolean(offline);
          const colour = data.diverging[Math.round((((change ?? 0) / most + 1) / 2) * (data.diverging.length - 1))];
          Object.assign(node.style, { background: colour, color: contrastColour(colour, data.style) });
          node.tabIndex = layer + head ? -1 : 0;
          node.onclick = () => toggle(grid.codes[layer][head]);
          onKeys(node, (_, move) => move && step(move, rows, grid, layer, head));
          rows.append(node);
        });
      });
      box.append(rows);
    }
    const legend = element("div", "legend"), bar = element("i");
    bar.style.background = `linear-gradient(90deg, ${data.diverging.join(",")})`;
    if (count < all.length) legend.replaceChildren(`Measuring: ${count} of ${all.length} heads …`);
    else legend.append(element("span", "", signed(-most)), bar, element("span", "", signed(most)));
    box.append(legend, headTable(root, "heads", data.grids.map(({ kind, changes }) => ({ kind, values: changes })), { label: "Which head matters?", valueName: "Change, nats", valueText: signed }));
    return box;
  }

  function layerButton(grid, layer) {
    const isOff = grid.off[layer].every(Boolean), node = button("layer", `L${layer + 1}`, () => toggle(grid.layers[layer]));
    node.dataset.focus = grid.layers[layer];
    node.title = `${grid.name}, layer ${layer + 1}: all heads${isOff ? ", off now" : ""}`;
    node.setAttribute("aria-label", node.title);
    node.setAttribute("aria-pressed", String(isOff));
    node.disabled = Boolean(offline);
    return node;
  }

  function step([down, right], rows, grid, layer, head) {
    const to = grid.codes[layer + down]?.[head + right];
    if (to) rows.querySelector(`[data-focus="${CSS.escape(to)}"]`)?.focus();
    return true;
  }
}
