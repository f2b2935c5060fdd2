// Reads the arrays that packed.py writes.

export const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

// Splits a flat array of numbers into `m` rows of `n`.
export const rowsOf = (flat, [m, n]) => Array.from({ length: m }, (_, i) => Array.from(flat.slice(i * n, (i + 1) * n), Number));
