// The assignment that is on: its strip is that of the app. The site judges the views that it can; the others are judged when the results
// are collected in a lab.

import { exactProbability } from "../../kit/mount.js";
import { readAddress, writeAddress } from "./address.js";
import { canCheck, checkLesson } from "./lesson_list.js";
import { mapOf } from "./payloads.js";

const MAX_BYTES = 262144; // of an assignment
const DAMAGED = "The assignment in this link is damaged. Copy the complete link again.";
const NOT_HERE = "This task needs the lab itself.";
const LATER = "This page cannot check the view. Keep it: it is checked when the results are collected.";
const TEXT = '"(?:[^"\\\\]|\\\\.)*"';
const STEP = new RegExp(`^step (\\d+) writes (${TEXT}) with probability at least ([\\d.]+) in this view$`);
const TRANSLATION = new RegExp(`^the translation of this view is (${TEXT})$`);
const HEAD = new RegExp(`^head this head puts at least ([\\d.]+) of (${TEXT})(?:#(\\d+))? on (${TEXT})(?:#(\\d+))? in this view$`);
const PAGES = { translate: {}, heads: {}, why: { show: "route" }, "what-if": {} };
const KINDS = [[/^block_/, "block"], [/^row_/, "row"], [/^(off|mean)_/, "head"], [/^scale_/, "scale"], [/^skip_/, "layer"], [/^(source|target)-positions_/, "positions"]];
const read = new Map(); // text of a link -> assignment, or a promise of it
let judged = 0; // the newest verdict

/** Returns the assignment of a link's text: its JSON values, or those of a ready one. Rejects with a sentence. */
export async function readAssignment(text, ready) {
  if (ready[text]) return ready[text];
  if (!/^~[\w-]+$/.test(text)) throw new Error(`There is no assignment “${text.slice(0, 40)}”; expected ${Object.keys(ready).join(", ")} or a link with an assignment.`);
  try {
    const bytes = Uint8Array.from(atob(text.slice(1).replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0));
    const whole = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();
    const values = whole.length <= MAX_BYTES ? JSON.parse(whole) : null;
    if (values?.assignment !== 1 || typeof values.id !== "string" || !Array.isArray(values.tasks)) throw new Error(DAMAGED);
    return values;
  } catch { throw new Error(DAMAGED); }
}

/** Returns the view of a stop of the lab; null where the site lacks its page or a parameter. */
export function viewOf({ page, view }, site) {
  const { kind, mode: _mode, learn: _learn, checkpoint = site.checkpoint[0], ...params } = view ?? {};
  if (!PAGES[page] || checkpoint !== site.checkpoint[0]) return null;
  const query = new URLSearchParams({ ...params, ...(kind ? { map: kind } : {}), ...PAGES[page] });
  const { view: found, faults } = readAddress(query.toString(), site);
  return faults.length ? null : { ...found, text: found.text || site.first };
}

/** Returns a view of the site as a stop of the lab. `page` and `mode` are those of the stop where the task begins. */
export function stopOf(view, step, site, { page, view: { mode } = {} }) {
  const shown = view.show === "route" ? "why" : page === "heads" ? "heads" : "translate";
  const { show, map, ...params } = Object.fromEntries(new URLSearchParams(writeAddress({ ...view, assignment: "", exercise: 0, lesson: null }, site)));
  const again = mode ? { mode } : {}, kind = { kind: view.map, ...(map ? { map } : {}) };
  return { page: shown, view: { text: view.text, ...params, ...kind, ...(show === "decoding" ? { show } : {}), step: String(step), ...again } };
}

const result = (solved, said, needed) => ({ solved, said: solved ? said : `${said} Needed: ${needed}.` });

function placeOf(labels, text, number = "1") {
  const label = JSON.parse(text), places = labels.flatMap((each, n) => (each === label ? [n] : []));
  return places[Number(number) - 1] ?? -1;
}

/** Returns the verdict on a view, { solved, said }, or a promise of it; null where only the lab can check it. */
export function judge(task, { trace, baseline, view, step, ask, width, limit }) {
  const start = task.start.view ?? {}, text = start.text ?? view.first;
  if (!task.own_text && view.text.trim() !== (text ?? "").trim()) return { solved: false, said: `This task needs “${text}”. Start over.` };
  const kinds = view.edits.map((code) => KINDS.find(([pattern]) => pattern.test(code))?.[1] ?? "switch");
  if ((task.max_edits && kinds.length > task.max_edits) || (task.edit_kind && kinds.some((kind) => kind !== task.edit_kind))) return { solved: false, said: `Needed: ${limit}.` };
  const lesson = /^lesson ([a-z-]+)$/.exec(task.check)?.[1];
  if (lesson) return canCheck(lesson) ? checkLesson(lesson, { trace, baseline, view, step, ask, width }) : null;
  if (view.edits.length && start.mode !== "again") return null; // the lab holds the translation, the site decodes again
  const writes = STEP.exec(task.check), whole = TRANSLATION.exec(task.check), looks = HEAD.exec(task.check), { target } = trace;
  if (writes) {
    const at = Number(writes[1]) - 1, label = target.labels[at], p = trace.steps[at]?.chosen[3] ?? 0;
    return label === undefined ? { solved: false, said: `There is no step ${at + 1}.` } : result(label === JSON.parse(writes[2]) && p >= Number(writes[3]), `Measured: ${exactProbability(p)} of “${label}”.`, `“${JSON.parse(writes[2])}” with probability at least ${writes[3]}`);
  }
  if (whole) {
    const written = target.segments.join("").trim();
    return result(written === JSON.parse(whole[1]), `Measured: ${written}.`, `the translation is ${whole[1]}`);
  }
  if (!looks) return null;
  if (view.head === null) return { solved: false, said: "The mean over heads is shown. Choose one head." };
  const isEncoder = view.map === "encoder", rows = isEncoder ? trace.source.labels : target.labels, keys = view.map === "decoder" ? ["<s>", ...target.labels.slice(0, -1)] : trace.source.labels;
  const row = placeOf(rows, looks[2], looks[3]), key = placeOf(keys, looks[4], looks[5]), { values, shape } = mapOf(trace, view.map, view.layer, view.head);
  if (row < 0 || key < 0) return { solved: false, said: `This view has no ${row < 0 ? looks[2] : looks[4]}.` };
  const weight = values[row * shape.at(-1) + key];
  return result(weight >= Number(looks[1]), `Measured: ${exactProbability(weight)}.`, `at least ${looks[1]}`);
}

const limitOf = ({ max_edits: most, edit_kind: kind }, { editKinds }) => {
  const [one, several] = editKinds[kind] ?? ["edit", "edits"];
  return most ? `at most ${most} ${most === 1 ? one : several}` : kind ? `only ${several}` : "";
};

/** Returns the values of the current task for the strip, without a verdict on its view. */
function describe(tasks, number, site) {
  const { kind, question, options = [], right = 0, pair, field, tolerance = 0.1 } = tasks[number - 1], values = { kind, question, checkpoint: site.checkpoint };
  if (kind === "choice") return { ...values, options, right: pair && tasks.slice(number).some((each) => each.pair === pair) ? 0 : right };
  if (kind === "number") return { ...values, field, tolerance, measured: null };
  if (kind === "view") return { ...values, solved: false, said: "", view: null, limit: limitOf(tasks[number - 1], site) };
  return kind === "training" ? { ...values, solved: false, said: NOT_HERE, evidence: null } : values;
}

/** Draws the strip below the page, or hides it. */
export async function drawHomework(place, { site, state, step, ask, load, mount, compute }) {
  const { view } = state, text = view.assignment, id = judged += 1;
  place.hidden = !text;
  if (!text) return;
  const leave = () => compute({ assignment: "", exercise: 0 });
  if (!read.has(text)) read.set(text, readAssignment(text, site.assignments));
  let values = null, fault = "";
  try { values = await read.get(text); } catch (error) { fault = error.message; }
  if (id !== judged) return;
  if (!values) { mount("student_strip", { fault, id: "" }, { leave }); return; }
  const { tasks, title = "", about = "", minutes = 0 } = values, number = Math.min(view.exercise, tasks.length), task = tasks[number - 1];
  const open = (stop, exercise) => { const to = stop && viewOf(stop, site); compute(to ? { ...to, assignment: text, exercise } : { exercise }); };
  const events = { leave, begin: (to) => open(tasks[to - 1]?.start, to), measured: () => open(task.measured ?? task.start, number), edit: () => {} };
  const shown = task ? describe(tasks, number, site) : null;
  const data = { fault: "", id: values.id, title, about, minutes, number, isPreview: false, limits: site.answerLimits, tasks: tasks.map(({ question }, n) => [question, `?${writeAddress({ ...view, exercise: n + 1 }, site)}`]) };
  const draw = (more = {}) => { if (id === judged) mount("student_strip", { ...data, task: shown && { ...shown, ...more } }, events); };
  if (shown?.kind === "view") {
    const start = viewOf(task.start, site), current = start && stopOf(view, step, site, task.start);
    const isStart = start && JSON.stringify(stopOf(start, start.step ?? step, site, task.start)) === JSON.stringify(current);
    draw({ view: isStart ? null : current, said: start ? "" : NOT_HERE });
    if (!start || isStart) return;
    if (task.check.startsWith("lesson")) await load();
    const verdict = await judge(task, { ...state, view: { ...view, first: site.first }, step, ask, width: site.width, limit: shown.limit });
    draw(verdict ? { view: current, solved: verdict.solved, said: verdict.said } : { view: current, said: LATER });
  } else draw();
}
