import assert from "node:assert/strict";
import test from "node:test";

import { remoteFields } from "../../../viz/offline/remote_fields.js";
import { watchHistory } from "../../../viz/kit/one_entry.js";
import { codeOf, counted, delay, labLink, local, meant, parted, placeOf, viewKey, shares, standing, typedIn } from "../../../viz/classroom/rooms/follow_parts.js";
import { percent100, scored, tallied } from "../../../viz/classroom/bet_parts.js";

const CODES = { letters: "23456789ABCDEFGHJKMNPQRSTUVWXYZ", length: 6 };

test("a code is understood as it is typed on a phone", () => {
  for (const typed of ["KX234Z", "kx234z", " kx-23 4z ", "Kx 23–4z"]) assert.equal(codeOf(typed, CODES), "KX234Z");
  for (const typed of ["", "KX234", "KX2345Z", "KX2O4Z", "<b>abc"]) assert.equal(codeOf(typed, CODES), null);
});

test("who explores takes the view along, and nothing of the lecturer's", () => {
  const address = "/heads?layer=3&lecture=on&large=2&talk=~abc&stop=2&text=a+%26+b";
  assert.equal(labLink(address, "KX234Z"), "/heads?layer=3&text=a+%26+b&room=KX234Z");
  assert.deepEqual(placeOf(address), { page: "heads", query: { layer: "3", lecture: "on", large: "2", talk: "~abc", stop: "2", text: "a & b" } });
  assert.equal(viewKey("/heads?stop=2&layer=3&guess=first"), viewKey("/heads?layer=3&lecture=on"));
  assert.notEqual(viewKey("/heads?layer=3"), viewKey("/heads?layer=4"));
});

test("no address leads out of the lab", () => {
  for (const address of ["/.//evil.example/x", "//evil.example/x", "/x/..//evil.example", "/%2e//evil.example", "//", "https://evil.example/", "/\\\\evil.example"]) {
    const url = new URL(labLink(address, "KX234Z"), "http://lab");
    assert.equal(url.origin + url.pathname, "http://lab/", address);
    assert.equal(local(address).pathname, "/", address);
    assert.equal(viewKey(address), "/");
  }
});

test("a code that cannot be read is none, and no fault", () => {
  assert.equal(typedIn("/follow/KX%20234Z"), "KX 234Z");
  assert.equal(typedIn("/follow/100%"), "100%");
  assert.equal(typedIn("/follow"), "");
});

test("the way to another page is watched once, however often the page is run", () => {
  const push = () => {}, history = { pushState: push, replaceState() {} }, window = new EventTarget();
  Object.assign(globalThis, { history, window });
  const ends = [watchHistory(), watchHistory(), watchHistory()];
  ends[0]();
  assert.notEqual(history.pushState, push);
  ends[2]();
  assert.equal(history.pushState, push);
});

test("phones come back at different times, sooner at first", () => {
  const spread = [0, 1, 99].map((tries) => [delay(tries, 0), delay(tries, 1)]);
  assert.deepEqual(spread, [[0.75, 1.25], [1.5, 2.5], [9, 15]]);
});

test("what is asked stands before what it is asked about", () => {
  assert.deepEqual(parted("What comes next? Is it ___"), ["What comes next?", "Is it ___"]);
  assert.deepEqual(parted("Which head links “?” and “dog”?"), ["Which head links “?” and “dog”?", ""]);
});

test("a typed word is the answer that it means", () => {
  assert.equal(meant(" Qu’il ", ["que", "qu'il"]), "qu'il");
  assert.equal(meant("elle", ["…elle"]), "…elle");
  assert.equal(meant(" Chat ", ["que"]), "Chat");
});

test("the class and the model are told as shares, and words of one's own are not lost", () => {
  const rows = shares({ options: ["il", "elle"], model: [0.75, 0.25], answer: "il", voted: 8, votes: { il: 2, chat: 1, chien: 1 }, others: 4 });
  assert.deepEqual(rows, [
    { word: "il", votes: 2, share: 0.25, model: 0.75, right: true }, { word: "elle", votes: 0, share: 0, model: 0.25, right: false },
    { word: "other words", votes: 6, share: 0.75, model: null, right: false },
  ]);
  assert.deepEqual(shares({ options: ["il", "elle"], model: [0.7, 0.3], answer: "il", voted: 0, votes: {} }).map(({ share }) => share), [0, 0]);
  const one = { options: ["il"], model: [1], answer: "il", voted: 3, votes: { il: 2, chat: 1 } };
  assert.equal(shares(one).at(-1).word, "chat");
  assert.equal(shares({ ...one, voted: 4, others: 1 }).at(-1).word, "other words");
  assert.deepEqual(tallied(one, one).rows, shares(one).slice(0, 1)); // the beamer tells the same
  assert.deepEqual([0, 0.001, 0.5, 0.999, 1].map(percent100), ["0%", "< 1%", "50%", "> 99%", "100%"]);
  assert.deepEqual([0, 1, 31].map(counted), ["No votes yet", "1 has voted", "31 have voted"]);
  assert.equal(scored({ asked: 1, people: 1, model: 1 }), "");
  assert.match(scored({ asked: 2, people: 1, model: 0.5 }), /2 questions: class 50% \(votes\), model 25% .*\)\.$/);
  assert.match(scored({ asked: 3, people: 1, model: 0.5 }, { bets: 2, right: 1 }), /You: 1 of 2 right\.$/);
});

const VIEW = {
  steps: 9, asked: { text: "A dog." }, defaults: { step: "1", layer: "3", head: "2", rows: "steps", mass: "75" }, state: { layer: 3, head: 2, step: 5, rows: "steps" },
  led: { step: { parameter: "step", default: 1, values: {} }, rows: { parameter: "rows", default: "steps", values: { steps: "steps", shifted: "shifted" } } },
  choices: [{ fields: ["layer", "head"], options: { "[3,2]": [0, { layer: null, head: null }], "[4,null]": [1, { layer: "4", head: "mean" }] } }],
};

test("a document shows what it holds, wherever the lecturer is in it", () => {
  const of = (query) => remoteFields({ text: "A dog.", ...query }, VIEW.asked, VIEW);
  assert.deepEqual(of({ step: "7", layer: "4", head: "mean" }), { step: 7, rows: "steps", layer: 4, head: null });
  assert.deepEqual(of({}), { step: 1, rows: "steps", layer: 3, head: 2 });
  assert.equal(of({ step: "12" }).step, 9);
  assert.deepEqual(of({ lecture: "on", large: "3", talk: "x", stop: "3", room: "KX234Z", lesson: "cell", guess: "first" }), of({}));
});

test("for what it does not hold another document is needed", () => {
  for (const query of [{ text: "A cat." }, { text: "A dog.", edits: "off_cross.3" }, {}, { text: "A dog.", layer: "4" }, { text: "A dog.", step: "x" }, { text: "A dog.", rows: "no" }]) {
    assert.equal(remoteFields(query, VIEW.asked, VIEW), null, JSON.stringify(query));
  }
});

test("what holds anyway may be stated or left out", () => {
  assert.deepEqual(remoteFields({ text: "A dog.", layer: "3", head: "2", rows: "steps", mass: "75" }, VIEW.asked, VIEW), remoteFields({ text: "A dog." }, VIEW.asked, VIEW));
  const fixed = { ...VIEW, led: {} };
  assert.deepEqual(remoteFields({ text: "A dog.", step: "1" }, VIEW.asked, fixed), { layer: 3, head: 2 });
  assert.equal(remoteFields({ text: "A dog.", step: "2" }, VIEW.asked, fixed), null);
});

test("a phone says live only while the lecturer is connected", () => {
  const said = (stream, exploring, away) => standing({ stream, exploring, away });
  assert.equal(said("live", false, false), "live");
  assert.equal(said("live", false, true), "paused");
  assert.equal(said("live", true, true), "your view");
  assert.equal(said("joins", false, false), "joining");
  for (const stream of ["away", "refused"]) assert.equal(said(stream, true, true), "paused");
});
