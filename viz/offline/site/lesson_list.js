// The lessons that need only what the site can do: question, task, and a check with its number, as viz/lessons/lesson_checks.py.

import { button, element, probability, threeDigits } from "../../kit/mount.js";
import { mapOf, nameOf, shared } from "./payloads.js";

const MOST = 0.8; // weight that a head needs
const LEAST_CHANGE = 0.5; // nats that a translation loses
const verdict = (solved, said) => ({ solved, said });
const probabilities = (trace) => trace.steps.map(({ chosen }) => chosen[3]);
const logProb = (trace) => probabilities(trace).reduce((sum, p) => sum + Math.log(p), 0);
const textOf = (trace) => trace.target.segments.join("").trim();
const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];

const CHECKS = {
  unsure({ trace, step }) {
    const all = probabilities(trace), here = all[step - 1], lower = all.filter((p) => p < here - 1e-6).length;
    const said = `Step ${step} writes “${trace.target.labels[step - 1]}” with probability ${probability(here)}`;
    return lower ? verdict(false, `${said}. ${lower} ${lower === 1 ? "step is" : "steps are"} lower.`) : verdict(true, `${said}, the lowest of ${all.length} steps.`);
  },
  heads({ trace, step, view }) {
    if (view.map !== "cross" || view.head === null) return verdict(false, "Choose one head of cross-attention.");
    const { labels } = trace.target, key = trace.source.labels.indexOf("car");
    if (labels[step - 1] !== "une" || key < 0) return verdict(false, `Step ${step} writes “${labels[step - 1]}”. Go to “une”.`);
    const { values, shape: [, columns] } = mapOf(trace, "cross", view.layer, view.head), weight = values[(step - 1) * columns + key];
    const said = `${nameOf("cross", view.layer, view.head)}: weight ${probability(weight)} on “car” when it writes “une”.`;
    return weight >= MOST ? verdict(true, said) : verdict(false, `${said} Needed: ${MOST} or more.`);
  },
  async mask({ baseline, view, ask }) {
    if (!view.edits.length) return verdict(false, "There is no edit yet.");
    if (String(view.edits) !== "causal-off") return verdict(false, "Needed: only the causal mask off.");
    const { logProb: after } = await ask("score", { text: view.text, edits: view.edits, target: baseline.target.ids }), before = logProb(baseline);
    const said = `Log-probability of the same translation, read at once with all later tokens in view: ${threeDigits(before)} → ${threeDigits(after)}. While decoding there are none.`;
    return before > after ? verdict(before - after >= LEAST_CHANGE, said) : verdict(false, `${said} Not less likely.`);
  },
  async beam({ trace, view, ask, width }) {
    if (view.edits.length) return verdict(false, "There is an edit. Undo it first.");
    if (view.decode !== "beam") return verdict(false, "Choose Beam under Decoding.");
    if (view.path.length || view.prefix.length) return verdict(false, "This is not the best path. Go back to it.");
    const { trace: greedy } = await ask("translate", { text: view.text, edits: [], width: 1, prefix: [], path: [] });
    const sums = [logProb(trace), logProb(greedy)];
    return verdict(sums[0] > sums[1] + 0.01, `Log-probability: beam of ${width} ${threeDigits(sums[0])}, greedy ${threeDigits(sums[1])}.`);
  },
  ablation({ trace, baseline, view }) {
    if (!baseline) return verdict(false, "There is no edit yet. Needed: one edit that switches off all heads of one layer.");
    if (view.edits.length !== 1 || !/^off_(enc|dec|cross)\.\d+$/.test(view.edits[0])) return verdict(false, "Needed: only one edit that switches off all heads of one layer.");
    const at = shared(trace, baseline);
    if (at === trace.target.ids.length && at === baseline.target.ids.length) return verdict(false, "The translation stays the same.");
    return verdict(true, `“${baseline.target.labels[at]}” becomes “${trace.target.labels[at]}” (${probability(trace.steps[at].chosen[3])}): “${textOf(trace)}”`);
  },
  cell({ trace, baseline, view }) {
    if (!baseline) return verdict(false, "There is no edit yet. Needed: exactly one blocked cell.");
    if (view.edits.length !== 1 || !/^block_.*_\d+-\d+$/.test(view.edits[0])) return verdict(false, "Needed: only exactly one blocked cell.");
    if (!words(textOf(baseline)).includes("elle")) return verdict(false, "The unedited translation has no “elle”. Start over.");
    const now = words(textOf(trace));
    return verdict(now.includes("il") && !now.includes("elle"), `“${textOf(trace)}”`);
  },
};

/** Returns the verdict of a lesson: { solved, said }, or a promise of it. */
export const checkLesson = (name, seen) => CHECKS[name](seen);
export const canCheck = (name) => Object.hasOwn(CHECKS, name);
let asked = 0; // the newest check

/** Writes the list of lessons. `open` goes to the start of a lesson. */
export function drawLessons(node, { site, view, open }) {
  const current = site.tasks.find(({ name }) => name === view.lesson);
  const list = element("ol", "lessons");
  for (const lesson of site.tasks) {
    const item = element("li"), way = button("link", lesson.question, () => open(lesson.start));
    if (lesson === current) way.setAttribute("aria-current", "true");
    item.append(way);
    list.append(item);
  }
  node.replaceChildren(list, element("p", "note", `${site.otherLessons} more lessons run in the lab itself.`));
}

/** Writes the lesson that is on, with its check; it stays in view on every tab. */
export function drawLesson(strip, { site, state: { view, trace, baseline }, step, open, ask, load }) {
  const current = site.tasks.find(({ name }) => name === view.lesson), id = asked += 1;
  strip.hidden = !current;
  if (!current) return;
  const said = element("p", "verdict");
  said.setAttribute("role", "status");
  const number = site.tasks.indexOf(current), next = site.tasks[number + 1];
  strip.replaceChildren(element("b", "", current.question), element("p", "", current.task), said);
  const tell = ({ solved, said: text }) => {
    if (id !== asked) return;
    strip.classList.toggle("solved", solved);
    said.textContent = `${solved ? "Solved. " : ""}${text}`;
    if (solved && next) said.append(" ", button("link", `Next: ${next.question}`, () => open(next.start)));
  };
  if (view.text.trim() !== current.text) { tell(verdict(false, `This lesson needs “${current.text}”. Start over.`)); return; }
  Promise.resolve().then(async () => {
    if (CHECKS[current.name].constructor.name === "AsyncFunction") await load();
    return checkLesson(current.name, { trace, baseline, view, step, ask, width: site.width });
  }).then(tell, () => {});
}
