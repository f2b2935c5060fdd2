// The first trace, which Python stores in the page, as `traceOf` of trace.js gives it. The page needs no engine to read it. Its weights
// arrive in two parts: those of the first picture, then all others.

const LEVELS = 4095; // of a stored weight

/** Returns the trace without the weights of any site. */
export const readTrace = (stored) => ({ ...stored, attention: {} });

/** Adds sites to a trace; `weights` are their bytes of trace_schema.py, `allowed` are digits, one mask for all heads. */
export function addSites(trace, stored, sites, weights) {
  const count = weights.length / 2;
  const found = { ...trace.attention };
  let next = 0;
  for (const site of sites) {
    const { shape, allowed } = stored.attention[site];
    const size = shape[0] * shape[1] * shape[2], numbers = new Float32Array(size), mask = new Uint8Array(size);
    for (let n = 0; n < size; n += 1) {
      mask[n] = allowed.charCodeAt(n % allowed.length) & 1;
      if (!mask[n]) continue;
      numbers[n] = (weights[next] * 256 + weights[count + next]) / LEVELS; // high bytes, then low bytes
      next += 1;
    }
    found[site] = { shape, weights: numbers, allowed: mask };
  }
  trace.attention = Object.fromEntries(Object.keys(stored.attention).filter((site) => found[site]).map((site) => [site, found[site]])); // in the order of the layers
}
