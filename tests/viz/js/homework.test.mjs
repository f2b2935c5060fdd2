import assert from "node:assert/strict";
import test from "node:test";

const stored = new Map();
globalThis.localStorage = { getItem: (name) => stored.get(name) ?? null, setItem: (name, text) => stored.set(name, text) };
const refusing = { // as a browser's: no dash before a small letter
  set: (values, name, text) => { assert.doesNotMatch(name, /-[a-z]/); values[name] = text; return true; },
};
globalThis.document = { documentElement: { dataset: new Proxy({}, refusing) } };
const { PERSON, answeredTasks, changeEntry, readAnswers, resultFile, resultName } = await import("../../../viz/homework/answers.js");

const of = (id) => ({ id, tasks: Array.from({ length: 5 }, () => ["", ""]) });
const put = (id, number, answer) => changeEntry(of(id), number, (entry) => { entry.answer = answer; });

test("answers come back as they were stored, each assignment for itself", () => {
  for (const id of "0123456789abcdef") changeEntry(of(`${id}00`), 1, () => {});
  assert.deepEqual(readAnswers(of("one")).answers, {});
  const answers = put("one", 2, { choice: 1, confidence: 3 });
  assert.deepEqual(answers.answers, { 2: { choice: 1, confidence: 3 } });
  assert.deepEqual(readAnswers(of("one")), answers);
  assert.deepEqual(readAnswers(of("two")).answers, {});
});

test("a change writes the entry of its task alone", () => {
  put("tabs", 1, { choice: 1, confidence: 3 });
  const older = [...stored]; // what a second tab may still see
  put("tabs", 2, { choice: 2, confidence: 1 });
  const newer = new Map(stored);
  stored.clear();
  for (const [name, text] of older) stored.set(name, text);
  changeEntry(of("tabs"), PERSON, (entry) => { entry.student = "Zoé"; });
  const written = [...stored].filter(([name, text]) => !older.some(([old, before]) => old === name && before === text));
  assert.equal(written.length, 1);
  for (const [name, text] of [...newer, ...written]) stored.set(name, text);
  const all = readAnswers(of("tabs"));
  assert.deepEqual([all.student, Object.keys(all.answers)], ["Zoé", ["1", "2"]]);
});

test("what else is stored under the name is ignored", () => {
  for (const text of ["", "null", "[]", "5", "{\"answer\": 5}", "{\"answer\": []}", "{"]) {
    for (const number of [PERSON, 1]) stored.set(`attention-lab-homework_x_${number}`, text);
    assert.deepEqual(readAnswers(of("x")).answers, {}, text);
  }
});

test("a task counts as answered once there is an answer", () => {
  const answers = { 1: { solved: true }, 2: { choice: 1 }, 3: { number: 0 }, 4: { text: " " }, 5: { text: "why" }, 6: { seconds: 3 } };
  assert.deepEqual(answeredTasks({ answers }), [1, 2, 3, 5]);
});

test("the result names assignment, student and answers, and has a plain file name", () => {
  const known = { ...readAnswers(of("new")), student: " Zoé <b> ", checkpoints: { "en-fr": "abc" }, answers: { 1: { choice: 2, confidence: 1 }, 2: {} } };
  const result = JSON.parse(resultFile({ id: "new", title: "First contact" }, known, new Date(0)));
  assert.deepEqual(result, {
    result: 1, assignment: "new", title: "First contact", student: "Zoé <b>", started: null, saved: "1970-01-01T00:00:00.000Z",
    checkpoints: { "en-fr": "abc" }, answers: { 1: { choice: 2, confidence: 1 } },
  });
  assert.equal(resultName({ title: "First contact" }, known), "first-contact_zoé-b.json");
  assert.equal(resultName({ title: "///" }, { student: "" }), "result.json");
});
