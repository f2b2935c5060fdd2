// The presenter view: its clock, its notes as the server stores them, the stops that it shows, and commands by way of the room.

import assert from "node:assert/strict";
import test from "node:test";

import { screenLink } from "../../../viz/classroom/room_phone.js";
import { onCommand } from "../../../viz/classroom/room_state.js";
import { clockText, keyOf, nowAndNext, shortTalk, storedForm, storedNotes } from "../../../viz/classroom/rooms/presenter_parts.js";

test("the clock counts minutes, then hours", () => {
  assert.deepEqual([0, 59_999, 245_000, 3_845_000, -5].map(clockText), ["0:00", "0:59", "4:05", "1:04:05", "0:00"]);
});

test("notes count as stored where only spaces differ", () => {
  assert.equal(storedForm(" Ask.  Then \r\n\n wait\t10 s. \n"), "Ask. Then\n\nwait 10 s.");
});

test("before the first stop the next one is the first, and behind the last there is none", () => {
  const talk = { stops: [{ page: "Heads" }, { page: "Why" }] };
  assert.deepEqual(nowAndNext(talk, 0), { now: null, next: { page: "Heads", number: 1 }, count: 2 });
  assert.deepEqual(nowAndNext(talk, 2), { now: { page: "Why", number: 2 }, next: null, count: 2 });
  assert.deepEqual(nowAndNext(null, 0), { now: null, next: null, count: 0 });
});

test("only this stop, the next one and the notes written last leave the screen", () => {
  const talk = { title: "T", fault: "", stops: [1, 2, 3, 4].map((n) => ({ page: `P${n}`, line: `L${n}`, notes: `N${n}` })) };
  const short = shortTalk(talk, 2, 1);
  assert.deepEqual(short, { title: "T", fault: "", count: 4, now: { page: "P2", line: "L2", notes: "N2", number: 2 }, next: { page: "P3", line: "L3" }, saved: { number: 1, notes: "N1" } });
  assert.deepEqual([1, 2, 3].map((number) => storedNotes(short, number)), ["N1", "N2", undefined]);
  assert.deepEqual([shortTalk(talk, 2, 2).saved, shortTalk(talk, 2).saved, shortTalk(talk, 4).next, shortTalk(null, 1)], [null, null, null, null]);
});

test("a link without its code or secret is no key", () => {
  assert.deepEqual(keyOf("#KX234Z.abcdefgh_ijklmno-p"), { code: "KX234Z", secret: "abcdefgh_ijklmno-p" });
  for (const wrong of ["", "#", "#KX234Z", "#KX234Z.short", "#KX234.abcdefghijklmnopq", "#KX234Z.abcdefghijklmnop/../x", "#KX234Z.abcdefghijklmnop?a"]) assert.equal(keyOf(wrong), null);
});

// A page that takes commands, and a room that answers; `news` is what the room sends.
function screenOf(t, state = { openRoom: { code: "KX234Z", secret: "s" }, mine: true, data: {} }) {
  const made = { state, taken: [], posted: [], answers: [], due: [] };
  globalThis.document ??= new EventTarget();
  globalThis.CustomEvent ??= class extends Event { constructor(name, { detail, ...more }) { super(name, more); this.detail = detail; } };
  made.arrive = () => { made.leave = onCommand(({ number }) => made.taken.push(number)); };
  made.arrive();
  t.after(() => made.leave());
  t.mock.method(globalThis, "fetch", async (path, { body }) => {
    made.posted.push(JSON.parse(body).state);
    const [status, text] = made.answers.shift() ?? [204, null];
    return new Response(text, { status });
  });
  made.link = screenLink(state, (call) => made.due.push(call));
  made.news = (newest, ...numbers) => made.link.receive({ newest, commands: numbers.map((number) => ({ number, action: "next" })) }, Date.now());
  made.sendAll = async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      for (const call of made.due.splice(0)) await call();
      await new Promise((next) => { setTimeout(next); });
    }
  };
  t.after(() => made.link.forget());
  return made;
}

test("each command is passed on once, also after a reload and after a reconnect", (t) => {
  const made = screenOf(t);
  made.news(7, 6, 7); // a reloaded page: the one before it had these
  made.news(7, 6, 7);
  made.news(9, 7, 8, 9);
  made.news(9, 8, 9); // the stream has connected again
  assert.deepEqual(made.taken, [8, 9]);
  made.news(3); // a restarted server that has lost some
  made.news(4, 4);
  assert.deepEqual(made.taken, [8, 9, 4]);
  screenLink(made.state).receive({ newest: 5, commands: [{ number: 4 }, { number: 5 }] }, Date.now()); // another page of the lab
  assert.deepEqual(made.taken, [8, 9, 4, 5]);
  made.link.forget(); // another tab had the room
  made.news(8, 6, 7, 8);
  assert.deepEqual(made.taken, [8, 9, 4, 5]);
  made.state.openRoom = { code: "ABCDEF", secret: "s" };
  made.news(9, 9);
  assert.deepEqual(made.taken, [8, 9, 4, 5]);
});

test("a command waits for the page that takes it", async (t) => {
  const made = screenOf(t);
  made.news(0);
  made.leave(); // the page is being mounted
  made.news(2, 1, 2);
  made.link.show({ number: 1 });
  await made.sendAll();
  assert.deepEqual([made.taken, made.posted.at(-1).done], [[], 0]);
  made.arrive();
  made.link.show({ number: 2 });
  await made.sendAll();
  assert.deepEqual([made.taken, made.posted.at(-1)], [[1, 2], { number: 2, done: 2 }]);
});

test("only the active tab sends its state, each state once, the time by the server's clock", async (t) => {
  const made = screenOf(t);
  made.link.show({ number: 1 });
  made.link.receive({ newest: 1, commands: [] }, Date.now() + 60_000);
  made.link.show({ number: 1, begun: 5000 });
  await made.sendAll();
  made.link.show({ number: 1, begun: 5000 });
  await made.sendAll();
  assert.equal(made.posted.length, 1);
  made.state.mine = false;
  made.link.show({ number: 2, begun: 5000 });
  await made.sendAll();
  assert.equal(made.posted.length, 1);
  assert.ok(Math.abs(made.posted[0].begun - 65_000) < 5000);
});

test("a state that the room refuses says so on the phone", async (t) => {
  const made = screenOf(t);
  made.news(1);
  made.answers.push([400, "Shorten the notes."]);
  made.link.show({ number: 1, talk: { title: "T" } });
  await made.sendAll();
  assert.deepEqual(made.posted.at(-1), { number: 1, talk: null, fault: "Shorten the notes.", done: 1 });
});
