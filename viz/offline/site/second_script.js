// Loads the second script of the page, later.js. The page's policy has its hash, so that no other text of that address runs.

const FAULT = "This view did not load. Check the connection, or reload the page.";

/** Returns a function that loads the script and returns its views; a call after a failure tries again. */
export function secondScript(url) {
  let views = null;
  return () => {
    views ??= loadViews(url).catch(() => { views = null; throw new Error(FAULT); });
    return views;
  };
}

async function loadViews(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`status ${response.status}`);
  const script = document.createElement("script");
  script.textContent = await response.text();
  document.body.append(script);
  if (!globalThis.attentionLabViews) throw new Error("incomplete"); // the hash of a broken download differs
  return globalThis.attentionLabViews;
}
