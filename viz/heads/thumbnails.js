// Keeps the thumbnails' weights for the view of all heads, which waits for them by their id; draws nothing.

import { ARRIVED, store } from "./thumbnails_parts.js";

const KEPT = 4;

export default function ({ data }) {
  const kept = store();
  if (kept.has(data.id)) return;
  const inflate = async (text, deflated) => {
    const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    if (!deflated) return bytes;
    const whole = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(whole).arrayBuffer());
  };
  Promise.all(data.grids.map(async (grid) => ({ ...grid, raw: await inflate(grid.bytes, grid.deflated), bytes: null }))).then((grids) => {
    kept.set(data.id, grids);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value);
    document.dispatchEvent(new CustomEvent(ARRIVED, { detail: data.id }));
  });
}
