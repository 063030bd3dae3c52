// Trains the run in the folder `run` on run/batch.safetensors, and draws its loss.
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";
import { openRun, tensorsOf, trainStep } from "./trainer.mjs";

ort.env.wasm.numThreads = 1; // more need a page that is isolated from all others

const RATE = 1e-2;
const STEPS = 100;
const element = (id) => document.getElementById(id);
const read = async (name) => (await fetch(`run/${name}`)).arrayBuffer();

/** Draws the losses from left to right; the largest is at the top. */
function draw(losses) {
  const { width, height } = element("loss");
  const pen = element("loss").getContext("2d");
  const logs = losses.map(Math.log);
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  pen.clearRect(0, 0, width, height);
  pen.strokeStyle = "#2f7fc4";
  pen.lineWidth = 2;
  pen.beginPath();
  logs.forEach((log, step) => {
    const x = (width * step) / Math.max(logs.length - 1, 1);
    pen.lineTo(x, 8 + ((height - 16) * (high - log)) / (high - low || 1));
  });
  pen.stroke();
}

const run = await openRun(ort, read);
const batch = tensorsOf(ort, await read("batch.safetensors"));
const losses = [];
globalThis.gradc = { losses, busy: false }; // for tests, and for the console

element("train").addEventListener("click", async () => {
  globalThis.gradc.busy = true;
  for (let index = 0; index < STEPS; index++) {
    losses.push(await trainStep(run, batch, RATE));
    draw(losses);
    element("now").value = `step ${losses.length}: loss ${losses.at(-1).toPrecision(4)}`;
    await new Promise(requestAnimationFrame);
  }
  globalThis.gradc.busy = false;
});
element("now").value = "ready";
