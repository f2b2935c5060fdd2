// Reads the weights of the model from a .safetensors file: { shape, data } by name, as the engine computes with them.

/** Returns the tensors of a .safetensors file by name: { shape, data }; they are float16, int8 with scales, or float32. */
export function readWeights(buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  const raw = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
    if (name !== "__metadata__") raw[name] = { shape, data: READERS[dtype](buffer.slice(start + from, start + to)) };
  }
  const weights = {};
  for (const [name, { shape, data }] of Object.entries(raw)) {
    if (name.endsWith(".scale")) continue;
    const scales = raw[`${name}.scale`]; // of int8: one number for each row
    weights[name] = { shape, data: scales ? scaled(data, scales.data, shape[1]) : data };
  }
  return weights;
}

const READERS = { F32: (bytes) => new Float32Array(bytes), I8: (bytes) => new Int8Array(bytes), F16: fromFloat16 };

function scaled(whole, scales, columns) {
  const numbers = new Float32Array(whole.length);
  for (let n = 0; n < whole.length; n += 1) numbers[n] = whole[n] * scales[Math.floor(n / columns)];
  return numbers;
}

/** Returns float16 numbers as float32: sign, five bits of exponent, ten bits of fraction. */
function fromFloat16(bytes) {
  const halves = new Uint16Array(bytes);
  const numbers = new Float32Array(halves.length);
  for (let n = 0; n < halves.length; n += 1) numbers[n] = HALVES[halves[n]];
  return numbers;
}

const HALVES = Float32Array.from({ length: 1 << 16 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
});
