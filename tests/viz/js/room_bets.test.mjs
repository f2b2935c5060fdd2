// A bet between the lecturer's keys and a room that answers late, or not.

import assert from "node:assert/strict";
import test from "node:test";

// Whatever is drawn: a page that takes everything, and says nothing.
const page = () => new Proxy(() => page(), {
  get: (_, name) => (name === Symbol.iterator ? function* none() { /* nothing */ } : name === Symbol.toPrimitive ? () => "" : page()),
  set: () => true, apply: () => page(),
});
globalThis.document = page();
const { betting } = await import("../../../viz/classroom/room_bets.js");

const turn = async () => { for (let n = 0; n < 50; n += 1) await null; };
const MADE = { kind: "next", asks: "", before: "", gap: "", after: "", text: "What comes first?", about: "", options: ["il", "elle"], model: [0.6, 0.4], answer: "il", gave: "", note: "", guess: false, step: 3, back: 2 };

function lecturer(t) {
  globalThis.attentionLabMemory.clear();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const made = { asked: [], answers: [], reports: [] };
  globalThis.fetch = (path) => { made.asked.push(path.replace("/rooms/KX234Z", "") || "look"); return new Promise((done) => { made.answers.push(done); }); };
  made.state = { openRoom: { code: "KX234Z", secret: "s" }, data: { step: 2 }, step: 2, now: {}, report: (name, told) => made.reports.push([name, told]), showNow: () => {} };
  made.bets = betting(made.state);
  made.answer = async (status, said = "") => { made.answers.shift()({ status, text: async () => (typeof said === "string" ? said : JSON.stringify(said)) }); await turn(); };
  made.later = async () => { t.mock.timers.tick(2000); await turn(); };
  made.ask = async () => { made.bets.go(); const { number } = made.reports.at(-1)[1]; made.bets.receiveQuestion({ ...MADE, number }); await turn(); };
  return made;
}

const told = (version, more = null) => ({ version, address: "/", question: more && { number: 1, text: MADE.text, voted: 0, ...more }, score: { asked: 0 } });

test("a question that is taken back before the room has it is closed once it has, however often that takes", async (t) => {
  const { bets, asked, answer, later, ask, reports } = lecturer(t);
  await ask();
  bets.pressed("Escape", {});
  assert.deepEqual([asked, bets.isOpen(), reports.at(-1)], [["/ask"], false, ["close", { guess: false, step: 2 }]]);
  await answer(204);
  assert.deepEqual(asked, ["/ask", "/close"]);
  bets.receiveRoomState(told(1, {})); // the stream still has it
  await answer(503);
  await later();
  assert.deepEqual(asked, ["/ask", "/close", "/close"]);
  await ask(); // the next one waits for it
  assert.equal(asked.length, 3);
  await answer(204);
  assert.equal(asked.at(-1), "/ask");
});

test("nothing is revealed that was not asked, and what is revealed already is not asked for again", async (t) => {
  const { bets, asked, answer, later, ask } = lecturer(t);
  await ask();
  bets.go();
  assert.deepEqual(asked, ["/ask"]);
  await answer(204);
  assert.ok(bets.isUnconfirmed());
  await answer(200, told(4, {}));
  assert.ok(!bets.isUnconfirmed());
  bets.go();
  await answer(503);
  await later();
  assert.deepEqual(asked.slice(2), ["/reveal", "/reveal"]);
  await answer(400);
  await answer(200, told(5, { answer: "il", votes: {}, model: [0.6, 0.4] }));
  await later();
  assert.deepEqual(asked.slice(4), ["look"]);
});

test("a question of its own room that a page does not know is closed", async (t) => {
  const { bets, asked, answer } = lecturer(t);
  bets.receiveRoomState(told(7, {}));
  await turn();
  assert.deepEqual(asked, ["/close"]);
  await answer(204);
  bets.receiveRoomState(told(8));
  await turn();
  assert.equal(asked.length, 1);
});
