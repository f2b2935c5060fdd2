// The route of a choice on the site: it is searched on demand, drawn by the component of the app, and told in words.

import { button, element, probability, signed, term, threeDigits } from "../../kit/mount.js";
import { SHORT } from "./edit_bar.js";
import { NEAR_TIE } from "./links.js";
import { nameOf, plain, shared } from "./payloads.js";

const HIDING = { source: ["enc", "cross"], target: ["dec"] }; // kinds of attention in which a token is hidden
const codeOf = ({ kind, query, key }) => `block_${SHORT[kind]}_${query + 1}-${key + 1}`;
const hiding = (side, place) => HIDING[side].map((kind) => `block_${kind}_all-${place + 1}`);
const known = new Map(); // routes by choice

export function drawRoute(node, { site, state, ask, load, mount, step, options, change, edit }) {
  const plainTrace = state.baseline ?? state.trace, row = Math.min(step, plainTrace.steps.length) - 1, { top, chosen } = plainTrace.steps[row];
  const others = top.filter(([, id]) => id !== chosen[1]);
  const rival = others.find(([, id]) => id === state.view.rival) ?? others[0];
  const key = JSON.stringify([state.view.text, options, row, chosen[1], rival[1]]);
  const list = element("select");
  const listed = others.slice(0, 8), twice = (piece) => [chosen, ...listed].filter(([other]) => plain(other) === plain(piece)).length > 1;
  for (const each of listed) list.append(Object.assign(element("option", "", `${twice(each[0]) ? each[0] : plain(each[0])} (${probability(each[3])})`), { value: each[1], selected: each[1] === rival[1] }));
  list.setAttribute("aria-label", "The other token");
  list.onchange = () => change({ rival: Number(list.value) });
  const question = element("p", "question");
  question.append("Why ", element("b", "", plain(chosen[0])), ` (step ${row + 1}, ${probability(chosen[3])}), and not `, list, "?");
  const said = element("div", "answer");
  node.replaceChildren(question, said);
  const box = document.querySelector(".part-route");
  box.hidden = !known.has(key);
  if (known.has(key)) { tell(known.get(key)); return; }
  const search = button("primary", "Find the route", async () => {
    search.disabled = true;
    said.replaceChildren(search, element("p", "note", "Loading the model …"));
    const report = ({ cuts }) => { if (cuts) said.lastChild.textContent = `Cutting links: ${cuts} so far.`; };
    try {
      await load();
      const { route } = await ask("route", { text: state.view.text, options, row, token: chosen[1], rival: rival[1] }, report);
      known.set(key, route);
      drawRoute(node, { site, state, ask, load, mount, step, options, change, edit });
    } catch (fault) {
      search.disabled = false;
      said.replaceChildren(search, element("p", "note", fault.message || "The search stopped because something else was asked. Start it again."));
    }
  });
  said.append(search, element("p", "note", "The model runs about a hundred times, each time with one link of attention cut: this takes seconds."));

  function tell(route) {
    const { labels } = plainTrace.source, inputs = [plainTrace.start, ...plainTrace.target.labels.slice(0, -1)];
    const edits = new Set(state.view.edits), has = (codes) => codes.every((code) => edits.has(code));
    const toggle = (codes) => edit(has(codes) ? state.view.edits.filter((code) => !codes.includes(code)) : [...new Set([...state.view.edits, ...codes])]);
    const hidden = (side, count) => Array.from({ length: count }, (_, n) => n).filter((n) => has(hiding(side, n)));
    const token = plain(chosen[0]), other = plain(rival[0]);
    mount("route", {
      ...site.base.route,
      source: labels,
      target: inputs.slice(0, row + 1),
      words: ["", ...(plainTrace.target.glosses ?? [])].slice(0, row + 1),
      row,
      token,
      rival: other,
      links: route.links.map((link) => ({ kind: link.kind, query: link.query, key: link.key, hop: link.hop, effect: link.effect, detail: detail(link) })),
      most: Math.max(...route.links.map(({ effect }) => Math.abs(effect)), Math.abs(route.difference) / 2, 1e-6),
      cuts: route.links.map((link) => has([codeOf(link)])),
      hidden: { source: hidden("source", labels.length), target: hidden("target", row + 1) },
    }, {
      cut: (n) => toggle([codeOf(route.links[n - 1])]),
      hide: ({ side, number }) => toggle(hiding(side, number - 1)),
    });
    said.replaceChildren(...lines(route).map((text) => { const line = element("p"); line.append(...explained(text)); return line; }));
    if (state.baseline) said.append(element("p", "", afterwards()));
    if (route.links.length) said.append(element("p", "note", "Click a link to cut it, or a token to hide it. The model runs again."));

    function explained(text) { // the two terms with their meanings
      return text.split(/\b(Completeness|Faithfulness)\b/).map((part) => (part.toLowerCase() in site.terms ? Object.assign(term(site.terms, part.toLowerCase(), part), { title: site.terms[part.toLowerCase()] }) : part));
    }

    function afterwards() { // both probabilities under the edits, if the text before the step is the same
      const { trace, baseline } = state;
      if (shared(trace, baseline) < row || row >= trace.steps.length) return "With the edits another text comes before this step.";
      const after = (id) => [...trace.steps[row].top, trace.steps[row].chosen].find(([, each]) => each === id), least = trace.steps[row].top.at(-1)[3];
      const change = (candidate, name) => `${name} ${probability(candidate[3])} → ${after(candidate[1]) ? probability(after(candidate[1])[3]) : least < 0.01 ? "<0.01" : `at most ${probability(least)}`}`;
      return `With the edits: ${change(chosen, token)}, ${change(rival, other)}.`;
    }

    function detail(link) {
      const query = (link.kind === "encoder" ? labels : inputs)[link.query], read = (link.kind === "decoder" ? inputs : labels)[link.key];
      return `${query} on ${read}: cut in all heads, the difference changes by ${signed(link.effect)}: it supports ${link.effect < 0 ? "the token" : "its rival"}. Largest weight ${probability(link.weight)}. Most in ${nameOf(link.kind, link.layer, link.head)} (${signed(link.headEffect)}).`;
    }

    function lines({ difference, without, kept, links, completeness, faithfulness, others: count, control }) {
      const isTie = Math.abs(difference) < NEAR_TIE, [ahead, behind] = difference >= 0 ? [token, other] : [other, token], [high, low] = difference >= 0 ? [chosen, rival] : [rival, chosen];
      const told = [isTie ? `${token} (${probability(chosen[3])}) and ${other} (${probability(rival[3])}) are a near-tie.` : `${ahead} leads ${behind} by ${threeDigits(Math.abs(difference))} logits (${probability(high[3])} against ${probability(low[3])}).`];
      const near = links.filter(({ hop, effect, kind, query, key: at }) => hop === 1 && effect * difference < 0 && !(kind !== "cross" && query === at)).slice(0, 2);
      const target = (link) => `${(link.kind === "decoder" ? inputs : labels)[link.key]} (cut: ${signed(link.effect)})`;
      if (state.baseline) told[0] = `Without edits: ${told[0]}`;
      if (near.length) told[0] += ` ${inputs[row]} → ${token} looks at ${near.map(target).join(" and at ")}.`;
      if (isTie) return told;
      const leader = (value) => (Math.abs(value) < NEAR_TIE ? "it is a near-tie" : `${value > 0 ? token : other} leads`);
      if (!links.length) told.push("No short route carries this choice: no single cut changes it by more than 5%.");
      else if (completeness < 0.5) told.push(`No short route carries this choice. ${completeness >= 0 ? `With all links cut, ${Math.round(100 * completeness)}% of the lead goes.` : "With all links cut, the lead grows."}`);
      else told.push(`Completeness ${completeness.toFixed(2)}: with all links cut, ${leader(without)}. Faithfulness ${faithfulness.toFixed(2)}: with these links alone, ${leader(kept)}.${control === null ? "" : ` Median of ${count} other cuts: ${threeDigits(control)} logits.`}`);
      return told;
    }
  }
}
