// Trains the run in the folder `run`, a perceptron of 4 inputs and 3 classes, on random samples.
using System.Text.Json;
using Microsoft.ML.OnnxRuntime;
using Microsoft.ML.OnnxRuntime.Tensors;

var random = new Random(0);
var x = Enumerable.Range(0, 32 * 4).Select(_ => random.NextSingle() * 2 - 1).ToArray();
var label = Enumerable.Range(0, 32).Select(row => (x[4 * row] > 0 ? 1L : 0) + (x[4 * row + 1] > 0 ? 1 : 0)).ToArray();
var batch = new Dictionary<string, OrtValue> {
    ["x"] = OrtValue.CreateTensorValueFromMemory(x, [32, 4]),
    ["label"] = OrtValue.CreateTensorValueFromMemory(label, [32]),
};
Train("run", batch, 1e-2f, 100);

static void Train(string run, Dictionary<string, OrtValue> batch, float rate, long steps) {
    var facts = JsonDocument.Parse(File.ReadAllText($"{run}/train.json")).RootElement;
    var updates = facts.GetProperty("updates").EnumerateObject().ToDictionary(one => one.Name, one => one.Value.GetString()!);
    using var session = new InferenceSession($"{run}/step.onnx", new SessionOptions { EnableMemoryPattern = false });
    string[] files = [$"{run}/params.safetensors", $"{run}/state.safetensors"];
    var (state, next) = (files.SelectMany(Load).ToDictionary(), files.SelectMany(Load).ToDictionary());
    var loss = new float[1];
    using var options = new RunOptions();
    for (long step = 1; step <= steps; step++) {
        var inputs = updates.Keys.ToDictionary(name => name, name => state[name]);
        foreach (var (name, value) in batch) inputs[name] = value;
        inputs["lr"] = OrtValue.CreateTensorValueFromMemory(new[] { rate }, []);
        inputs["step"] = OrtValue.CreateTensorValueFromMemory(new[] { step }, []);
        var outputs = updates.ToDictionary(one => one.Value, one => next[one.Key]);
        outputs["loss"] = OrtValue.CreateTensorValueFromMemory(loss, []);
        session.Run(options, inputs.Keys.ToList(), inputs.Values.ToList(), outputs.Keys.ToList(), outputs.Values.ToList());
        (state, next) = (next, state);
        Console.WriteLine($"{step} {loss[0]}");
    }
}

static IEnumerable<KeyValuePair<string, OrtValue>> Load(string path) {
    var bytes = File.ReadAllBytes(path);
    var start = 8 + (int)BitConverter.ToUInt64(bytes, 0);
    foreach (var one in JsonDocument.Parse(bytes.AsMemory(8, start - 8)).RootElement.EnumerateObject()) {
        var type = one.Value.GetProperty("dtype").GetString() == "I64" ? TensorElementType.Int64 : TensorElementType.Float;
        var shape = one.Value.GetProperty("shape").EnumerateArray().Select(size => size.GetInt64()).ToArray();
        var ends = one.Value.GetProperty("data_offsets").EnumerateArray().Select(end => end.GetInt32()).ToArray();
        var value = OrtValue.CreateAllocatedTensorValue(OrtAllocator.DefaultInstance, type, shape);
        bytes.AsSpan(start + ends[0], ends[1] - ends[0]).CopyTo(value.GetTensorMutableRawData());
        yield return new(one.Name, value);
    }
}
