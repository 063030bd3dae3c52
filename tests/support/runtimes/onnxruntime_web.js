// The body of a function in the page: runs a model on each set of feeds and hands back the outputs.
// Tensors travel as {type, dims, data}, data being their bytes in base64.
const [model, feeds, done] = arguments;
const ARRAYS = {
  float32: Float32Array,
  float16: Uint16Array,
  float64: Float64Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
  bool: Uint8Array,
};

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function tensorOf(ort, { type, dims, data }) {
  if (!(type in ARRAYS)) throw new Error(`onnxruntime-web has no tensors of ${type}`);
  return new ort.Tensor(type, new ARRAYS[type](bytesOf(data).buffer), dims);
}

function textOf({ type, dims, data }) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  let letters = "";
  for (const byte of bytes) letters += String.fromCharCode(byte);
  return { type, dims, data: btoa(letters) };
}

async function run() {
  const ort = await import("/node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs");
  ort.env.wasm.numThreads = 1;
  ort.env.logLevel = "fatal";
  const session = await ort.InferenceSession.create(bytesOf(model), { executionProviders: ["wasm"] });
  try {
    const found = [];
    for (const tensors of feeds) {
      const given = Object.entries(tensors).map(([name, tensor]) => [name, tensorOf(ort, tensor)]);
      const results = await session.run(Object.fromEntries(given));
      found.push(session.outputNames.map((name) => textOf(results[name])));
    }
    return found;
  } finally {
    await session.release();
  }
}

run().then(
  (outputs) => done({ outputs }),
  (error) => done({ error: String(error && error.message ? error.message : error) }),
);
