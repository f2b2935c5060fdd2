// What is said of a word on its way to tokens. Nothing here makes markup from text: textContent only.

import { element } from "../kit/mount.js";

const whole = (n) => n.toLocaleString("en");
const count = (n, what) => `${whole(n)} ${what}${n === 1 ? "" : "s"}`;
const IN_BYTES = /⟨[0-9A-F]{2}⟩/; // a label with bytes that are no whole character

// A word's pieces after so many merges, by id.
export function pieces(word, done) {
  const found = [...word.start];
  for (const [at, token] of word.merges.slice(0, done)) found.splice(at, 2, token);
  return found;
}

// For each two neighbours the rank of their pair in the list of merges, null where it is not in it.
export const ranks = (found, table) => found.slice(1).map((id, n) => table.ranks[`${found[n]},${id}`] ?? null);

// One sentence for what was joined, and one for what comes next, or why nothing does.
export function told(word, done, table) {
  const found = pieces(word, done), label = (id) => `“${table.labels[id]}”`;
  const said = done ? [`Joined: ${label(word.merges[done - 1][1])}.`] : [`The word starts as ${count(found.length, "byte")}.`];
  if (done < word.merges.length) {
    const at = word.merges[done][0], place = ranks(found, table)[at];
    const before = place === 1 ? "the very first that was learned" : `learned after ${whole(place - 1)} other${place === 2 ? "" : "s"}`;
    said.push(`Next: ${label(found[at])} and ${label(found[at + 1])}, by merge ${whole(place)} of ${whole(table.merges)}, ${before}.`);
    return said.join(" ");
  }
  if (found.length === 1) said.push(done ? "The whole word is one token." : "That byte is its token: there is nothing to join.");
  else said.push(`No two neighbours are in the list${done ? " any more" : ""}: the word stays in ${found.length} tokens.`);
  if (found.some((id) => IN_BYTES.test(table.labels[id]))) said.push("Each ⟨ ⟩ holds one byte of a character that was too rare in the training text to get a token of its own.");
  return said.join(" ");
}

// What the word after an elision has that the text has not.
export const LENT = "After an elision a word is cut as if a space stood before it, so it has the same tokens there as anywhere else.";

// The pieces in a row, the rank of each pair between them; the pair that is joined next is framed.
export function row(word, done, table) {
  const found = pieces(word, done), places = ranks(found, table), next = word.merges[done]?.[0], made = done ? word.merges[done - 1][0] : -1;
  const node = element("ol", "pieces");
  found.forEach((id, n) => {
    const item = element("li", ""), tile = element("span", "tile", table.labels[id]);
    if (n === next || n === next + 1) item.classList.add("next", n === next ? "left" : "right");
    if (n === made) item.classList.add("made");
    item.append(tile);
    if (n < places.length) {
      const rank = element("small", "", places[n] === null ? "–" : whole(places[n]));
      rank.title = places[n] === null ? "Not in the list of merges" : `Merge ${whole(places[n])} of ${whole(table.merges)}`;
      item.append(rank);
    }
    node.append(item);
  });
  return node;
}

// The final tokens, a row each: the id, the merge that made it, how often training saw it.
export function results(word, table, open) {
  const node = element("table", "results"), head = element("tr"), body = element("tbody"), made = {}, found = [...word.start];
  for (const [at, token] of word.merges) { made[token] = table.ranks[`${found[at]},${found[at + 1]}`]; found.splice(at, 2, token); }
  for (const name of ["token", "id", "learned as", "seen in training", "embedding"]) { const th = element("th", "", name); th.scope = "col"; head.append(th); }
  found.forEach((id, n) => {
    const line = element("tr"), name = element("th", "mono", table.labels[id]), link = element("td");
    name.scope = "row";
    link.append(open(id, n));
    line.append(name, element("td", "n", whole(id)), element("td", "", made[id] ? `merge ${whole(made[id])} of ${whole(table.merges)}` : "a byte"), element("td", "", table.seen[id] || "not known"), link);
    body.append(line);
  });
  const top = element("thead");
  top.append(head);
  node.append(top, body);
  return node;
}
