// Sends the view to the room: the latest value of each kind, one request at a time, at most ten a second.

const PAUSE_MS = 100; // ms
const RETRY_MS = [1000, 2000, 4000, 8000]; // ms before a failed request is repeated

// `send` gets the changes and returns true if they arrived or never can; `later` is setTimeout.
export function sending({ send, later = (call, ms) => setTimeout(call, ms), now = () => performance.now() }) {
  let pending = {}, planned = false, busy = false, failed = 0, free = 0;
  const plan = () => {
    if (planned || busy || !Object.keys(pending).length) return;
    planned = true;
    later(run, Math.max(0, free - now()));
  };
  async function run() {
    planned = false;
    const change = pending;
    if (!Object.keys(change).length) return;
    pending = {};
    busy = true;
    free = now() + PAUSE_MS;
    const isSent = await send(change);
    busy = false;
    if (isSent) failed = 0;
    else {
      pending = { ...change, ...pending };
      free = now() + RETRY_MS[Math.min(failed, RETRY_MS.length - 1)];
      failed += 1;
    }
    plan();
  }
  return {
    show(change) { pending = { ...pending, ...change }; plan(); },
    forget() { pending = {}; },
  };
}
