// What of a view that is led can be shown in a document that is there already.

// Parameters of a link that change nothing of what such a document draws.
export const UNSEEN = ["lecture", "large", "talk", "stop", "room", "lesson", "guess"];

const alike = (one, other, names) => names.every((name) => one[name] === other[name]);

// Parameters without those that say what holds without them, or nothing.
const plain = (query, defaults) => Object.fromEntries(Object.entries(query).filter(([name, text]) => text !== null && text !== defaults[name]));

// The fields of a document by what a query asks for, where it was made for the query `made`; null where another one is
// needed. `view` is what the document holds.
export function asked(wanted, made, view) {
  const query = plain(wanted, view.defaults), base = plain(made, view.defaults);
  const led = Object.values(view.led).map(({ parameter }) => parameter);
  const held = view.choices.map(({ options }) => Object.keys(Object.values(options)[0][1]));
  const own = new Set([...UNSEEN, ...led, ...held.flat()]);
  const others = Object.keys({ ...query, ...base }).filter((name) => !own.has(name));
  if (!alike(query, base, others)) return null;
  const found = {};
  for (const [field, of] of Object.entries(view.led)) {
    found[field] = value(query[of.parameter], of, field === "step" ? view.steps : Infinity);
    if (found[field] === null) return null;
  }
  for (const [n, { fields, options }] of view.choices.entries()) {
    const own = held[n], unchanged = alike(query, base, own);
    const key = Object.keys(options).find((each) => alike(query, plain(options[each][1], view.defaults), own));
    if (key === undefined && !unchanged) return null;
    const values = key === undefined ? fields.map((field) => view.state[field]) : JSON.parse(key);
    fields.forEach((field, at) => { found[field] = values[at]; });
  }
  return found;
}

// A value by what a link says of it, whole numbers up to `most`; null for none that it may have.
function value(text, { default: otherwise, values }, most) {
  if (text === undefined) return otherwise;
  if (Object.keys(values).length) return values[text] ?? null;
  return /^[1-9]\d{0,3}$/.test(text) ? Math.min(Number(text), most) : null;
}
