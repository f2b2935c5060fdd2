// Decides if a document can show a view by remote control.

// Link parameters without effect on a document.
export const UNSEEN = ["lecture", "large", "talk", "stop", "room", "assignment", "task", "author", "lesson", "guess"];

const areEqual = (one, other, names) => names.every((name) => one[name] === other[name]);

// Parameters without defaults and nulls.
const plain = (query, defaults) => Object.fromEntries(Object.entries(query).filter(([name, text]) => text !== null && text !== defaults[name]));

// The fields of a document (made for the query `original`) for a requested query; null if another document is needed. `view` is the
// document's content.
export function remoteFields(requested, original, view) {
  const query = plain(requested, view.defaults), base = plain(original, view.defaults);
  const remote = Object.values(view.led).map(({ parameter }) => parameter);
  const parameters = view.choices.map(({ options }) => Object.keys(Object.values(options)[0][1]));
  const own = new Set([...UNSEEN, ...remote, ...parameters.flat()]);
  const others = Object.keys({ ...query, ...base }).filter((name) => !own.has(name));
  if (!areEqual(query, base, others)) return null;
  const result = {};
  for (const [field, of] of Object.entries(view.led)) {
    result[field] = value(query[of.parameter], of, field === "step" ? view.steps : Infinity);
    if (result[field] === null) return null;
  }
  for (const [n, { fields, options }] of view.choices.entries()) {
    const own = parameters[n], unchanged = areEqual(query, base, own);
    const key = Object.keys(options).find((each) => areEqual(query, plain(options[each][1], view.defaults), own));
    if (key === undefined && !unchanged) return null;
    const values = key === undefined ? fields.map((field) => view.state[field]) : JSON.parse(key);
    fields.forEach((field, index) => { result[field] = values[index]; });
  }
  return result;
}

// A value from the text of a link, whole numbers up to `max`; null for an invalid text.
function value(text, { default: fallback, values }, max) {
  if (text === undefined) return fallback;
  if (Object.keys(values).length) return values[text] ?? null;
  return /^[1-9]\d{0,3}$/.test(text) ? Math.min(Number(text), max) : null;
}
