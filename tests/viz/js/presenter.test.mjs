// The presenter view: its clock, its notes as the server stores them, and the stops that it shows.

import assert from "node:assert/strict";
import test from "node:test";

import { clockText, nowAndNext, storedForm } from "../../../viz/classroom/rooms/presenter_parts.js";

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
