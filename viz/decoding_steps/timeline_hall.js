// What is other in lecture mode: the translation in its marks, what the edits made of it, and what stands below the lines beside the
// candidates. Nothing here makes markup from text: textContent only.

import { setTitle } from "../kit/glosses.js";
import { element } from "../kit/mount.js";
import { swatch } from "./timeline_parts.js";

// The translation: the first `known` of its pieces, that of number `at` marked, and what comes; what a guess must not see keeps its room.
// A word with a meaning has it as its tooltip, but not while a guess must not see what its later pieces are.
export function spoken({ segments, guess, hall, words }, known, at) {
  const pieces = segments.map((segment, n) => (words?.[n] && !guess ? explained(segment, words[n]) : segment)), rest = element("span", "todo");
  if (hall || !guess) rest.append(...pieces.slice(known));
  if (!hall) return [...pieces.slice(0, known), rest];
  rest.classList.toggle("kept", guess);
  return [...segments.slice(0, known).flatMap((segment, n) => marked(segment, hall.changed?.[n], n === at ? "now" : "", guess ? "" : words?.[n])), rest];
}

function explained(segment, word) {
  const node = element("span", "gloss", segment);
  setTitle(node, "", word);
  return node;
}

// What is known of a text that is read at once while its blanks are to be guessed: all of it but what the model puts into them, and
// into the blank that has been revealed (from 1).
export function veiled(data, revealed) {
  const hides = (n) => data.blanks.includes(n) && revealed !== n + 1;
  const target = data.target.map((token, n) => (hides(n) ? { ...token, t: "?", hidden: true } : token));
  return { ...data, target, segments: data.segments.map((text, n) => (hides(n) ? " ___" : text)) };
}

// A piece of a text in a mark, where an edit changed it, or under a class; a space before it stays outside.
function marked(segment, flag, name = "", word = "") {
  const bare = segment.trimStart(), space = segment.slice(0, segment.length - bare.length);
  if (!bare || !(flag || name || word)) return [segment];
  const node = element(flag ? "mark" : "span", name || (flag ? "" : "gloss"), bare);
  setTitle(node, "", word);
  return [space, node];
}

// The effect of the edits: the translation without them, or a sentence.
export function changed({ was, told }, guess) {
  if (!was && !told) return [];
  const line = element("div", "changed"), text = element("p");
  text.append(told ?? "Before: ", ...(!was ? [] : guess ? ["…"] : was.flatMap(([segment, flag]) => marked(segment, flag))));
  line.append(text);
  return [line];
}

// What the lines are; their layer and head stand in the line at the top.
export function legend({ above, own, arrangements }, rows) {
  return [...(above ? [swatch("cross"), element("span", "", "Cross-attention")] : []), swatch(own), element("span", "", arrangements[rows][1])];
}

// In lecture mode the step and what it looks at stand below the lines, beside the candidates.
export function hall(root, main, given, steps) {
  root.classList.toggle("hall", Boolean(given));
  root.classList.toggle("over-maps", Boolean(given && !given.steps));
  if (!given) return;
  const below = element("div", "bottom");
  main.querySelector(".count b").style.minWidth = `${String(steps).length}ch`; // what follows it stays where it is
  below.append(main.querySelector(".where"), main.querySelector(".why"));
  main.append(below);
}
