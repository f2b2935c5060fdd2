// Where the nodes of a tree stand: numbers alone.

// The nodes of each step, the likelier first; each node's row; how many steps there are, and the most nodes of one.
export function layout(nodes) {
  const rows = [], place = [];
  nodes.forEach((node, n) => { (rows[node.s] ||= []).push(n); });
  rows.forEach((column) => column.sort((a, b) => nodes[b].sc - nodes[a].sc).forEach((n, row) => { place[n] = row; }));
  return { rows, place, steps: rows.length - 1, most: Math.max(...rows.filter(Boolean).map((column) => column.length)) };
}

export function ancestors(nodes, n) {
  const found = [];
  for (let at = n; at !== null; at = nodes[at].p) found.push(at);
  return found;
}

// The node to which a key leads from another; none at the edge.
export function beside(key, n, nodes, rows, place) {
  const node = nodes[n], column = rows[node.s], children = nodes.map((child, m) => (child.p === n ? m : -1)).filter((m) => m >= 0);
  return {
    ArrowLeft: node.p, ArrowRight: children.sort((a, b) => place[a] - place[b])[0],
    ArrowUp: column[place[n] - 1], ArrowDown: column[place[n] + 1], Home: rows[1][0], End: rows[rows.length - 1][0],
  }[key];
}
