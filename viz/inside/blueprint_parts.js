// Where everything of the picture stands: numbers alone, from the bottom up. The y axis points down, as on the screen.

const CHAR = 6.6; // px of one sign in the tokens' font
const whole = (n) => n.toLocaleString("en-US");
const short = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${Math.round(n / 1000)} k` : n ? whole(n) : "");
const letters = (shape) => `[${shape[1]}] = [${shape[2]}]`;
const cell = (label) => Math.max(20, Math.min(label.length, 14) * CHAR + 7);

// One column's blocks and plates from the bottom up: [{ block | plate, x, y, w, h }], arcs round the sub-layers, the stream.
function column(data, name, box) {
  const { cx, w, u, floor } = box, blocks = data.blocks.filter((block) => block.column === name && !["tokens", "memory"].includes(block.kind));
  const open = data.open[name], count = data.layers[name].length, placed = [], arcs = [], gap = 6 * u;
  let y = floor, frame = null, branch = null;
  const put = (item, h, width = w, x = cx - width / 2) => { y -= h; placed.push({ ...item, x, y, w: width, h }); };
  const plates = (from, to) => { // layers that are not open: one plate each, or one for many
    const many = to - from + 1 > 3;
    for (const [a, b] of many ? [[from, to]] : Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => [from + n, from + n])) {
      const parameters = data.layers[name].slice(a - 1, b).reduce((sum, n) => sum + n, 0);
      y -= 4;
      put({ plate: { from: a, to: b, column: name, parameters, opens: to < open ? b : a, key: `${name} plate ${a}` } }, 15 * u, w + 48);
    }
  };
  const before = blocks.filter((block) => block.layer === null && ["embedding", "positions"].includes(block.kind));
  const inside = blocks.filter((block) => block.layer !== null), after = blocks.filter((block) => !before.includes(block) && block.layer === null);
  for (const block of before) {
    y -= block.kind === "positions" ? 8 : 12;
    if (block.kind !== "positions") put({ block }, 24 * u);
    else put({ block, plus: [cx, y - 9] }, 18, box.side, cx + 22);
  }
  y -= 6;
  plates(1, open - 1);
  y -= 7;
  const bottom = y;
  inside.forEach((block, n) => {
    const first = n === 0 || inside[n - 1].sublayer !== block.sublayer;
    if (first) { branch = y - 4; y -= 10; } else y -= gap;
    if (block.kind === "add") {
      put({ block, plus: [cx, y - 7] }, 14, 14);
      arcs.push({ from: branch, to: y + 7 });
    } else put({ block }, (block.kind === "norm" ? 18 : 28) * u);
  });
  y -= inside.length && inside[inside.length - 1].kind !== "add" ? 25 : 7; // room for the name of the layer
  frame = { x: cx - w / 2 - 24, y, w: w + 48, h: bottom - y, text: count > 1 ? `Layer ${open} of ${count}` : "The only layer" };
  plates(open + 1, count);
  for (const block of after) {
    y -= block === after[0] ? 11 : 9;
    put({ block }, (block.kind === "norm" ? 18 : 24) * u);
  }
  return { placed, arcs, frame, top: y, cx };
}

// Which pairs of the target fit into a width, around the step: first and last + 1.
function fitting(widths, step, width) {
  let from = step, to = step + 1, used = widths[step];
  for (;;) {
    const right = to < widths.length && used + widths[to] <= width && (to - step <= step - from || from === 0 || used + widths[from - 1] > width);
    if (right) used += widths[to++];
    else if (from > 0 && used + widths[from - 1] <= width) used += widths[--from];
    else return [from, to];
  }
}

// Tokens in rows of a width: [[label, x, row, width]], with a sign where more are left than `rows` can hold.
function wrapped(labels, width, rows) {
  const made = [];
  let x = 0, row = 0;
  for (const [n, label] of labels.entries()) {
    const w = cell(label), last = row === rows - 1, rest = `+${labels.length - n}`;
    if (x + w > width - (last && n < labels.length - 1 ? 34 : 0)) {
      if (last) { made.push([rest, x, row, 34]); return made; }
      x = 0;
      row++;
    }
    made.push([label, x, row, w]);
    x += w + 3;
  }
  return made;
}

function shares(data, y, width) { // how many parameters each kind of block has, as bars
  const g = drawing("g", { class: "shares", role: "img", "aria-label": `Parameters: ${data.shares.map(([name, , n]) => `${name} ${whole(n)}`).join(", ")}` });
  const most = Math.max(...data.shares.map(([, , n]) => n)), from = 128, room = width - from - 76;
  g.append(drawing("text", { x: 2, y, class: "title" }, `${whole(data.total)} parameters`));
  data.shares.forEach(([name, hue, n], i) => {
    const at = y + 20 + i * 17;
    g.append(drawing("text", { x: 2, y: at, class: "small" }, name));
    g.append(drawing("rect", { x: from, y: at - 9, width: Math.max(1, (n / most) * room), height: 10, fill: `var(--lab-${hue || "bar"})` }));
    g.append(drawing("text", { x: from + Math.max(1, (n / most) * room) + 6, y: at, class: "count" }, `${short(n)}, ${n < data.total / 200 ? "< 1" : ((100 * n) / data.total).toFixed(0)} %`));
  });
  return g;
}

// -- one block in words and numbers ---------------------------------------------------------------------------------

function blockPanel(it, data, open) {
  const title = element("h2"), hue = element("i", "hue"), where = it.layer ? `${it.column === "encoder" ? "Encoder" : "Decoder"}, layer ${it.layer}` : "";
  if (it.site) title.append(hue);
  title.append(it.name);
  if (where) title.append(element("small", "", where));
  const made = [title, element("p", "", it.sentence)];
  if (it.key === "target_tokens") made.push(pairs(data));
  if (it.kind !== "tokens" || it.column === "encoder") {
    const list = element("dl", "shapes");
    for (const shape of it.shapes) list.append(element("dt", "", shape[0]), element("dd", "mono", letters(shape)));
    made.push(element("h3", "", "Shapes on this sentence"), list);
  }
  if (it.path) {
    const count = element("h3", "", it.parameters === 1 ? "1 parameter" : `${whole(it.parameters)} parameters`);
    if (it.parameters) count.append(element("small", "", ` of ${whole(data.total)}`));
    made.push(count);
    if (it.shared) made.push(element("p", "", `Shares the table of the ${it.shared.toLowerCase()}: counted once, there.`));
    const list = element("dl", "terms");
    for (const [name, product, n] of it.terms) list.append(element("dt", "", name || it.name.split(" ").pop()), element("dd", "mono", product), element("dd", "", whole(n)));
    if (it.terms.length) made.push(list);
    else if (!it.shared) made.push(element("p", "", "Nothing in it is learned."));
  }
  const code = element("p", "code");
  code.append(element("b", "mono", it.code[0]), ` in ${it.code[1]}`);
  if (it.path) code.append(element("br"), "here: ", element("span", "mono", `model.${it.path}`.replace(/\.(\d+)/g, "[$1]")));
  made.push(element("h3", "", "In the code"), code);
  if (it.links.length) {
    const list = element("div", "links");
    for (const [to, text] of it.links) {
      const button = element("button", "link", text);
      button.type = "button";
      button.dataset.focus = `open ${to}`;
      button.onclick = () => open(to);
      list.append(button);
    }
    made.push(list);
  }
  return made;
}

function platePanel(it) {
  const one = it.from === it.to, title = element("h2", "", `${it.column === "encoder" ? "Encoder" : "Decoder"}, ${one ? `layer ${it.from}` : `layers ${it.from} to ${it.to}`}`);
  return [title, element("p", "", `${one ? "Built like the layer" : "Each is built like the layer"} that stands open, with weights of its own. Click to open ${one ? "it" : `layer ${it.opens}`}.`), element("h3", "", `${whole(it.parameters)} parameters`)];
}

function pairs(data) { // what the decoder reads and predicts at each step, one under the other
  const box = element("div", "pairs"), table = element("table"), head = element("tr");
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "What the decoder reads and predicts at each step");
  for (const name of ["t", "reads", "predicts"]) head.append(element("th", "", name));
  table.append(head);
  data.inputs.forEach((input, n) => {
    const row = element("tr", n === data.step ? "on" : "");
    row.append(element("td", "t", n + 1), element("td", "mono", input), element("td", "mono", data.outputs[n]));
    table.append(row);
  });
  box.append(table);
  requestAnimationFrame(() => { const row = box.querySelector(".on"); if (row) box.scrollTop = row.offsetTop - box.clientHeight / 2; });
  return box;
}
