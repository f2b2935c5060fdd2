// Which cell of one map stands for which of the other. Nothing here touches the page.

// The cell [row, column] of map `to` that is the partner of a cell of map `from`; -1 for what has none. The difference, map 2,
// stands on the axes of the first.
export function partnerCell(maps, from, to, [i, j]) {
  const base = (n) => (n === 2 ? 0 : n);
  if (base(from) === base(to)) return [i, j];
  const { rows, columns } = maps[base(from)];
  return [rows[i], columns[j]];
}

// Returns the lines of the card of a cell of map `from`: its tokens, and its weight in both maps, or the token without a partner. `nth`
// names a token by its position.
export function cellLines(maps, names, from, cell, nth) {
  const base = from === 2 ? 0 : from, here = maps[base], there = maps[1 - base], [i, j] = cell;
  const title = `${nth(here.queries, i)} on ${nth(here.keys, j)}`, own = `${weight(here, cell)} in “${names[base]}”`, other = partnerCell(maps, base, 1 - base, cell);
  if (other.includes(-1)) return [title, own, `“${other[0] < 0 ? nth(here.queries, i) : nth(here.keys, j)}” has no partner in “${names[1 - base]}”`];
  const tokens = `${nth(there.queries, other[0])} on ${nth(there.keys, other[1])}`;
  return [title, own, `${weight(there, other)} in “${names[1 - base]}”${tokens === title ? "" : ` (${tokens})`}`];
}

const weight = (map, [i, j]) => (map.allowed[i][j] ? map.values[i][j].toFixed(4) : "masked");

// The row of each of both maps that belongs to a step (from 1), or -1.
export function stepRows(maps, step) {
  const row = step <= maps[0].queries.length ? step - 1 : -1;
  return [row, row < 0 ? -1 : maps[0].rows[row]];
}

// Columns of tokens, each alone, but for those without a partner that stand between the same two: these stand together.
export function gathered(tokens) {
  const groups = [], alone = ({ chips }) => chips.includes(null);
  for (const each of tokens) {
    if (groups.length && alone(each) && alone(groups.at(-1)[0])) groups.at(-1).push(each);
    else groups.push([each]);
  }
  return groups;
}

// The tokens of a group as columns of two: those of the one side beside those of the other, as they come, for these have no
// partners.
export function abreast(group) {
  if (group.length === 1) return [group[0].chips];
  const [one, other] = [0, 1].map((side) => group.map(({ chips }) => chips[side]).filter(Boolean));
  return Array.from({ length: Math.max(one.length, other.length) }, (_, n) => [one[n] ?? null, other[n] ?? null]);
}
