// Reads patterns, such as attention weights, from the payloads that patterns.py builds. docs/patterns.md documents the fields.

import { floats } from "./packed.js";

export const LEVELS = 255; // the level of weight 1

// Returns a pattern with `values` and `allowed` as arrays of T rows with S numbers each, and `most`: null for weights from 0 to 1, else
// the limit of a scale that is symmetric about 0. Throws an Error with one sentence that names the wrong field.
export function readPattern(payload) {
  const name = payload.title ? `Pattern “${payload.title}”` : "Pattern", fail = (text) => { throw new Error(`${name}: ${text}.`); };
  const { queries, keys, shape, most = null } = payload;
  for (const [field, labels] of Object.entries({ queries, keys })) if (!Array.isArray(labels)) fail(`the field "${field}" is missing, expected a list of labels`);
  if (!Array.isArray(shape) || shape.length !== 2) fail(`the field "shape" is ${JSON.stringify(shape)}, expected [T, S]`);
  const [rows, columns] = shape, cells = rows * columns;
  if (queries.length !== rows) fail(`the field "queries" has ${queries.length} labels, expected ${rows} for shape [${shape}]`);
  if (keys.length !== columns) fail(`the field "keys" has ${keys.length} labels, expected ${columns} for shape [${shape}]`);
  if (most !== null && !(most > 0)) fail(`the field "most" is ${most}, expected null or a number above 0`);
  const hasValues = typeof payload.values === "string";
  if (!hasValues && typeof payload.levels !== "string") fail('the field "values" is missing, expected float32 numbers in base64, or "levels"');
  const values = hasValues ? floats(payload.values) : Float32Array.from(bytesOf(payload.levels), (level) => level / LEVELS);
  if (values.length !== cells) fail(`the field "${hasValues ? "values" : "levels"}" has ${values.length} numbers, expected ${cells} for shape [${shape}]`);
  const allowed = payload.allowed == null ? new Uint8Array(cells).fill(1) : maskOf(payload.allowed);
  if (allowed.length !== cells) fail(`the field "allowed" has ${allowed.length} digits, expected ${cells} for shape [${shape}]`);
  if (payload.candidates && payload.candidates.length !== rows) fail(`the field "candidates" has ${payload.candidates.length} rows, expected ${rows}`);
  const former = payload.former == null ? null : maskOf(payload.former);
  if (former && former.length !== cells) fail(`the field "former" has ${former.length} digits, expected ${cells} for shape [${shape}]`);
  const rowsOf = (flat) => Array.from({ length: rows }, (_, i) => flat.subarray(i * columns, (i + 1) * columns));
  return { ...payload, most, values: rowsOf(values), allowed: rowsOf(allowed), former: former && rowsOf(former) };
}

export const bytesOf = (text) => Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
const maskOf = (digits) => Uint8Array.from(digits, Number);

// Returns the row and column of the largest allowed value, of one row or of all rows.
export function largestCell({ values, allowed }, row = -1) {
  let best = [Math.max(0, row), 0], largest = -Infinity;
  values.forEach((each, i) => { if (row < 0 || i === row) each.forEach((value, j) => { if (allowed[i][j] && value > largest) { largest = value; best = [i, j]; } }); });
  return best;
}

// Returns the border between allowed and masked cells as lines [x0, y0, x1, y1] in units of a cell.
export function maskBorder(allowed) {
  const rows = allowed.length, columns = allowed[0]?.length ?? 0, isAllowed = (i, j) => Boolean(allowed[i]?.[j]), lines = [];
  const collect = (count, length, differs, line) => {
    for (let n = 0; n <= count; n++) for (let from = 0; from < length; from++) {
      if (!differs(n, from)) continue;
      let to = from + 1;
      while (to < length && differs(n, to)) to++;
      lines.push(line(n, from, to));
      from = to;
    }
  };
  collect(rows, columns, (i, j) => isAllowed(i, j) !== isAllowed(i - 1, j), (i, from, to) => [from, i, to, i]);
  collect(columns, rows, (j, i) => isAllowed(i, j) !== isAllowed(i, j - 1), (j, from, to) => [j, from, j, to]);
  return lines;
}
