// Loads the files of the model, and keeps them in the browser where it allows that, so that the next visit needs no network.

const STORE = "attention-lab";

async function storeOf() {
  try {
    return await caches.open(STORE);
  } catch {
    return null; // without https, or refused: the browser's own cache may still have the file
  }
}

/** Returns the bytes of a file, from the store or the network; `report` receives the bytes so far. */
export async function load(url, report = () => {}) {
  const store = await storeOf();
  const stored = await store?.match(url).catch(() => null);
  if (stored) return stored.arrayBuffer();
  const bytes = await fetched(url, report).catch(({ message }) => {
    throw new Error(`The model did not load (${url.split("/").at(-1)}: ${message}). Check the connection and translate again.`);
  });
  await store?.put(url, new Response(bytes)).catch(() => {}); // the storage may be full
  return bytes.buffer;
}

async function fetched(url, report) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const reader = response.body.getReader();
  const parts = [];
  let count = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count += value.length;
    report(count);
  }
  const bytes = new Uint8Array(count);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** Removes a file from the store, so that a broken one is loaded again. */
export async function forget(url) {
  await (await storeOf())?.delete(url).catch(() => {});
}
