// Decides if a document can show a view by remote control.

// Link parameters without effect on a document.
export const UNSEEN = ["lecture", "large", "talk", "stop", "room", "lesson", "guess"];

const alike = (one, other, names) => names.every((name) => one[name] === other[name]);

// Parameters without defaults and nulls.
const plain = (query, defaults) => Object.fromEntries(Object.entries(query).filter(([name, text]) => text !== null && text !== defaults[name]));

// The fields of a document (made for the query `made`) for a wanted query; null if another document is needed. `view` is the
// document's content.
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

// A value from the text of a link, whole numbers up to `most`; null for an invalid text.
function value(text, { default: otherwise, values }, most) {
  if (text === undefined) return otherwise;
  if (Object.keys(values).length) return values[text] ?? null;
  return /^[1-9]\d{0,3}$/.test(text) ? Math.min(Number(text), most) : null;
}
