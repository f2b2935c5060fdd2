import assert from "node:assert/strict";
import test from "node:test";

const stored = new Map();
globalThis.localStorage = { getItem: (name) => stored.get(name) ?? null, setItem: (name, text) => stored.set(name, text) };
const refusing = { // as a browser's: no dash before a small letter
  set: (values, name, text) => { assert.doesNotMatch(name, /-[a-z]/); values[name] = text; return true; },
};
globalThis.document = { documentElement: { dataset: new Proxy({}, refusing) } };
const { answeredTasks, changeAnswers, readAnswers, resultFile, resultName } = await import("../../../viz/homework/answers.js");

test("answers come back as they were stored, each assignment for itself", () => {
  for (const id of "0123456789abcdef") changeAnswers(`${id}00`, () => {});
  const answers = readAnswers("one");
  assert.deepEqual(answers.answers, {});
  answers.answers[2] = { choice: 1, confidence: 3 };
  const put = (number, answer) => changeAnswers("one", (known) => { known.answers[number] = answer; });
  assert.deepEqual(put(2, { choice: 1, confidence: 3 }), answers);
  assert.deepEqual(readAnswers("one"), answers);
  put(4, { text: "of another tab, which has read the answers before" });
  assert.deepEqual(Object.keys(readAnswers("one").answers), ["2", "4"]);
  assert.deepEqual(readAnswers("two").answers, {});
});

test("what else is stored under the name is ignored", () => {
  for (const text of ["", "null", "[]", "5", "{\"answers\": 5}", "{\"answers\": []}", "{"]) {
    stored.set("attention-lab-homework_x", text);
    assert.deepEqual(readAnswers("x").answers, {}, text);
  }
});

test("a task counts as answered once there is an answer", () => {
  const answers = { 1: { solved: true }, 2: { choice: 1 }, 3: { number: 0 }, 4: { text: " " }, 5: { text: "why" }, 6: { seconds: 3 } };
  assert.deepEqual(answeredTasks({ answers }), [1, 2, 3, 5]);
});

test("the result names assignment, student and answers, and has a plain file name", () => {
  const known = { ...readAnswers("new"), student: " Zoé <b> ", checkpoints: { "en-fr": "abc" }, answers: { 1: { choice: 2, confidence: 1 }, 2: {} } };
  const result = JSON.parse(resultFile({ id: "new", title: "First contact" }, known, new Date(0)));
  assert.deepEqual(result, {
    result: 1, assignment: "new", title: "First contact", student: "Zoé <b>", started: null, saved: "1970-01-01T00:00:00.000Z",
    checkpoints: { "en-fr": "abc" }, answers: { 1: { choice: 2, confidence: 1 } },
  });
  assert.equal(resultName({ title: "First contact" }, known), "first-contact_zoé-b.json");
  assert.equal(resultName({ title: "///" }, { student: "" }), "result.json");
});
