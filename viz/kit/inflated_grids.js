// Unpacks the weights of thumbnails, which `thumbnails.py` packs, and keeps those of the last pages.

const MAX_KEPT = 4;
const keptGrids = (globalThis.attentionLabThumbnails ??= new Map()); // id of the thumbnails: grids with raw bytes

// Returns the grids with their weights as bytes, or a promise of them where the bytes are compressed.
export function inflatedGrids({ id, grids }) {
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
