// Trains a model in JavaScript, with a training step that gradc wrote:
//
//   gradc grad model.onnx --of loss --wrt '*.weight' --keep-outputs of --weights required -o step.onnx
//   node train.mjs onnxruntime-node step.onnx data.safetensors trained.safetensors
//   gradc weights model.onnx --set trained.safetensors -o tuned.onnx
//
// The first argument is the runtime, onnxruntime-node or onnxruntime-web. All tensors are of float32.
import { readFile, writeFile } from "node:fs/promises";

const STEPS = 20;
const RATE = 0.1;

const [runtime, model, data, trained] = process.argv.slice(2);
const ort = await import(runtime);
if (runtime === "onnxruntime-web") ort.env.wasm.numThreads = 1;

/** The tensors of a .safetensors file, by name. */
async function read(path) {
  const bytes = await readFile(path);
  const start = 8 + Number(bytes.readBigUInt64LE(0));
  const tensors = Object.entries(JSON.parse(bytes.subarray(8, start))).filter(([name]) => name !== "__metadata__");
  return Object.fromEntries(
    tensors.map(([name, { shape, data_offsets: [from, to] }]) => {
      const own = new Uint8Array(bytes.subarray(start + from, start + to)).buffer; // a copy, which is aligned
      return [name, new ort.Tensor("float32", new Float32Array(own), shape)];
    }),
  );
}

/** Writes tensors as a .safetensors file. */
async function write(path, tensors) {
  let end = 0;
  const entries = Object.entries(tensors).map(([name, { dims, data }]) => {
    const data_offsets = [end, (end += data.byteLength)];
    return [name, { dtype: "F32", shape: [...dims], data_offsets }];
  });
  const text = Buffer.from(JSON.stringify(Object.fromEntries(entries)));
  const header = Buffer.concat([text, Buffer.alloc((8 - (text.length % 8)) % 8, " ")]);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  const contents = Object.values(tensors).map(({ data }) => Buffer.from(data.buffer, data.byteOffset, data.byteLength));
  await writeFile(path, Buffer.concat([length, header, ...contents]));
}

const session = await ort.InferenceSession.create(await readFile(model));
const batch = await read(data);
let weights = await read(`${model}.weights.safetensors`);
const losses = [];
for (let step = 0; step < STEPS; step++) {
  const found = await session.run({ ...batch, ...weights });
  losses.push(found.loss.data[0]);
  const next = Object.entries(weights).map(([name, weight]) => {
    const gradient = found[`grad_${name}`].data;
    return [name, new ort.Tensor("float32", weight.data.map((w, i) => w - RATE * gradient[i]), weight.dims)];
  });
  weights = Object.fromEntries(next);
}
await write(trained, weights);
console.log(JSON.stringify(losses));
