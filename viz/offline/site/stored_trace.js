// The first trace, which Python stores in the page, as `traceOf` of trace.js gives it. The page needs no engine to read it.

const LEVELS = 4095; // of a stored weight

/** Returns the trace; `weights` are the bytes of trace_schema.py, `allowed` are digits, one mask for all heads. */
export function readTrace(stored, weights) {
  const attention = {}, count = weights.length / 2;
  let next = 0;
  for (const [site, { shape, allowed }] of Object.entries(stored.attention)) {
    const size = shape[0] * shape[1] * shape[2], numbers = new Float32Array(size), mask = new Uint8Array(size);
    for (let n = 0; n < size; n += 1) {
      mask[n] = allowed.charCodeAt(n % allowed.length) & 1;
      if (!mask[n]) continue;
      numbers[n] = (weights[next] * 256 + weights[count + next]) / LEVELS; // high bytes, then low bytes
      next += 1;
    }
    attention[site] = { shape, weights: numbers, allowed: mask };
  }
  return { ...stored, attention };
}
