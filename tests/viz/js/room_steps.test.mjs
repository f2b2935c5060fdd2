import assert from "node:assert/strict";
import test from "node:test";
import { publishStep } from "../../../viz/kit/mount.js";
import { mountRoom } from "../../../viz/classroom/room.js";

const ROOM = { code: "KX234Z", secret: "s" };
const DATA = { page: "", longest: 1000, whole: true, tooLong: "", served: true, lecture: false, exploring: false, question: null, alone: "" };
const answered = async () => { for (let turn = 0; turn < 20; turn += 1) await null; }; // a request has its answer

// A lecturer's page with an open room, whose clock a test moves. `sent` are the addresses that followers get.
function lecturer(t) {
  const sent = [], root = { dataset: {}, style: { setProperty() {} } };
  let time = 0; // ms
  t.mock.timers.enable({ apis: ["setTimeout"] });
  t.mock.method(performance, "now", () => time);
  t.mock.method(globalThis, "fetch", async (path, { body }) => {
    if (path.endsWith("/events")) return new Promise(() => {});
    const { address } = JSON.parse(body);
    if (address) sent.push(address);
    return new Response(null, { status: 204 });
  });
  globalThis.document = Object.assign(new EventTarget(), { visibilityState: "visible", querySelector: () => null, documentElement: { dataset: {}, toggleAttribute() {} } });
  globalThis.window = Object.assign(new EventTarget(), { location: { protocol: "http:", host: "lab", hostname: "lab" } });
  globalThis.attentionLabMemory.set("attention-lab-room", JSON.stringify(ROOM));
  let end = null;
  return {
    sent,
    show(text, pageStep) { end = mountRoom({ data: { ...DATA, query: { text }, pageStep }, parentElement: { querySelector: () => root }, setTriggerValue() {} }); },
    async pass(ms) { for (let passed = 0; passed < ms; passed += 1) { time += 1; t.mock.timers.tick(1); await answered(); } },
    end: () => end(),
  };
}

test("followers get a step with the address of its own page, never with that of the page before", async (t) => {
  const page = lecturer(t);
  publishStep("first", 3);
  page.show("First", 3);
  await page.pass(150);
  publishStep("first", 4); // of the page that is shown: at once
  await page.pass(150);
  assert.deepEqual(page.sent, ["/?text=First&step=3", "/?text=First&step=4"]);
  publishStep("second", 1); // the timeline of the next page is here before its address
  await page.pass(200);
  assert.equal(page.sent.length, 2);
  page.show("Second", 1);
  await page.pass(50);
  publishStep("second", 2);
  await page.pass(1000); // what waited does not lead back
  assert.deepEqual(page.sent.slice(2), ["/?text=Second&step=1", "/?text=Second&step=2"]);
  page.end();
});

test("a step is not lost if no other address comes", async (t) => {
  const page = lecturer(t);
  publishStep("first", 3);
  page.show("First", 3);
  await page.pass(150);
  publishStep("again", 7); // the same address, computed once more
  await page.pass(50);
  publishStep("again", 8); // the latest one counts
  await page.pass(1000);
  assert.deepEqual(page.sent, ["/?text=First&step=3", "/?text=First&step=8"]);
  publishStep("again", 9); // from now on it is the trace of this page
  await page.pass(150);
  assert.deepEqual(page.sent.slice(2), ["/?text=First&step=9"]);
  page.end();
});
