// Which lessons this browser has seen solved, and links that are followed without leaving the page.

import { storePreference, readPreference } from "../kit/remember.js";

export function solvedLessons() {
  try {
    const kept = JSON.parse(readPreference("lessons") ?? "[]");
    return new Set(Array.isArray(kept) ? kept.filter((name) => typeof name === "string") : []);
  } catch {
    return new Set(); // something else is kept under this name
  }
}

export function keepSolved(name) {
  const solved = solvedLessons();
  if (!solved.has(name)) storePreference("lessons", JSON.stringify([...solved, name]));
}

// A link that opens elsewhere where the visitor asks for that, and here by `go`.
export function followed(link, go) {
  link.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go();
  };
  return link;
}
