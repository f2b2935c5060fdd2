// Unpacks the weights of thumbnails, which `thumbnails.py` packs, and keeps those of the last pages: another head is drawn at once.

const MAX_KEPT = 4;
const keptGrids = (globalThis.attentionLabThumbnails ??= new Map()); // id of the thumbnails: grids with raw bytes

// Calls `start` with the grids once their weights are unpacked; until then the root is marked as waiting. Returns a function that ends it.
export function withInflatedGrids(data, root, start) {
  const grids = inflatedGrids(data);
  if (!(grids instanceof Promise)) return start(grids);
  let leave = () => {}, hasLeft = false;
  root.classList.add("waits");
  grids.then((ready) => { if (!hasLeft) leave = start(ready); });
  return () => { hasLeft = true; leave(); };
}

// Returns the grids with their weights as bytes, or a promise of them where the bytes are compressed.
function inflatedGrids({ id, grids }) {
  if (keptGrids.has(id)) return keptGrids.get(id);
  const keep = (every) => {
    keptGrids.set(id, every);
    if (keptGrids.size > MAX_KEPT) keptGrids.delete(keptGrids.keys().next().value);
    return every;
  };
  const bytesOf = ({ bytes }) => Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0));
  if (grids.every(({ deflated }) => !deflated)) return keep(grids.map((grid) => ({ ...grid, raw: bytesOf(grid), bytes: null })));
  return Promise.all(grids.map(async (grid) => {
    const stream = new Blob([bytesOf(grid)]).stream();
    const raw = grid.deflated ? await new Response(stream.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer() : bytesOf(grid);
    return { ...grid, raw: new Uint8Array(raw), bytes: null };
  })).then(keep);
}
