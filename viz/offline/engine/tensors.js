// Numbers of the engine: a matrix is { data, rows, columns }, with its rows one after another in a Float32Array.
// Names and order follow model/network/, which this folder repeats in plain JavaScript.

/** Returns a matrix of zeros, or one of the given numbers. */
export function matrix(rows, columns, data = new Float32Array(rows * columns)) {
  return { data, rows, columns };
}

/** Returns the view of a row [D]. */
export function row(x, n) {
  return x.data.subarray(n * x.columns, (n + 1) * x.columns);
}

/** Returns x Wᵀ + b: [T,D] to [T,O], for weight [O,D] with O a multiple of 4, and bias [O] or none. */
export function linear(x, weight, bias) {
  const [outputs, width] = weight.shape;
  const y = matrix(x.rows, outputs);
  const [from, to, w] = [x.data, y.data, weight.data];
  for (let o = 0; o < outputs; o += 4) { // four outputs side by side: each number of x is read once for all
    const [w0, w1, w2, w3] = [o * width, (o + 1) * width, (o + 2) * width, (o + 3) * width];
    for (let t = 0; t < x.rows; t += 1) {
      const start = t * width;
      let [one, two, three, four] = [0, 0, 0, 0];
      for (let n = 0; n < width; n += 1) {
        const value = from[start + n];
        one += value * w[w0 + n];
        two += value * w[w1 + n];
        three += value * w[w2 + n];
        four += value * w[w3 + n];
      }
      const place = t * outputs + o;
      to[place] = one;
      to[place + 1] = two;
      to[place + 2] = three;
      to[place + 3] = four;
    }
  }
  if (bias) for (let t = 0; t < x.rows; t += 1) for (let o = 0; o < outputs; o += 1) to[t * outputs + o] += bias.data[o];
  return y;
}

/** Returns the sum of products of `length` numbers of a (from i) and of b (from j). Four sums run side by side. */
export function dot(a, i, b, j, length) {
  let [one, two, three, four] = [0, 0, 0, 0];
  const whole = length - (length % 4);
  for (let n = 0; n < whole; n += 4) {
    one += a[i + n] * b[j + n];
    two += a[i + n + 1] * b[j + n + 1];
    three += a[i + n + 2] * b[j + n + 2];
    four += a[i + n + 3] * b[j + n + 3];
  }
  for (let n = whole; n < length; n += 1) one += a[i + n] * b[j + n];
  return one + two + (three + four);
}

/** Returns a sum of two matrices of one shape; `factor` multiplies the second. */
export function add(x, y, factor = 1) {
  return matrix(x.rows, x.columns, x.data.map((value, n) => value + factor * y.data[n]));
}

/** Returns the layer norm of each row (Ba et al. 2016): mean 0 and variance 1, times `weight` plus `bias`. */
export function layerNorm(x, weight, bias, eps) {
  const y = matrix(x.rows, x.columns);
  for (let t = 0; t < x.rows; t += 1) {
    const values = row(x, t);
    const mean = values.reduce((sum, value) => sum + value, 0) / x.columns;
    const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.columns;
    const scale = 1 / Math.sqrt(variance + eps);
    values.forEach((value, n) => { y.data[t * x.columns + n] = (value - mean) * scale * weight.data[n] + bias.data[n]; });
  }
  return y;
}

/** Returns the logarithm of the sum of the exponentials of a row of logits. */
export function logSumExp(logits) {
  const largest = logits.reduce((one, other) => Math.max(one, other), -Infinity);
  return Math.log(logits.reduce((sum, value) => sum + Math.exp(value - largest), 0)) + largest;
}

/** Returns the log-softmax of a row of logits. */
export function logSoftmax(logits) {
  const total = logSumExp(logits);
  return logits.map((value) => value - total);
}
