// The view of the page, and its address: the parameters of a link of the lab, so that both open each other's links.
// Steps, layers and heads count from 1 in an address, layers and heads from 0 in a view.

export const FIRST = { text: "", step: null, layer: 2, head: 1, map: "cross", edits: [], decode: "greedy", prefix: [], path: [], rows: "steps", show: "attention", rival: null, lesson: null, assignment: "", exercise: 0 };
const SHOWS = ["attention", "decoding", "route", "lessons"];
const SWITCHES = { causal: "causal-off", padmask: "padding-off" };
const MAX_TEXT = 1500; // characters of an address

const number = (low, high) => (text) => (/^\d{1,6}$/.test(text) && Number(text) >= low && Number(text) <= high ? Number(text) : undefined);
const oneOf = (...names) => (text) => (names.includes(text) ? text : undefined);
const ids = (text) => (/^\d{1,6}(-\d{1,6}){0,127}$/.test(text) ? text.split("-").map(Number) : undefined);

/** Returns readers of the parameters for a model of so many layers, heads and tokens: each gives fields, or undefined. */
function readers({ layers, heads, size, kinds, rows, lessons, maxLink }) {
  const field = (name, read) => (text) => { const value = read(text); return value === undefined ? undefined : { [name]: value }; };
  const known = (text) => { const found = ids(text); return found?.every((id) => id < size) ? found : undefined; };
  return {
    text: (text) => ({ text }),
    step: field("step", number(1, 128)),
    layer: field("layer", (text) => { const value = number(1, layers)(text); return value && value - 1; }),
    head: field("head", (text) => { const value = text === "mean" ? null : number(1, heads)(text); return value && value - 1; }),
    map: field("map", oneOf(...kinds)),
    edits: field("edits", (text) => text.split("~").filter(Boolean)),
    decode: field("decode", oneOf("greedy", "beam")),
    branch: field("prefix", known),
    path: field("path", known),
    rows: field("rows", oneOf(...rows)),
    show: field("show", oneOf(...SHOWS)),
    rival: field("rival", number(0, size - 1)),
    lesson: field("lesson", oneOf(...lessons)),
    assignment: (text) => (text.length <= maxLink ? { assignment: text } : undefined),
    task: field("exercise", number(0, 99)),
    learn: () => ({}), // the part Homework of the lab
  };
}

/** Returns { view, faults } of an address; `site` has the sizes, and `parameters`, the names that the lab knows. */
export function readAddress(query, site) {
  const view = { ...FIRST, ...site.start };
  const faults = [];
  const lacking = [];
  const known = readers(site);
  for (const [name, text] of new URLSearchParams(query)) {
    if (SWITCHES[name] && text === "off") view.edits = [...view.edits, SWITCHES[name]];
    else if (known[name]) {
      const read = known[name](text);
      if (!read) faults.push(`The link's ${name} “${text.slice(0, 40)}” does not exist here; the default is shown.`);
      else Object.assign(view, name === "edits" ? { edits: [...view.edits, ...read.edits] } : read);
    } else if (site.parameters.includes(name)) lacking.push(name);
  }
  if (lacking.length) faults.push(`The link also sets ${lacking.join(", ")}, which needs the lab itself (“Open in a lab” below keeps it).`);
  return { view, faults, kept: lacking.map((name) => [name, new URLSearchParams(query).get(name)]) };
}

/** Returns the parameters of a view as a query, without defaults. */
export function writeAddress(view, site, kept = []) {
  const usual = { ...FIRST, ...site.start };
  const params = new URLSearchParams();
  const set = (name, value, text) => { if (String(value) !== String(usual[name] ?? "")) params.set(name === "prefix" ? "branch" : name, text ?? value); };
  if (view.text.length <= MAX_TEXT) set("text", view.text);
  if (view.step !== null) set("step", view.step);
  set("layer", view.layer, view.layer + 1);
  set("head", view.head ?? "", view.head === null ? "mean" : view.head + 1);
  for (const name of ["map", "decode", "rows", "show"]) set(name, view[name]);
  if (view.edits.length) params.set("edits", view.edits.join("~"));
  for (const name of ["prefix", "path"]) if (view[name].length) set(name, view[name].join("-"));
  for (const name of ["rival", "lesson"]) if (view[name] !== null) set(name, view[name]);
  if (view.assignment) params.set("assignment", view.assignment);
  if (view.exercise) params.set("task", view.exercise);
  for (const [name, text] of kept) params.set(name, text);
  return params.toString();
}
