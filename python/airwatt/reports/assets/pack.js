// Typed arrays out of the page: one deflated blob in base64, with the place of each array in it.
//
// Kinds: u8, u16, u32, f32, f64; `time` is a rising series of nanoseconds as differences, the lower 32 bits of all
// before the upper ones; a Float64Array holds their sums exactly for 104 days.

const KINDS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

/** Decodes a blob; returns a function that gives an array by its number. */
async function unpack(base64, places) {
  const bytes = await inflate(fromBase64(base64));
  const made = new Map();
  return (index) => {
    if (index === null || index === undefined) return null;
    if (!made.has(index)) made.set(index, decoded(bytes, places[index]));
    return made.get(index);
  };
}

function fromBase64(text) {
  const trimmed = text.trim();
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(trimmed);
  const binary = atob(trimmed);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  if (bytes.length === 0) return bytes.buffer;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

function decoded(buffer, { kind, offset, length }) {
  if (kind !== "time") return new KINDS[kind](buffer, offset, length);
  const low = new Uint32Array(buffer, offset, length);
  const high = new Uint32Array(buffer, offset + 4 * length, length);
  const times = new Float64Array(length);
  let time = 0;
  for (let i = 0; i < length; i++) times[i] = time += high[i] * 4294967296 + low[i];
  return times;
}

/** The first index whose value is above `wanted` in a rising array. */
function above(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}
