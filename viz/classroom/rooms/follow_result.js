// The result of a question on a phone: the right answer, the class, the model, and how sure the class was.

import { element, probabilityElement } from "../../kit/mount.js";
import { answerCells, fillCell, hasCells } from "../answer_cells.js";
import { SURE, calibration, percent100, scored, tallied } from "../bet_parts.js";
import { counted, isLong, isRight, shares } from "./follow_parts.js";

// `own`: the accepted word and its confidence, a word that was refused, and one that was not sent. `judge` stores whether it was right.
export function answerResult(question, own, score, judge) {
  const { answer, kind, text, voted } = question, right = isRight(question, own.word), verdict = verdictOf(question, own, right), rows = shares(question);
  const title = answer ? `It is “${answer}”` : "No right answer", total = scored(score, own.word && answer ? judge(right) : null);
  const list = element("ul", rows.some(({ word }) => isLong(word)) ? "shares long" : "shares");
  list.append(...rows.map((row) => shareRow(row, own.word)));
  const nodes = [element("p", "kind", text), element("h1", right ? "right" : "", title), element("p", "verdict", verdict),
    ...(hasCells(question) ? [cells(question, own.word)] : [list]), ...legend(kind, rows[0]), element("p", "voted", counted(voted)),
    ...calibration(question).map((line) => element("p", "calibration", line)), ...(total ? [element("p", "score", total)] : [])];
  return { nodes, spoken: `${title}. ${verdict}` };
}

function verdictOf(question, { word, sure, late, unsent }, right) {
  const missed = late ? `Your answer “${late}” was not counted.` : unsent ? `Your answer “${unsent}” was not sent: you did not say how sure you are.` : "";
  if (!word) return missed || "You did not answer this time.";
  const { right: count, voted } = tallied(question, question);
  if (right) return `You were right${voted > 1 ? `, like ${percent100(count / voted)} of the class` : ""}.`;
  return [`You answered “${word}”${sure ? `, ${SURE[sure - 1]}` : ""}.`, missed].filter(Boolean).join(" ");
}

function cells(question, own) {
  const { rows } = tallied(question, question), most = Math.max(...rows.map(({ votes }) => votes)), of = new Map(rows.map((row) => [row.word, row]));
  return answerCells(question, (option, text) => {
    const node = element("span", option === own ? "cell own" : "cell");
    fillCell(node, of.get(option), most, text);
    return node;
  });
}

function legend(kind, { model = null, before } = {}) {
  if (hasCells({ kind }) || (model === null && before === undefined)) return [];
  const key = element("p", "key"), names = [["class", before === undefined ? "the class" : "now"], ...(before === undefined ? [] : [["before", "before"]]), ...(model === null ? [] : [["model", kind === "head" ? "the weight" : "the model"]])];
  for (const [name, text] of names) key.append(element("i", name), text);
  return [key];
}

function shareRow({ word, votes, share: people, model, right, before }, own) {
  const row = element("li", right ? "right" : ""), name = element("span", "name", word), bars = element("div", "bars");
  for (const [kind, part] of [["class", people], ["before", before ?? null], ["model", model]]) {
    const line = element("div", `line ${kind}`), bar = element("i");
    if (part === null) continue; // no probability for other words
    bar.style.setProperty("--share", part);
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", kind);
    line.append(bar, kind === "model" ? probabilityElement("span", "", part) : element("span", "", kind === "before" ? percent100(part) : votes ? `${votes} (${percent100(part)})` : "0"));
    bars.append(line);
  }
  if (word === own) name.append(element("small", "", "your answer"));
  row.append(name, bars);
  return row;
}
