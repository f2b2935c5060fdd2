import assert from "node:assert/strict";
import test from "node:test";
import { addressOf, counted, elsewhere, eventsOf, have, result } from "../../../viz/classroom/room_parts.js";
import { calibration, scored, tallied } from "../../../viz/classroom/bet_parts.js";
import { faultOf, questionOf } from "../../../viz/classroom/question_form.js";
import { following } from "../../../viz/classroom/room_stream.js";
import { sending } from "../../../viz/classroom/room_sending.js";

// A clock that goes where it is told to, and a room that answers when it is told to.
function sender() {
  const made = { time: 0, due: [], sent: [], answers: [] };
  const later = (call, ms) => made.due.push([made.time + ms, call]);
  const send = (change) => { made.sent.push([made.time, change]); return new Promise((done) => { made.answers.push(done); }); };
  made.out = sending({ send, later, now: () => made.time });
  made.at = (time) => {
    made.time = time;
    for (const [when, call] of made.due.splice(0)) { if (when <= time) call(); else made.due.push([when, call]); }
  };
  made.answer = async (done) => { made.answers.shift()(done); await new Promise((next) => { setTimeout(next); }); };
  return made;
}

test("the latest of each kind wins, one request at a time, and no more than ten a second", async () => {
  const made = sender();
  for (let step = 1; step < 9; step += 1) made.out.show({ address: `/?step=${step}` });
  made.out.show({ pointer: "a|b" });
  made.at(0);
  assert.deepEqual(made.sent, [[0, { address: "/?step=8", pointer: "a|b" }]]);
  made.out.show({ blank: true });
  made.at(500);
  assert.equal(made.sent.length, 1); // the first is still under way
  await made.answer(true);
  made.at(500);
  assert.deepEqual(made.sent[1], [500, { blank: true }]);
  await made.answer(true);
  made.out.show({ blank: false });
  made.at(599);
  assert.equal(made.sent.length, 2);
  made.at(600);
  assert.equal(made.sent.length, 3);
});

test("what did not arrive is sent again later, with what has changed since", async () => {
  const made = sender();
  made.out.show({ address: "/a", pointer: "x" });
  made.at(0);
  made.out.show({ address: "/b" });
  await made.answer(false);
  made.at(999);
  assert.equal(made.sent.length, 1);
  made.at(1000);
  assert.deepEqual(made.sent[1], [1000, { address: "/b", pointer: "x" }]);
  await made.answer(false);
  made.at(2999);
  assert.equal(made.sent.length, 2);
  made.at(3000);
  assert.equal(made.sent.length, 3);
});

test("an address is path and query with the present step", () => {
  assert.equal(addressOf({ page: "", query: {}, step: 0 }), "/");
  assert.equal(addressOf({ page: "heads", query: { text: "L'été ?", layer: "3" }, step: 5 }), "/heads?text=L%27%C3%A9t%C3%A9+%3F&layer=3&step=5");
});

test("events are read however the stream is cut", () => {
  const whole = 'id: 1\ndata: {"a":1}\n\n: alive\n\nevent: ended\r\ndata: {}\r\n\r\n';
  for (let cut = 0; cut < whole.length; cut += 1) {
    const [first, rest] = eventsOf(whole.slice(0, cut)), [second, left] = eventsOf(rest + whole.slice(cut));
    assert.deepEqual([...first, ...second].map(({ event, data }) => [event, data]), [["message", '{"a":1}'], ["ended", "{}"]], String(cut));
    assert.equal(left, "");
  }
});

test("the result says how many were right, what the model gave, and what else was said", () => {
  const question = { options: ["car", "il"], model: [0.2, 0.719], answer: "il", gave: "the model gave it 0.719" };
  const told = { voted: 31, answer: "il", votes: { il: 14, car: 10, "là": 7 } };
  assert.equal(result(question, told), "14 of 31 said “il”; the model gave it 0.719.");
  assert.equal(result(question, { voted: 0, answer: "il", votes: {} }), "The answer is “il”: the model gave it 0.719.");
  assert.equal(result(question, { voted: 31 }), "The answer is “il”: the model gave it 0.719."); // nobody has said yet what they chose
  assert.deepEqual(counted(question, told).rows.map(({ share }) => share), [10 / 31, 14 / 31]);
  assert.equal(elsewhere(counted(question, told)), "7 said “là”.");
  assert.equal(elsewhere(counted(question, { ...told, votes: { a: 1, b: 2 } })), "3 said other words.");
  const most = { voted: 90, answer: "il", votes: { il: 45, car: 0, a: 9, b: 6 }, others: 30 }; // words that are not told one by one
  assert.equal(elsewhere(counted(question, most)), "45 said other words.");
  assert.deepEqual(counted(question, most).rows.map(({ share }) => share), [0, 0.5]);
  assert.equal(have(0, 9), "No votes yet");
  assert.equal(have(1, 9), "1 of 9 have voted");
  assert.equal(have(1, 1), "1 has voted");
  assert.equal(have(9, 3), "9 have voted"); // some have left since
  assert.equal(scored({ asked: 1, people: 1, model: 0.5 }), "");
  assert.match(scored({ asked: 2, people: 0.9, model: 1.2 }), /^Score after 2 questions: class 45% \(votes\), model 60% /);
});

test("the lecturer's page answers signs of life, not more often than every ten seconds", async (t) => {
  let time = 0, stream = null;
  const posted = [], later = () => new Promise((next) => { setTimeout(next); });
  t.mock.method(performance, "now", () => time);
  t.mock.method(globalThis, "fetch", async (path, { method, headers }) => {
    if (path.endsWith("/events")) return new Response(new ReadableStream({ start(controller) { stream = controller; } }));
    posted.push([time, method, path, headers.Authorization]);
    return new Response(null, { status: 204 });
  });
  const stop = following({ code: "KX234Z", secret: "s" }, { told() {}, away() {}, gone() {} });
  for (time of [1, 5_000, 15_000, 16_000, 30_000]) {
    while (!stream) await later();
    stream.enqueue(new TextEncoder().encode(": alive\n\n"));
    for (let turn = 0; turn < 20; turn += 1) await later();
  }
  stop();
  assert.deepEqual(posted, [15_000, 30_000].map((at) => [at, "POST", "/rooms/KX234Z/here", "Bearer s"]));
});

test("confidence is compared with right answers, the surest first", () => {
  assert.deepEqual(calibration({ answer: "il", sure: [[5, 1], [0, 0], [15, 6]] }), ["Of those who were sure, 40% were right (6 of 15).", "Not sure: 20% (1 of 5)."]);
  assert.deepEqual(calibration({ answer: "", sure: [[5, 0], [0, 0], [1, 0]] }), ["How sure: 1 sure, 5 not sure."]);
  assert.deepEqual(calibration({ answer: "il", sure: [[0, 0], [0, 0], [0, 0]] }), []);
});

test("a round before stands beside this one, for options and for numbers", () => {
  const choice = { kind: "choice", options: ["a", "b"], model: [], answer: "b" };
  const { rows } = tallied(choice, { voted: 4, votes: { b: 3, a: 1 }, before: { voted: 2, votes: { a: 2 } } });
  assert.deepEqual(rows.map(({ share, before, model }) => [share, before, model]), [[0.25, 1, null], [0.75, 0, null]]);
  const number = tallied({ kind: "number", options: [], model: [], answer: "3" }, { voted: 2, rows: [["3", 1, 1, 1, true], ["4", 1, 0, 0, false]], before: { voted: 1 } });
  assert.deepEqual([number.right, number.rows.map(({ before }) => before)], [1, [1, 0]]);
  assert.equal(result(choice, { voted: 4, answer: "b", votes: { b: 3, a: 1 } }), "3 of 4 said “b”, the right answer.");
  assert.equal(result({ ...choice, answer: "" }, { voted: 4, answer: "", votes: {} }), "4 answers. No right answer.");
});

test("the form names the first fault, and stores no empty option", () => {
  const draft = { kind: "choice", text: " Which  one? ", options: ["a ", "", "b"], right: "b", side: "source" };
  assert.equal(faultOf(draft), "");
  assert.deepEqual(questionOf(draft), { kind: "choice", text: "Which one?", options: ["a", "b"], right: "b", side: "source" });
  for (const change of [{ text: " " }, { options: ["a", ""] }, { options: ["a", "a "] }, { kind: "number", right: "1,2,3" }, { kind: "grid", right: "2" }]) {
    assert.match(faultOf({ ...draft, ...change }), /\.$/);
  }
  for (const change of [{ kind: "number", right: "−0,5" }, { kind: "number", right: "" }, { kind: "grid", right: "cross 2.3" }]) assert.equal(faultOf({ ...draft, ...change }), "");
});
