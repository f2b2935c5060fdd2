// A phone whose vote is late, or refused: what the room took is judged.

import assert from "node:assert/strict";
import test from "node:test";

// As much of a page as a card needs.
class Node {
  constructor(name) { Object.assign(this, { name, kids: [], dataset: {}, style: { setProperty() {} }, own: "", className: "", hidden: false }); }
  get textContent() { return this.own + this.kids.map((each) => each.textContent ?? each).join(""); }
  set textContent(text) { this.own = text; this.kids = []; }
  get classList() { return { add() {}, remove() {}, toggle() {} }; }
  append(...kids) { this.kids.push(...kids); }
  replaceChildren(...kids) { this.kids = kids; }
  setAttribute() {}
  after() {}
  focus() {}
  contains() { return true; }
  all() { return this.kids.flatMap((each) => (each instanceof Node ? [each, ...each.all()] : [])); }
  querySelectorAll(selector) { return this.all().filter((each) => each.className.split(" ").includes(selector.slice(1))); }
  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }
}
globalThis.document = { createElement: (name) => new Node(name), activeElement: null };
const { bets } = await import("../../../viz/classroom/rooms/follow_bet.js");

const OPEN = { number: 1, kind: "head", text: "Which?", options: ["a", "b"], voted: 0 }, SHOWN = { ...OPEN, voted: 1, answer: "a", votes: { a: 1, b: 0 }, model: [0.7, 0.3] };
const turn = async () => { for (let n = 0; n < 9; n += 1) await null; };

function phone() {
  const box = new Node("section"), sent = [], kept = new Map();
  const mine = bets(box, { vote: () => new Promise((done) => { sent.push(done); }), storedBets: { get: (n) => kept.get(n) ?? { word: "", sure: 0 }, set: (n, word, sure) => kept.set(n, { word, sure }), judged: (_, right) => ({ bets: 1, right: Number(right) }) }, longest: 40, onClose() {} });
  mine.show(OPEN, { asked: 0 }, false);
  const choose = (word) => box.querySelectorAll(".option").find((each) => each.textContent === word).onclick();
  const tap = (word) => { choose(word); box.querySelectorAll(".step")[1].onclick(); };
  return { choose, tap, sent, unlocked: () => mine.isUnlocked(), show: (now) => mine.show(now, { asked: 1 }, false), verdict: () => box.querySelector(".verdict").textContent };
}

test("a vote that the room did not take is not judged, one that arrives late is judged then", async () => {
  const { tap, sent, show, verdict } = phone();
  tap("b");
  sent[0]("");
  await turn();
  tap("a");
  show(SHOWN);
  assert.equal(verdict(), "You answered “b”, fairly sure."); // the second one is under way
  sent[1]("The answer is known by now.");
  await turn();
  assert.equal(verdict(), "You answered “b”, fairly sure. Your answer “a” was not counted.");
  const other = phone();
  other.tap("a");
  other.show(SHOWN);
  assert.equal(other.verdict(), "You did not answer this time.");
  other.sent[0]("");
  await turn();
  assert.equal(other.verdict(), "You were right.");
});

test("an answer is sent with its confidence, and the lab's own view stays locked until then", async () => {
  const { choose, sent, show, verdict, unlocked } = phone();
  choose("a");
  assert.deepEqual([sent.length, unlocked()], [0, false]);
  show(SHOWN);
  assert.equal(verdict(), "Your answer “a” was not sent: you did not say how sure you are.");
  const other = phone();
  other.tap("a");
  other.sent[0]("");
  await turn();
  assert.equal(other.unlocked(), true);
  other.choose("b"); // without a new confidence the first answer counts
  other.show(SHOWN);
  assert.equal(other.verdict(), "You were right.");
});
