// The worker of the model, as promises. A newer translation replaces an older one that has not begun.

const NO_WORKER = "This browser cannot start the model (it needs module workers: Firefox 114, Chrome 80, Safari 15 or later). The first sentence can be explored without it.";

export function engineWorker(url) {
  const waiting = new Map(); // id: { resolve, reject, report }
  let worker = null, count = 0;

  function fail(text) {
    for (const { reject } of waiting.values()) reject(new Error(text));
    waiting.clear();
  }

  try {
    worker = new Worker(url, { type: "module" });
    worker.onerror = (event) => { event.preventDefault?.(); fail(NO_WORKER); };
    worker.onmessage = ({ data: { id, ...rest } }) => {
      const asked = waiting.get(id);
      if (!asked) return;
      if ("loaded" in rest || "cuts" in rest) { asked.report?.(rest); return; }
      waiting.delete(id);
      if ("fault" in rest) asked.reject(new Error(rest.fault));
      else asked.resolve(rest);
    };
  } catch {
    worker = null;
  }

  /** Asks the worker; `report` receives how far it is. */
  return (ask, values, report) => new Promise((resolve, reject) => {
    if (!worker) { reject(new Error(NO_WORKER)); return; }
    const id = count += 1;
    waiting.set(id, { resolve, reject, report });
    worker.postMessage({ id, ask, ...values });
  });
}
