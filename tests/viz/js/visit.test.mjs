import assert from "node:assert/strict";
import test from "node:test";
import { mountVisit } from "../../../viz/frame/visit.js";

const KEY = "0123456789abcdef0123456789abcdef";

// Runs a page in a tab, and returns the event that it sends and the key that the tab then has.
function run(stored, visit, isBlocked = false) {
  const items = new Map(stored ? [["attention-lab-visit", stored]] : []), guard = () => { if (isBlocked) throw new Error("denied"); };
  globalThis.sessionStorage = {
    getItem: (name) => { guard(); return items.get(name) ?? null; }, setItem: (name, text) => { guard(); items.set(name, text); }, removeItem: (name) => { guard(); items.delete(name); },
  };
  let sent = null;
  mountVisit({ data: { visit: { key: "", isAwaited: false, ...visit } }, setTriggerValue: (name, value) => { sent = [name, value]; } });
  return { sent, kept: items.get("attention-lab-visit") };
}

test("a tab without a visit sends nothing", () => {
  assert.deepEqual(run("", {}), { sent: null, kept: undefined });
});

test("a tab stores the key of its visit and sends it once, to a new session", () => {
  assert.deepEqual(run("", { key: KEY }), { sent: null, kept: KEY });
  assert.deepEqual(run(KEY, { key: KEY }), { sent: null, kept: KEY });
  assert.deepEqual(run(KEY, {}), { sent: ["visit", { key: KEY }], kept: undefined });
});

test("a session that waits gets an answer in any case", () => {
  assert.deepEqual(run("", { isAwaited: true }).sent, ["visit", { key: "" }]);
  assert.deepEqual(run(KEY, { isAwaited: true }, true).sent, ["visit", { key: "" }]);
});
