// Draws groups of buttons and choices. A press reports the id of a button. All text is set as textContent.

import { attachMenu, reopenMenu } from "./menu.js";
import { button, element, focusOf, mountComponent, refocus, term, unmountComponent } from "./mount.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const { root, state } = mountComponent({ data, parentElement }, ".groups"), focused = focusOf(parentElement), lines = [];
  for (const [n, group] of data.groups.entries()) {
    if (!n || !group.follows) lines.push(element("div", "line"));
    lines.at(-1).append(groupNode(group));
  }
  root.replaceChildren(...lines);
  const opened = root.querySelector(`.options > .items[aria-label="${CSS.escape(state.open ?? "")}"]`);
  if (opened) reopenMenu(opened);
  refocus(root, focused);
  return () => unmountComponent(root);

  function groupNode(group) {
    const node = element(group.style === "list" ? "label" : "div", `group ${group.style}`);
    if (/^(menu|options)$/.test(group.style)) return menuNode(group, node);
    if (!group.hidden) node.append(data.terms[group.label] ? term(data.terms, group.label) : element("b", "", group.label));
    if (group.note) node.append(element("span", "note", group.note));
    if (group.style === "list") return listNode(group, node);
    const row = element("div", "buttons");
    const isStatus = /^(answer|verdict)$/.test(group.style);
    node.setAttribute("role", isStatus ? "status" : "group");
    if (!isStatus) node.setAttribute("aria-label", group.label);
    row.append(...group.buttons.map((each) => buttonNode(group, each)));
    if (group.buttons.length) node.append(row);
    return node;
  }

  function buttonNode({ style }, [id, text, title, isOn, isDisabled]) {
    const node = button(isOn ? "on" : "", text, () => setTriggerValue("press", id));
    if (title && style !== "menu") node.title = title;
    if (style === "choice" || isOn) node.setAttribute("aria-pressed", String(isOn));
    node.disabled = isDisabled;
    node.dataset.focus = id;
    return node;
  }

  function menuNode(group, node) {
    const opener = button("", group.label), menu = element("div", "items");
    for (const each of group.buttons) {
      menu.append(buttonNode(group, each));
      if (each[2]) menu.append(element("p", "note", each[2]));
    }
    menu.append(...group.groups.map(groupNode));
    attachMenu(opener, menu, group.label, { first: "button, select" });
    const toggled = menu.ontoggle;
    menu.ontoggle = (event) => {
      state.open = event.newState === "open" ? group.label : null; // options stay open after a press, which draws them anew
      toggled(event);
    };
    menu.onclick = ({ target }) => { if (group.style === "menu" && target.matches("button")) menu.hidePopover(); };
    opener.dataset.focus = group.label;
    node.append(opener, menu);
    return node;
  }

  function listNode({ label, buttons }, node) {
    const list = element("select");
    list.setAttribute("aria-label", label);
    list.dataset.focus = label;
    for (const [id, text, , isOn] of buttons) {
      const option = element("option", "", text);
      Object.assign(option, { value: id, selected: isOn });
      list.append(option);
    }
    list.onchange = () => setTriggerValue("press", list.value);
    node.append(list);
    return node;
  }
}
