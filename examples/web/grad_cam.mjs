// Runs models/grad_cam.onnx on what is drawn, and shows the map over it.
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1; // more need a page that is isolated from all others

const SIZE = 48;
const CLASSES = ["ring", "square", "cross"];
const element = (id) => document.getElementById(id);
const image = new Float32Array(SIZE * SIZE);

/** Adds lines around the points for which `distance` is near 0. */
function add(distance) {
  for (let i = 0; i < image.length; i++) {
    const line = 2 - distance((i % SIZE) + 0.5, Math.floor(i / SIZE) + 0.5);
    image[i] = Math.max(image[i], Math.min(1, Math.max(0, line)));
  }
}

/** Draws pixels of which `colour` returns red, green and blue. */
function draw(name, colour) {
  const pixels = new ImageData(SIZE, SIZE);
  for (let i = 0; i < image.length; i++) pixels.data.set([...colour(i), 255], 4 * i);
  element(name).getContext("2d").putImageData(pixels, 0, 0);
}

const session = await ort.InferenceSession.create("models/grad_cam.onnx", { executionProviders: ["wasm"] });

async function update() {
  const label = BigInt64Array.of(BigInt(element("class").value));
  const start = performance.now();
  const { probabilities, map } = await session.run({
    image: new ort.Tensor("float32", image, [1, 1, SIZE, SIZE]),
    label: new ort.Tensor("int64", label, [1]),
  });
  const took = performance.now() - start;
  const most = map.data.reduce((found, value) => Math.max(found, value), 1e-9);
  draw("drawing", (i) => Array(3).fill(255 * image[i]));
  draw("map", (i) => {
    const [line, heat] = [150 * image[i], map.data[i] / most];
    return [line + (255 - line) * heat, line + 60 * heat, line * (1 - heat) + 40 * heat];
  });
  const shares = CLASSES.map((name, i) => `${name} ${(100 * probabilities.data[i]).toFixed(0)} %`);
  element("now").value = `${shares.join(", ")}; ${took.toFixed(1)} ms`;
  globalThis.gradc = { image: [...image], label: Number(label[0]), map: [...map.data] }; // for tests
}

// One run after the other: a session cannot run twice at once.
let queue = Promise.resolve();
const refresh = () => (queue = queue.then(update));

element("class").addEventListener("change", refresh);
element("clear").addEventListener("click", () => {
  image.fill(0);
  refresh();
});
element("drawing").addEventListener("pointermove", (event) => {
  if (!event.buttons) return;
  const frame = element("drawing").getBoundingClientRect();
  const [column, row] = [event.clientX - frame.left, event.clientY - frame.top].map((at) => (at / frame.width) * SIZE);
  add((x, y) => Math.hypot(x - column, y - row));
  refresh();
});

add((x, y) => Math.abs(Math.hypot(x - 13, y - 13) - 7));
add((x, y) => Math.abs(Math.max(Math.abs(x - 35), Math.abs(y - 14)) - 6));
const far = (x, y) => Math.max(Math.abs(x - 24), Math.abs(y - 35)) > 7;
add((x, y) => Math.min(Math.abs(x - y + 11), Math.abs(x + y - 59)) / Math.SQRT2 + (far(x, y) ? 9 : 0));
refresh();
