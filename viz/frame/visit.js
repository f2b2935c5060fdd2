// Keeps the key of the visit in this tab, so that trained and uploaded checkpoints are still there after a reload. See visits.py.

const KEY = "attention-lab-visit";

// Stores a new key. A new session without one gets the stored key, and a session that waits for an answer gets one in any case.
export function mountVisit({ data: { visit }, setTriggerValue }) {
  let stored = null;
  try {
    stored = sessionStorage.getItem(KEY);
    if (visit.key) sessionStorage.setItem(KEY, visit.key);
    else sessionStorage.removeItem(KEY); // it is sent once
  } catch { /* the storage is blocked: a reload begins a new visit */ }
  if (!visit.key && (stored || visit.isAwaited)) setTriggerValue("visit", { key: stored ?? "" });
}
