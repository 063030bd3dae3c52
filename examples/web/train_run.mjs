// Trains a run in Node and prints the losses as JSON:
//
//   gradc train model.onnx --loss cross-entropy --optimizer adamw -o run
//   node train_run.mjs onnxruntime-node run batch.safetensors 0.01 100
//
// The first argument is the runtime, onnxruntime-node or onnxruntime-web.
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { openRun, tensorsOf, trainStep } from "./trainer.mjs";

const [runtime, folder, data, rate, steps] = process.argv.slice(2);
const ort = await import(runtime);
if (runtime === "onnxruntime-web") ort.env.wasm.numThreads = 1;

/** The content of a file as an ArrayBuffer of its own. */
const read = async (path) => Uint8Array.from(await readFile(path)).buffer;

const run = await openRun(ort, (name) => read(join(folder, name)));
const batch = tensorsOf(ort, await read(data));
const losses = [];
for (let index = 0; index < Number(steps); index++) losses.push(await trainStep(run, batch, Number(rate)));
console.log(JSON.stringify(losses));
