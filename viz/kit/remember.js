// Stores the preferences of this browser. Without local storage they last until the page is closed.

const PREFIX = "attention-lab-";
const fallbackKey = (name) => `attentionLab${name[0].toUpperCase()}${name.slice(1)}`;

export function readPreference(name) {
  try {
    const stored = localStorage.getItem(PREFIX + name);
    if (stored != null) return stored;
  } catch { /* local storage is blocked */ }
  return document.documentElement.dataset[fallbackKey(name)] ?? null;
}

export function storePreference(name, text) {
  document.documentElement.dataset[fallbackKey(name)] = text;
  try {
    localStorage.setItem(PREFIX + name, text);
  } catch { /* local storage is blocked or full */ }
}
