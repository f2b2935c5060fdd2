// Arrays as packed.py writes them.

export const floats = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

// A flat array of numbers as rows of so many.
export const rowsOf = (flat, [m, n]) => Array.from({ length: m }, (_, i) => Array.from(flat.slice(i * n, (i + 1) * n), Number));
