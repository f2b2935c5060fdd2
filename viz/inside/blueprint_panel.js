// One block in words and numbers, and how many parameters each kind has. Nothing here makes markup from text: textContent only.

import { button, svgElement, element } from "../kit/mount.js";
import { letters, short, whole } from "./blueprint_parts.js";

export function shares(data, y, width) { // how many parameters each kind of block has, as bars
  const g = svgElement("g", { class: "shares", role: "img", "aria-label": `Parameters: ${data.shares.map(([name, , n]) => `${name} ${whole(n)}`).join(", ")}` });
  const most = Math.max(...data.shares.map(([, , n]) => n)), from = 128, room = width - from - 76;
  g.append(svgElement("text", { x: 2, y, class: "title" }, `${whole(data.total)} parameters`));
  data.shares.forEach(([name, hue, n], i) => {
    const at = y + 20 + i * 17;
    g.append(svgElement("text", { x: 2, y: at, class: "small" }, name));
    g.append(svgElement("rect", { x: from, y: at - 9, width: Math.max(1, (n / most) * room), height: 10, fill: `var(--lab-${hue || "bar"})` }));
    g.append(svgElement("text", { x: from + Math.max(1, (n / most) * room) + 6, y: at, class: "count" }, `${short(n)}, ${n < data.total / 200 ? "< 1" : ((100 * n) / data.total).toFixed(0)} %`));
  });
  return g;
}

// -- one block in words and numbers ---------------------------------------------------------------------------------

export function blockPanel(it, data, open) {
  const title = element("h2"), hue = element("i", "hue"), where = it.layer ? `${it.column === "encoder" ? "Encoder" : "Decoder"}, layer ${it.layer}` : "";
  if (it.site) title.append(hue);
  title.append(it.name);
  if (where) title.append(element("small", "", where));
  const made = [title, element("p", "", it.sentence)];
  if (data.large) return [...made, ...inFew(it, data)];
  if (it.key === "target_tokens") made.push(pairs(data));
  if (it.kind !== "tokens" || it.column === "encoder") {
    const list = element("dl", "shapes");
    for (const shape of it.shapes) list.append(element("dt", "", shape[0]), element("dd", "mono", letters(shape)));
    made.push(element("h3", "", "Shapes on this text"), list);
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
      const link = button("link", text, () => open(to));
      link.dataset.focus = `open ${to}`;
      list.append(link);
    }
    made.push(list);
  }
  return made;
}

function inFew(it, data) { // in a lecture: how many numbers go in and out, and how many are learned
  const list = element("dl", "shapes"), made = [list];
  for (const shape of it.shapes) list.append(element("dt", "", shape[0]), element("dd", "mono", `[${shape[2]}]`));
  if (!it.path) return made;
  made.push(element("h3", "", it.parameters === 1 ? "1 parameter" : `${whole(it.parameters)} parameters`));
  if (it.parameters) made.push(element("p", "", `of ${whole(data.total)}`));
  if (it.shared) made.push(element("p", "", `Shares the table of the ${it.shared.toLowerCase()}.`));
  return made;
}

export function platePanel(it) {
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
