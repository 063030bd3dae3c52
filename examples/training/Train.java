// Trains the run in the folder `run`, a perceptron of 4 inputs and 3 classes, on random samples.

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtSession;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import org.json.JSONArray;
import org.json.JSONObject;

public class Train {
    static void load(OrtEnvironment env, String path, Map<String, OnnxTensor> tensors) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(Path.of(path))).order(ByteOrder.LITTLE_ENDIAN);
        int start = 8 + (int) bytes.getLong(0);
        JSONObject header = new JSONObject(new String(bytes.array(), 8, start - 8, StandardCharsets.UTF_8));
        for (String name : header.keySet()) {
            JSONArray sizes = header.getJSONObject(name).getJSONArray("shape");
            JSONArray ends = header.getJSONObject(name).getJSONArray("data_offsets");
            long[] shape = new long[sizes.length()];
            for (int axis = 0; axis < shape.length; axis++) shape[axis] = sizes.getLong(axis);
            int from = ends.getInt(0), length = ends.getInt(1) - from;
            ByteBuffer part = ByteBuffer.allocateDirect(length).order(ByteOrder.nativeOrder());
            part.put(bytes.array(), start + from, length).rewind();
            tensors.put(name, header.getJSONObject(name).getString("dtype").equals("I64")
                ? OnnxTensor.createTensor(env, part.asLongBuffer(), shape)
                : OnnxTensor.createTensor(env, part.asFloatBuffer(), shape));
        }
    }

    static void train(String run, Map<String, OnnxTensor> feeds, float rate, long steps) throws Exception {
        OrtEnvironment env = OrtEnvironment.getEnvironment();
        OrtSession.SessionOptions options = new OrtSession.SessionOptions();
        options.setMemoryPatternOptimization(false);
        JSONObject updates = new JSONObject(Files.readString(Path.of(run, "train.json"))).getJSONObject("updates");
        for (String file : new String[] {"params", "state"}) load(env, run + "/" + file + ".safetensors", feeds);
        feeds.remove("seed");
        try (OrtSession session = env.createSession(run + "/step.onnx", options)) {
            OrtSession.Result last = null;
            for (long step = 1; step <= steps; step++) {
                feeds.put("lr", OnnxTensor.createTensor(env, rate));
                feeds.put("step", OnnxTensor.createTensor(env, step));
                OrtSession.Result found = session.run(feeds);
                for (String input : updates.keySet())
                    feeds.put(input, (OnnxTensor) found.get(updates.getString(input)).get());
                System.out.println(step + " " + found.get("loss").get().getValue());
                if (last != null) last.close();
                last = found;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Random random = new Random(0);
        float[][] x = new float[32][4];
        long[] label = new long[32];
        for (int row = 0; row < 32; row++) {
            for (int column = 0; column < 4; column++) x[row][column] = (float) random.nextGaussian();
            label[row] = (x[row][0] > 0 ? 1 : 0) + (x[row][1] > 0 ? 1 : 0);
        }
        OrtEnvironment env = OrtEnvironment.getEnvironment();
        Map<String, OnnxTensor> feeds = new HashMap<>();
        feeds.put("x", OnnxTensor.createTensor(env, x));
        feeds.put("label", OnnxTensor.createTensor(env, label));
        train("run", feeds, 1e-2f, 100);
    }
}
