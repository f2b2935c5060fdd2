// Stores scripts, styles and payloads of all components by digest, and calls the components with them. See browser_store.py.
// The server puts this script into the first page; without that server it is the script of a component.

const RECENT = 4; // digests of a slot: an interrupted run may have sent one that the server does not name
const REST_MS = 150; // after a run, until a missing part is reported: its element may not be drawn yet

const texts = new Map(); // digest -> text
const recent = new Map(); // slot -> its last digests
const components = new Map(); // digest of assets -> { css, added, main }; `main` is a promise until the script has loaded
const latest = new WeakMap(); // root of a component -> arguments of its last call
const styled = new WeakMap(); // root of a component -> its style element
const waiting = new Map(); // root of a component without all of its parts -> functions that resume its calls
let report = () => {}, timer = 0, runs = null;

const decode = (bytes) => new TextDecoder().decode(bytes);

// Stores parts: each has three lines, its slot, its digest and its text.
function keep({ data }) {
  const lines = decode(data).split("\n");
  for (let n = 0; n < lines.length; n += 3) {
    const [slot, digest, text] = lines.slice(n, n + 3), digests = (recent.get(slot) ?? []).filter((each) => each !== digest);
    texts.set(digest, text);
    recent.set(slot, [...digests, digest].slice(-RECENT));
    const all = [...recent.values()].flat();
    for (const old of digests) if (!all.includes(old)) texts.delete(old);
  }
  for (const root of [...waiting.keys()]) resume(root);
}

// Continues the calls of a component: each looks for its parts again, or ends because a newer call has replaced it.
function resume(root) {
  const calls = waiting.get(root) ?? [];
  waiting.delete(root);
  for (const call of calls) call();
}

// Calls a component once all of its parts are there, unless a newer call has replaced this one. Returns its cleanup.
async function mount(args) {
  store.pending += 1;
  try { return await draw(args); } finally { store.pending -= 1; }
}

async function draw(args) {
  const { parentElement: root, data } = args, [{ parts, reports }] = data instanceof Uint8Array ? JSON.parse(decode(data)) : data;
  if (reports) reportThrough(args);
  latest.set(root, args);
  resume(root);
  while (parts.some((part) => typeof part === "string" && !texts.has(part))) {
    await new Promise((call) => { waiting.set(root, [...(waiting.get(root) ?? []), call]); reportLater(); });
    if (latest.get(root) !== args) return undefined;
  }
  const [assets, colours, ...payloads] = parts, component = components.get(assets) ?? load(assets);
  const values = payloads.map((part) => (typeof part === "string" ? JSON.parse(texts.get(part)) : structuredClone(part)));
  const payload = Object.assign({}, component.added, ...values), { style } = JSON.parse(texts.get(colours));
  payload.style = { ...style, ...payload.style };
  addStyle(root, component.css);
  const main = typeof component.main === "function" ? component.main : await component.main;
  return latest.get(root) === args ? main({ ...args, data: payload }) : undefined;
}

function load(assets) {
  const { css, script, added } = JSON.parse(texts.get(assets)), component = { css, added };
  const url = URL.createObjectURL(new Blob([`${script}\n//# sourceURL=attention-lab/${added.component}.js`], { type: "text/javascript" }));
  component.main = import(url).then((module) => (component.main = module.default));
  components.set(assets, component);
  return component;
}

function addStyle(root, css) {
  if (!css || styled.get(root)?.textContent === css) return;
  styled.get(root)?.remove();
  const style = document.createElement("style");
  style.textContent = css;
  root.append(style);
  styled.set(root, style);
}

function reportThrough({ setTriggerValue }) { // a component that is on every page
  report = () => setTriggerValue("missing", true);
  runs?.disconnect();
  runs = new MutationObserver(reportLater);
  runs.observe(document.querySelector(".stApp"), { attributes: true, attributeFilter: ["data-test-script-state"] });
}

const isRunning = () => document.querySelector(".stApp")?.dataset.testScriptState !== "notRunning";

function reportLater() { // a report during a run would interrupt it
  clearTimeout(timer);
  for (const root of [...waiting.keys()]) if (!root.isConnected) { latest.delete(root); resume(root); }
  if (waiting.size && !isRunning()) timer = setTimeout(() => { if (waiting.size && !isRunning()) report(); }, REST_MS);
}

// Receives the calls of all components; `pending` counts those that still wait for a part or for their script.
const store = { push: ([name, args, resolve]) => resolve({ keep, mount }[name](args)), pending: 0 }, calls = globalThis.attentionLabCalls;
globalThis.attentionLabCalls = store;
if (Array.isArray(calls)) calls.forEach(store.push);
