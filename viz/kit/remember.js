// What this browser alone remembers. Where it refuses to keep anything, it holds until the page is left.

const PREFIX = "attention-lab-";
const forNow = (name) => `attentionLab${name[0].toUpperCase()}${name.slice(1)}`;

export function remembered(name) {
  try {
    const stored = localStorage.getItem(PREFIX + name);
    if (stored != null) return stored;
  } catch { /* refused */ }
  return document.documentElement.dataset[forNow(name)] ?? null;
}

export function remember(name, text) {
  document.documentElement.dataset[forNow(name)] = text;
  try {
    localStorage.setItem(PREFIX + name, text);
  } catch { /* refused, or full */ }
}
