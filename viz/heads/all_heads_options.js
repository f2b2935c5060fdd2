// The line above the thumbnails: the answer of the page, the search for a head, and a menu of what is rarely used. Nothing here makes
// markup from text: textContent only.

import { attachMenu, reopenMenu } from "../kit/menu.js";
import { button, element } from "../kit/mount.js";
import { excludeFromPicture } from "../kit/pen.js";
import { foundLine, searchLine } from "./all_heads_find.js";

const OPTIONS = "Options: order, measure, means", FILE_OPTIONS = "Options: means, colours";
const COMBINED = { mean: "Mean", max: "Max" }; // of several heads
const OPTIONS_WIDTH = 620; // px of the menu

// `set` changes a field of the view, `choose` a head, `combine` how several heads have one map; `open` shows the map of a result. The other functions are those of `searchLine`.
export function optionBar(data, { state, set, combine, open, pick, forget, show, offline }) {
  const bar = excludeFromPicture(element("section", "head-bar")), answer = element("p", "answer", data.answer.text), { find } = data;
  answer.title = data.answer.note;
  answer.setAttribute("role", "status");
  if (find) answer.replaceChildren(...foundLine(data, open, forget, show));
  bar.append(answer);
  if (!offline) bar.append(searchLine(data, state, pick));
  const menu = element("div", "options"), opener = button("opener", offline ? FILE_OPTIONS : OPTIONS);
  opener.dataset.focus = "options";
  attachMenu(opener, menu, opener.textContent, { width: OPTIONS_WIDTH, first: "button, select, input" });
  menu.addEventListener("toggle", ({ newState }) => { state.isMenuOpen = newState === "open"; });
  menu.append(...(offline ? [...means(), colours()] : [orders(), ...(Object.keys(data.chosen.readings).length > 1 ? [measures()] : []), ...(data.chosen.hasMeans === false ? [] : means()), colours(), lines()]));
  bar.append(opener, menu);
  if (state.isMenuOpen) requestAnimationFrame(() => { if (menu.isConnected) reopenMenu(menu); });
  return bar;

  function orders() {
    const list = element("select");
    list.dataset.focus = "order";
    list.setAttribute("aria-label", "Order by");
    for (const [name, label] of data.orderings) {
      const option = element("option", "", label);
      Object.assign(option, { value: name, selected: name === data.order });
      list.append(option);
    }
    list.onchange = () => set("order", list.value);
    return group("Order by", list);
  }

  function group(name, ...nodes) {
    const box = element("div", "option"), own = element("div", "controls");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", name);
    own.append(...nodes);
    box.append(element("b", "", name), own);
    return box;
  }

  function press(focus, text, isOn, act) {
    const node = button(isOn ? "way on" : "way", text, act);
    node.dataset.focus = focus;
    node.setAttribute("aria-pressed", isOn);
    return node;
  }

  function measures() {
    const names = Object.keys(data.chosen.readings);
    return group("Measure", ...names.map((name) => press(`measure ${name}`, name[0].toUpperCase() + name.slice(1), name === data.chosen.measure, () => set("measure", name))));
  }

  function means() {
    const { layer, head, measure, combine: own } = data.chosen, nodes = [], isRollout = measure === "rollout";
    if (head !== null) state.lastHead = head;
    const lastHead = state.lastHead ?? 1;
    const add = (name, over, of, isOn, fields, otherwise) => { // a button of one way to merge maps; pressed again, it shows a head
      const isPressed = isOn && own === name;
      const node = press(`${name} ${over}`, `${isRollout ? "Rollout" : COMBINED[name]} over ${over}`, isPressed, () => combine(isPressed ? { average: "none", ...otherwise, combine: "mean" } : { ...fields, combine: name }));
      node.title = isRollout ? "Through all layers, heads by their mean. Cross-attention: the mean of its layers." : `${name === "max" ? "The largest value of each cell" : "The mean of each cell"} over ${of}.`;
      nodes.push(node);
    };
    for (const name of isRollout ? ["mean"] : Object.keys(COMBINED)) {
      if (!isRollout) {
        add(name, "heads", "all heads of this layer", layer !== null && head === null, { average: "none", head: null }, { head: lastHead });
        add(name, "layers", `head ${lastHead} of every layer`, layer === null && head !== null, { average: "head", head: lastHead }, { head: lastHead });
      }
      add(name, "both", "all heads of all layers", layer === null && head === null, { average: "layers" }, {});
    }
    const all = press("together", "All three at once", Boolean(data.together), () => set("together", !data.together));
    return [group("Combine", ...nodes), ...(data.grids.length > 1 ? [group("Show", all)] : [])];
  }

  function toggle(field, text, isOn) {
    const line = element("label", ""), input = element("input");
    Object.assign(input, { type: "checkbox", checked: isOn });
    input.setAttribute("role", "switch");
    input.dataset.focus = field;
    input.onchange = () => set(field, input.checked);
    line.append(input, text);
    return line;
  }

  function colours() { return group("Colours", toggle("by_row", "Up to each row’s maximum, not to 1", data.chosen.byRow)); }

  function lines() {
    const line = element("label", ""), range = element("input");
    Object.assign(range, { type: "range", min: 50, max: 100, step: 5, value: data.chosen.mass });
    range.dataset.focus = "mass";
    range.setAttribute("aria-label", "Share of each row's weight that is drawn, per cent");
    range.onchange = () => set("mass", Number(range.value));
    line.append("Heaviest", range, element("span", "", `${data.chosen.mass}%`));
    return group("Lines", line, toggle("hide", data.hideLabel, data.chosen.hide), toggle("merge", "Merge pieces into words", data.chosen.merge));
  }
}
