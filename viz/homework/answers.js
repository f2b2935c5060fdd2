// The answers of an assignment in this browser, and the result file. Nothing is sent anywhere.

import { readPreference, storePreference } from "../kit/remember.js";

// Each task has an entry of its own, and only changed entries are written: another tab may still see an older state of the rest.
const keyOf = (id, number) => `homework_${id}_${number}`; // a dash before a letter is no name of a data attribute
export const PERSON = 0; // the entry of the name and the start
const SCHEMA = 1;
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

function readEntry(id, number) {
  let entry = null;
  try { entry = JSON.parse(readPreference(keyOf(id, number)) ?? "null"); } catch { /* something else is stored under this name */ }
  return isRecord(entry) ? entry : {};
}

// What is stored of an assignment `{ id, tasks }`: the name, the start, and by task number the answer, when the task was shown first
// (milliseconds), and whether the page has called it right.
export function readAnswers({ id, tasks }) {
  const { student = "", started = null } = readEntry(id, PERSON), stored = { student, started, checkpoints: {}, shown: {}, answers: {}, right: {} };
  for (let number = 1; number <= tasks.length; number++) {
    const { answer, shown, isRight, checkpoints } = readEntry(id, number);
    if (isRecord(answer)) stored.answers[number] = answer;
    if (shown) stored.shown[number] = shown;
    if (isRight) stored.right[number] = true;
    if (isRecord(checkpoints)) Object.assign(stored.checkpoints, checkpoints);
  }
  return stored;
}

// Changes the entry of one task, or of the person (number 0), by a function, and returns everything that is stored.
export function changeEntry(assignment, number, change) {
  const entry = readEntry(assignment.id, number);
  change(entry);
  storePreference(keyOf(assignment.id, number), JSON.stringify(entry));
  return readAnswers(assignment);
}

const isAnswered = (answer) => Boolean(answer.solved || answer.view || answer.choice || answer.number != null || answer.text?.trim());

// The numbers of the answered tasks, from 1.
export const answeredTasks = ({ answers }) => Object.entries(answers).filter(([, answer]) => isAnswered(answer)).map(([number]) => Number(number));

// The text of the result file.
export function resultFile({ id, title }, { student, started, checkpoints, answers }, now = new Date()) {
  const answered = Object.fromEntries(Object.entries(answers).filter(([, answer]) => isAnswered(answer)));
  return `${JSON.stringify({ result: SCHEMA, assignment: id, title, student: student.trim(), started, saved: now.toISOString(), checkpoints, answers: answered }, null, 1)}\n`;
}

export function resultName({ title }, { student }) {
  const plain = (text) => text.trim().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 40);
  return `${[plain(title), plain(student)].filter(Boolean).join("_") || "result"}.json`;
}
