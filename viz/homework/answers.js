// The answers of an assignment in this browser, and the result file. Nothing is sent anywhere.

import { readPreference, storePreference } from "../kit/remember.js";

const keyOf = (id) => `homework_${id}`; // a dash before a letter is no name of a data attribute
const EMPTY = { student: "", started: null, checkpoints: {}, shown: {}, answers: {}, right: {} }; // `right`: tasks that the page has called right
const SCHEMA = 1;
const isRecord = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

export function readAnswers(id) {
  let stored = null;
  try { stored = JSON.parse(readPreference(keyOf(id)) ?? "null"); } catch { /* something else is stored under this name */ }
  const known = isRecord(stored) ? stored : {}, parts = Object.keys(EMPTY).filter((name) => !isRecord(EMPTY[name]) || isRecord(known[name]));
  return { ...structuredClone(EMPTY), ...Object.fromEntries(parts.filter((name) => name in known).map((name) => [name, known[name]])) };
}

// Changes what is stored, by a function, and returns it. It is read again first: another tab may have stored answers meanwhile.
export function changeAnswers(id, change) {
  const stored = readAnswers(id);
  change(stored);
  storePreference(keyOf(id), JSON.stringify(stored));
  return stored;
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
