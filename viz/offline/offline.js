// Script of an HTML file without a server: mounts the lab's components with stored data, and switches between precomputed
// views. Texts go through textContent only.

import { button, element } from "../kit/mount.js";
import { rowsOf } from "../kit/packed.js";
import { inflated, isTooOld, numbersOf, onTheme, packedNumbers, rootOf } from "./file_parts.js";
import { remoteControl } from "./remote_control.js";

// Returns a function that replaces references by texts and numbers.
function restoring({ texts, counts }, planes) {
  const starts = [0];
  for (const count of counts) starts.push(starts.at(-1) + count);
  const planeOf = (n) => numbersOf(planes, starts[n], counts[n]);
  const read = { texts: (n) => texts[n], numbers: (n) => packedNumbers(planeOf(n)), rows: (n, columns) => rowsOf(planeOf(n), [counts[n] / columns, columns]) };
  return function restored(value) {
    if (Array.isArray(value)) return typeof value[0] === "number" ? value : value.map(restored);
    if (value === null || typeof value !== "object") return value;
    if (value.$) { const [kind, ...where] = value.$; return read[kind](...where); }
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, restored(each)]));
  };
}

// A copy of a value with another value at a path; the value itself if the path does not exist. Other parts are shared.
function set(value, [key, ...rest], other) {
  if (value === null || typeof value !== "object" || !(key in value)) return value;
  const copy = Array.isArray(value) ? [...value] : { ...value };
  copy[key] = rest.length ? set(copy[key], rest, other) : other;
  return copy;
}

export async function start(components) {
  const leader = remoteControl(); // listens from the start
  if (isTooOld()) return;
  const view = JSON.parse(new TextDecoder().decode(await inflated("view"))), restored = restoring(view, await inflated("numbers"));
  const chosen = { ...view.state }, roots = {}, picks = [];
  let mode = "light", last = { key: "" };

  const keyOf = (fields) => JSON.stringify(fields.map((field) => chosen[field]));

  function data() { // data of all parts for the chosen fields and theme
    const key = JSON.stringify([mode, ...view.choices.map(({ fields }) => keyOf(fields))]);
    if (key === last.key) return last.all;
    let all = view.parts;
    const apply = (patch) => { for (const [path, value] of patch) all = set(all, path, value); };
    for (const { fields, options, patches } of view.choices) apply(patches[options[keyOf(fields)][0]]);
    if (mode === "dark") apply(view.dark);
    last = { key, all };
    return all;
  }

  const takes = (part, field) => field in view.led && typeof part[field] === typeof chosen[field]; // another type is another thing
  const moved = (part) => Object.fromEntries(Object.keys(chosen).filter((field) => takes(part, field) && chosen[field] !== view.state[field]).map((field) => [field, chosen[field]]));

  function draw(fields = null) { // all parts, or those with one of the fields
    document.documentElement.dataset.theme = mode;
    document.documentElement.classList.toggle("guessing", leader.on && Boolean(chosen.guess));
    const all = data(), style = view.styles[mode];
    for (const name in all) {
      if (fields && !fields.some((field) => takes(all[name], field))) continue;
      const componentData = { ...restored(all[name]), ...moved(all[name]), style, component: name };
      components[view.components[name]]({ data: componentData, parentElement: roots[name], setStateValue: applyEvent, setTriggerValue: applyEvent, offline: true });
    }
    for (const paint of picks) paint();
    address();
  }

  function applyEvent(event, value) { // fields that the file can change or puts into the link
    const fields = value !== null && typeof value === "object" ? value : { [event]: value };
    if (!Object.keys(fields).every((field) => field in chosen)) return;
    const before = { ...chosen };
    Object.assign(chosen, view.also[event], fields);
    if (!view.choices.every(({ fields: own, options }) => keyOf(own) in options)) { Object.assign(chosen, before); return; }
    redraw(before);
    if (Object.keys(chosen).some((field) => chosen[field] !== before[field])) leader.reportChange();
  }

  function redraw(before) { // redraws after a change; a part that made the change itself is skipped, unless controlled
    const changed = Object.keys(chosen).filter((field) => chosen[field] !== before[field]);
    if (view.choices.some(({ fields: own }) => own.some((field) => changed.includes(field)))) draw();
    else if (leader.on && changed.length) draw(changed);
    else address();
  }

  function take(fields) { // a change by remote control
    const before = { ...chosen };
    Object.assign(chosen, fields);
    redraw(before);
  }

  function address() { // the link of the view for a lab
    const params = { ...view.link };
    for (const { fields, options } of view.choices) for (const [name, text] of Object.entries(options[keyOf(fields)][1])) { if (text === null) delete params[name]; else params[name] = text; }
    for (const [field, name] of Object.entries(view.plain)) if (chosen[field] !== view.state[field]) params[name] = String(chosen[field]);
    const query = new URLSearchParams(params).toString();
    document.getElementById("link").textContent = view.page + (query && `?${query}`);
  }

  function pickList({ field, label, options }) {
    const row = element("label", "pick", label), list = element("select");
    options.forEach(([, text], n) => { const option = element("option", "", text); option.value = n; list.append(option); });
    list.onchange = () => applyEvent(field, options[list.value][0]);
    picks.push(() => { list.value = options.findIndex(([value]) => value === chosen[field]); });
    row.append(list);
    return row;
  }

  function pickRow({ field, label, options }) {
    const row = element("div", "pick"), group = element("div", "options");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", label);
    const nodes = options.map(([value, text]) => { const node = button("", text, () => applyEvent(field, value)); group.append(node); return [node, value]; });
    picks.push(() => { for (const [node, value] of nodes) node.setAttribute("aria-pressed", String(value === chosen[field])); });
    row.append(element("span", "", label), group);
    return row;
  }

  for (const [name, component] of Object.entries(view.components)) {
    const { box, root } = rootOf(name, component);
    roots[name] = root;
    const above = view.picks.filter((pick) => pick.above === name);
    if (above.length) { const bar = element("div", "picks"); bar.append(...above.map((pick) => (pick.listed ? pickList : pickRow)(pick))); box.before(bar); }
  }
  onTheme((to) => { mode = to; draw(); });
  document.documentElement.dataset.drawn = "";
  leader.begin({ view, chosen, take });
}
