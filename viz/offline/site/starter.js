// Runs the compressed script of the page.

(async () => {
  const status = document.getElementById("status");
  if (!globalThis.DecompressionStream) { status.textContent = "This browser is too old. Use Firefox 114, Chrome 80, Safari 16.4 or later."; return; }
  const text = document.getElementById("app").textContent.trim(), bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const script = document.createElement("script");
  script.textContent = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text();
  document.head.append(script); // the body is still being read: what stands behind an element tells that it is complete
})();
