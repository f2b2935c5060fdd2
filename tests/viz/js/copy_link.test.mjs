import assert from "node:assert/strict";
import test from "node:test";
import { copyLink, linkFor } from "../../../viz/kit/copy_link.js";

const SHARED = "http://192.168.1.20:8501";
const from = (href) => new URL(href);

// A page of which each way of copying works or does not, and what came of copying there.
async function pageThat({ clipboard, command, href = "http://192.168.1.20:8501/heads?layer=3#x", shared = "" }) {
  const page = { written: [], selected: [], shown: null };
  const element = () => ({
    style: {}, setAttribute() {}, focus() {}, matches: () => false, remove() { page.shown = null; },
    select() { page.selected.push(this.value); },
  });
  const node = { ...element(), hidden: false, textContent: "Copy link", after(box) { page.shown = box; } };
  const navigator = clipboard === undefined ? {} : { clipboard: { writeText: async (text) => { if (!clipboard) throw new Error("denied"); page.written.push(text); } } };
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  globalThis.window = { location: from(href) };
  globalThis.document = {
    activeElement: node, body: { append() {} }, createElement: element, querySelector: () => ({ content: shared }),
    execCommand: (name) => { assert.equal(name, "copy"); if (command === undefined) throw new Error("not known"); return command; },
  };
  await copyLink(node);
  return { ...page, node };
}

test("a link that this machine alone knows leads others to where they find the lab", () => {
  for (const host of ["127.0.0.1:8501", "localhost:8501", "lab.localhost:8501", "[::1]:8501", "127.1.2.3:80"]) {
    assert.equal(linkFor(from(`http://${host}/heads?text=a%20b&step=2#x`), SHARED), `${SHARED}/heads?text=a%20b&step=2#x`);
    assert.equal(linkFor(from(`http://${host}/heads`), ""), new URL(`http://${host}/heads`).href);
  }
  for (const href of ["http://192.168.1.9:8501/?a=b", "https://lab.example.org/why?step=2", "http://localhost.evil.example/"]) assert.equal(linkFor(from(href), SHARED), href);
});

test("where there is no clipboard, as without https, what is selected is copied", async () => {
  const page = await pageThat({ command: true });
  assert.deepEqual(page.selected, ["http://192.168.1.20:8501/heads?layer=3#x"]);
  assert.equal(page.node.textContent, "Copied");
  assert.equal(page.shown, null);
});

test("where nothing copies, the link is shown, selected, until it is left", async () => {
  for (const ways of [{ clipboard: false, command: false }, { command: undefined }]) {
    const page = await pageThat({ ...ways, href: "http://localhost:8501/why", shared: SHARED });
    assert.equal(page.shown.value, `${SHARED}/why`);
    assert.equal(page.selected.at(-1), `${SHARED}/why`);
    assert.ok(page.node.hidden);
    page.shown.onblur();
    assert.ok(!page.node.hidden);
    assert.equal(page.node.textContent, "Copy link");
  }
});

test("a clipboard that can be written to has the link, and nothing is selected for it", async () => {
  const page = await pageThat({ clipboard: true });
  assert.deepEqual([page.written, page.selected], [["http://192.168.1.20:8501/heads?layer=3#x"], []]);
});
