// Serves the site without a network. Each file of the model has its digest in its name; of the others a newer one replaces the stored one.

const STORE = "attention-lab";
const { page, model } = { page: [], model: [] }; // Python sets the names of the files

globalThis.addEventListener("install", (event) => {
  event.waitUntil(caches.open(STORE).then((store) => store.addAll(page)).then(() => globalThis.skipWaiting()));
});

globalThis.addEventListener("activate", (event) => {
  const known = new Set([...page, ...model].map((name) => new URL(name, globalThis.location.href).href));
  event.waitUntil(caches.open(STORE).then(async (store) => {
    for (const request of await store.keys()) if (!known.has(request.url)) await store.delete(request);
    await globalThis.clients.claim();
  }));
});

globalThis.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== globalThis.location.origin) return;
  const stored = () => caches.match(request, { ignoreSearch: true });
  if (model.some((name) => request.url.endsWith(name))) event.respondWith(stored().then((found) => found ?? fetch(request)));
  else event.respondWith(fetch(request).catch(async () => (await stored()) ?? Response.error()));
});
