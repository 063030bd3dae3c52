// The loop over a training run that `gradc train` wrote, for browsers and Node; see docs/training_loops.md.
const KINDS = {
  F32: ["float32", Float32Array],
  F64: ["float64", Float64Array],
  I64: ["int64", BigInt64Array],
  I32: ["int32", Int32Array],
};

/** The tensors of a .safetensors file, by name. `buffer` is an ArrayBuffer. */
export function tensorsOf(ort, buffer) {
  const start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__, ...header } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  const tensors = Object.entries(header).map(([name, { dtype, shape, data_offsets: [from, to] }]) => {
    const [type, Kind] = KINDS[dtype];
    return [name, new ort.Tensor(type, new Kind(buffer.slice(start + from, start + to)), shape)];
  });
  return Object.fromEntries(tensors);
}

/** A run as { facts, state, session, step }. `read` returns the ArrayBuffer of a file of the run. */
export async function openRun(ort, read) {
  const facts = JSON.parse(new TextDecoder().decode(await read("train.json")));
  const options = { enableMemPattern: false }; // halves the memory of a step
  const session = await ort.InferenceSession.create(new Uint8Array(await read("step.onnx")), options);
  const { step, seed, ...slots } = tensorsOf(ort, await read("state.safetensors"));
  const state = { ...tensorsOf(ort, await read("params.safetensors")), ...slots };
  return { ort, facts, session, state, steps: step.data[0], seed: seed.data[0] };
}

/** Updates the state of a run in place and returns the loss. `batch` has the inputs and labels as tensors. */
export async function trainStep(run, batch, rate) {
  const { ort, facts } = run;
  const number = run.steps + 1n;
  const given = { lr: rate, step: number, seed: (run.seed << 32n) + number };
  const scalars = Object.entries(facts.scalars).map(([name, type]) => [name, new ort.Tensor(type, [given[name]], [])]);
  const found = await run.session.run({ ...run.state, ...batch, ...Object.fromEntries(scalars) });
  for (const [input, output] of Object.entries(facts.updates)) run.state[input] = found[output];
  run.steps = number;
  return found.loss.data[0];
}
