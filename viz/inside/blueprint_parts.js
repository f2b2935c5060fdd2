// Where everything of the picture stands: numbers alone, from the bottom up. The y axis points down, as on the screen.

const CHAR = 6.6; // px of one sign in the tokens' font
export const whole = (n) => n.toLocaleString("en-US");
export const short = (n) => (n >= 1e6 ? `${(n / 1e6).toFixed(2)} M` : n >= 1e4 ? `${Math.round(n / 1000)} k` : n ? whole(n) : "");
export const letters = (shape) => `[${shape[1]}] = [${shape[2]}]`;
export const cell = (label) => Math.max(20, Math.min(label.length, 14) * CHAR + 7);

// In a lecture: how wide the picture and its blocks are, where its columns stand, and how high all is: closer, in larger type.
export const LARGE = { W: 624, w: 204, left: 128, right: 432 };
const ROOMY = { embedding: 24, small: 18, block: 28, plate: 15, before: 12, sublayer: 10, gap: 6, after: 9, name: 25 };
const CLOSE = { embedding: 20, small: 18, block: 21, plate: 18, before: 6, sublayer: 6, gap: 3, after: 6, name: 22 };

// One column's blocks and plates from the bottom up: [{ block | plate, x, y, w, h }], arcs round the sub-layers, the stream.
export function column(data, name, box) {
  const { cx, w, u, floor } = box, size = box.large ? CLOSE : ROOMY, blocks = data.blocks.filter((block) => block.column === name && !["tokens", "memory"].includes(block.kind));
  const open = data.open[name], count = data.layers[name].length, placed = [], arcs = [], gap = size.gap * u;
  let y = floor, frame = null, branch = null;
  const put = (item, h, width = w, x = cx - width / 2) => { y -= h; placed.push({ ...item, x, y, w: width, h }); };
  const plates = (from, to) => { // layers that are not open: one plate each, or one for many
    const many = to - from + 1 > (box.large ? 1 : 3);
    for (const [a, b] of many ? [[from, to]] : Array.from({ length: Math.max(0, to - from + 1) }, (_, n) => [from + n, from + n])) {
      const parameters = data.layers[name].slice(a - 1, b).reduce((sum, n) => sum + n, 0);
      y -= 4;
      put({ plate: { from: a, to: b, column: name, parameters, opens: to < open ? b : a, key: `${name} plate ${a}` } }, size.plate * u, w + 48);
    }
  };
  const before = blocks.filter((block) => block.layer === null && (["embedding", "segments", "positions"].includes(block.kind) || block.key.endsWith("_embedding.norm")));
  const inside = blocks.filter((block) => block.layer !== null), after = blocks.filter((block) => !before.includes(block) && block.layer === null);
  for (const block of before) {
    y -= block.kind === "positions" ? (2 * size.before) / 3 : size.before;
    if (block.kind !== "positions") put({ block }, (block.kind === "norm" ? size.small : size.embedding) * u);
    else put({ block, plus: [cx, y - 9] }, 18, box.side, cx + 22);
  }
  y -= 6;
  plates(1, open - 1);
  y -= 7;
  const bottom = y;
  inside.forEach((block, n) => {
    const first = n === 0 || inside[n - 1].sublayer !== block.sublayer;
    if (first) { branch = y - size.sublayer + 6; y -= size.sublayer; } else y -= gap;
    if (block.kind === "add") {
      put({ block, plus: [cx, y - 7] }, 14, 14);
      arcs.push({ from: branch, to: y + 7 });
    } else put({ block }, (block.kind === "norm" ? size.small : size.block) * u);
  });
  y -= inside.length && inside[inside.length - 1].kind !== "add" ? size.name : 7; // room for the name of the layer
  frame = { x: cx - w / 2 - 24, y, w: w + 48, h: bottom - y, text: count > 1 ? `Layer ${open} of ${count}` : "The only layer" };
  plates(open + 1, count);
  for (const block of after) {
    y -= block === after[0] ? size.after + 2 : size.after;
    put({ block }, (block.kind === "norm" ? size.small : size.embedding) * u);
  }
  return { placed, arcs, frame, top: y, cx };
}

// Which pairs of the target fit into a width, around the step: first and last + 1.
export function fitting(widths, step, width) {
  let from = step, to = step + 1, used = widths[step];
  for (;;) {
    const right = to < widths.length && used + widths[to] <= width && (to - step <= step - from || from === 0 || used + widths[from - 1] > width);
    if (right) used += widths[to++];
    else if (from > 0 && used + widths[from - 1] <= width) used += widths[--from];
    else return [from, to];
  }
}

// Tokens in rows of a width: [[label, x, row, width]], with a sign where more are left than `rows` can hold.
export function wrapped(labels, width, rows) {
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
