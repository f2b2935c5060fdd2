// Which lessons this browser has seen solved. It is kept here alone; where the browser keeps nothing, until the page is left.

const KEY = "attention-lab-lessons";
const forNow = new Set();

export function solvedLessons() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    if (Array.isArray(kept)) for (const name of kept) if (typeof name === "string") forNow.add(name);
  } catch { /* nothing is kept, or something else is */ }
  return forNow;
}

export function keepSolved(name) {
  if (solvedLessons().has(name)) return;
  forNow.add(name);
  try {
    localStorage.setItem(KEY, JSON.stringify([...forNow]));
  } catch { /* it holds until the page is left */ }
}

// A link that is followed without leaving the page, unless it is to be opened elsewhere.
export function followed(link, go) {
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go();
  };
  return link;
}
