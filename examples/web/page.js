// Loads a compiled gradient, runs it on what is drawn, and shows both as pictures.
import * as ort from "./node_modules/onnxruntime-web/dist/ort.wasm.bundle.min.mjs";

ort.env.wasm.numThreads = 1; // more need a page that is isolated from all others

const SIZE = 64; // of what comes in, as models.py compiles it
const element = (id) => document.getElementById(id);

const PATTERNS = {
  rings: (x, y) => Math.cos(20 * Math.hypot(x, y)) * Math.exp(-2 * (x * x + y * y)),
  spot: (x, y) => Math.exp(-12 * ((x - 0.2) ** 2 + (y + 0.2) ** 2)),
  stripes: (x, y) => Math.sign(Math.sin(9 * (x + 0.6 * y))),
  noise: noise(7),
  nothing: () => 0,
};

// What was run last, and a promise of true when nothing is left to run: for tests, and for the console.
const last = { model: null, feeds: {}, output: null, idle: () => later(() => true) };
globalThis.gradc = last;

let session = null;
let values = new Float32Array(SIZE * SIZE);

/** Numbers in [-1, 1), the same in every visit. */
function noise(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 2 ** 32;
    return state / 2 ** 31 - 1;
  };
}

function filled(pattern) {
  const at = (index) => (2 * index + 1) / SIZE - 1;
  return Float32Array.from({ length: SIZE * SIZE }, (_, i) => pattern(at(i % SIZE), at(Math.floor(i / SIZE))));
}

/** The five colours of the map as [r, g, b], from negative to positive, in the scheme of the page. */
function colours() {
  const words = getComputedStyle(document.documentElement).getPropertyValue("--map").trim().split(/\s+/);
  return words.map((word) => [1, 3, 5].map((start) => parseInt(word.slice(start, start + 2), 16)));
}

/** The colour of a value in [-1, 1]. */
function mixed(stops, value) {
  const position = ((value + 1) / 2) * (stops.length - 1);
  const lower = Math.min(Math.floor(position), stops.length - 2);
  return stops[lower].map((from, i) => from + (position - lower) * (stops[lower + 1][i] - from));
}

/** Draws rows x columns numbers, 0 in the middle of the map, and writes the range below. */
function draw(name, data, [rows, columns]) {
  const canvas = element(name);
  canvas.width = columns;
  canvas.height = rows;
  const most = data.reduce((found, value) => Math.max(found, Math.abs(value)), 0);
  const stops = colours();
  const pixels = new ImageData(columns, rows);
  data.forEach((value, i) => pixels.data.set([...mixed(stops, most ? value / most : 0), 255], 4 * i));
  canvas.getContext("2d").putImageData(pixels, 0, 0);

  const legend = element(`${name}-legend`);
  const parts = stops.map((stop) => `rgb(${stop.join(" ")})`);
  legend.querySelector("i").style.background = `linear-gradient(to right, ${parts.join(", ")})`;
  const [low, , high] = legend.querySelectorAll("span");
  low.textContent = most ? `−${most.toPrecision(3)}` : "";
  high.textContent = most ? `+${most.toPrecision(3)}` : "";
  element(`${name}-shape`).textContent = `${rows} × ${columns}`;
}

const DRAWN = ["diff_dst", "image"];

/** A tensor for an input: what is drawn, the class as one-hot, zeros for what only has a shape. */
function tensorFor({ name, shape }) {
  if (name === "cotangent_logits") return new ort.Tensor("float32", oneHot(shape[1]), shape);
  if (DRAWN.includes(name)) return new ort.Tensor("float32", values, [1, 1, SIZE, SIZE]);
  const dims = shape.map((size) => (typeof size === "number" ? size : Number(element("size").value)));
  return new ort.Tensor("float32", new Float32Array(dims.reduce((a, b) => a * b, 1)), dims);
}

function oneHot(classes) {
  return Float32Array.from({ length: classes }, (_, i) => (i === Number(element("class").value) ? 1 : 0));
}

async function run() {
  if (!session) return; // what kept it from loading is told already
  const start = performance.now();
  const feeds = Object.fromEntries(session.inputMetadata.map((input) => [input.name, tensorFor(input)]));
  const output = (await session.run(feeds))[session.outputNames[0]];
  const took = performance.now() - start;
  draw("input", values, [SIZE, SIZE]);
  draw("output", output.data, output.dims.slice(2));
  Object.assign(last, { feeds, output });
  tell(`${session.outputNames[0]} of [${output.dims.join(", ")}] in ${took.toFixed(1)} ms.`);
}

/** Loads the chosen model and runs it. */
async function load() {
  const name = element("model").value;
  await session?.release();
  session = null;
  session = await ort.InferenceSession.create(`models/${name}.onnx`, { executionProviders: ["wasm"] });
  last.model = name;
  const unknown = session.inputMetadata.some(({ shape }) => shape.some((size) => typeof size !== "number"));
  element("size-label").hidden = !unknown;
  element("class-label").hidden = !session.inputNames.includes("cotangent_logits");
  element("input-name").textContent = session.inputNames.find((input) => DRAWN.includes(input));
  element("output-name").textContent = session.outputNames[0];
  await run();
}

function tell(text, failed = false) {
  element("status").textContent = text;
  element("status").classList.toggle("failed", failed);
}

// One thing after the other: a model cannot run twice at once.
let queue = Promise.resolve();
let waiting = false;

function later(work) {
  queue = queue.then(work).catch((error) => tell(`It does not run: ${error.message ?? error}`, true));
  return queue;
}

/** Runs soon; what is asked for before that is one run. */
function refresh() {
  if (waiting) return;
  waiting = true;
  later(() => {
    waiting = false;
    return run();
  });
}

/** Adds a round dab of the brush where the pointer is. */
function dab(event) {
  const frame = element("input").getBoundingClientRect();
  const column = ((event.clientX - frame.left) / frame.width) * SIZE;
  const row = ((event.clientY - frame.top) / frame.height) * SIZE;
  const sign = Number(element("brush").value);
  values = values.map((value, i) => {
    const distance = Math.hypot((i % SIZE) + 0.5 - column, Math.floor(i / SIZE) + 0.5 - row);
    const next = value + sign * 0.6 * Math.exp(-((distance / 2.5) ** 2));
    return Math.min(1, Math.max(-1, next));
  });
  refresh();
}

element("input").addEventListener("pointerdown", (event) => {
  event.target.setPointerCapture(event.pointerId);
  dab(event);
});
element("input").addEventListener("pointermove", (event) => event.buttons && dab(event));
element("size").addEventListener("input", () => {
  element("size-shown").textContent = element("size").value;
  refresh();
});
element("class").addEventListener("change", refresh);
element("pattern").addEventListener("change", () => {
  values = filled(PATTERNS[element("pattern").value]);
  refresh();
});
element("model").addEventListener("change", () => later(load));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", refresh);

element("size-shown").textContent = element("size").value;
values = filled(PATTERNS[element("pattern").value]);
later(load);
