"""Forward and backward pass of a residual block in one graph, as a training step needs them.

    y = relu(bn2(conv2(relu(bn1(conv1(x))))) + x)

Given x, the parameters and diff_y, the model returns y, diff_x and the gradient of each parameter. They are
compared with finite differences of a float64 forward pass.
"""

import numpy as np

import gradc

BATCH, SIZE, CHANNELS = 4, 14, 16
EPSILON = 1e-5
WINDOW = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
WEIGHTS = (CHANNELS, CHANNELS, 3, 3)
PARAMETERS = {
    f"{name}{layer}": shape
    for layer in (1, 2)
    for name, shape in (("w", WEIGHTS), ("gamma", (CHANNELS,)), ("beta", (CHANNELS,)))
}


def training_step() -> gradc.Graph:
    """Build the graph, channels last as in oneDNN by default, with a dynamic batch."""
    g = gradc.Graph()
    data = ["N", SIZE, SIZE, CHANNELS]
    x, diff_y = g.input("x", "f32", data), g.input("diff_y", "f32", data)
    p = {name: g.input(name, "f32", shape) for name, shape in PARAMETERS.items()}
    zeros, ones = g.constant(np.zeros(CHANNELS, np.float32)), g.constant(np.ones(CHANNELS, np.float32))

    def convolution(value, layer):
        return g.convolution(value, p[f"w{layer}"], **WINDOW, weights_format="OIX", name=f"conv{layer}")

    def normalization(value, layer):
        found = g.batch_norm_forward_training(
            value,
            zeros,
            ones,
            p[f"gamma{layer}"],
            p[f"beta{layer}"],
            epsilon=EPSILON,
            momentum=0.9,
            name=f"bn{layer}",
        )
        dst, _, _, mean, variance = found
        return dst, mean, variance

    convolved1 = convolution(x, 1)
    normalized1, *statistics1 = normalization(convolved1, 1)
    rectified = g.relu(normalized1)
    convolved2 = convolution(rectified, 2)
    normalized2, *statistics2 = normalization(convolved2, 2)
    y = g.relu(g.add(normalized2, x))
    g.output(y, "y")

    def backward(diff, convolved, statistics, source, layer):
        """Add the backward pass of a normalization and the convolution before it; return diff_src."""
        diff, diff_gamma, diff_beta = g.batch_norm_training_backward(
            convolved, diff, *statistics, p[f"gamma{layer}"], epsilon=EPSILON
        )
        diff_weights = g.convolution_backward_weights(
            source, diff, weights_shape=list(WEIGHTS), **WINDOW, weights_format="OIX"
        )
        for name, value in (("w", diff_weights), ("gamma", diff_gamma), ("beta", diff_beta)):
            g.output(value, f"diff_{name}{layer}")
        return g.convolution_backward_data(
            diff, p[f"w{layer}"], ["N", SIZE, SIZE, CHANNELS], **WINDOW, weights_format="OIX"
        )

    diff_sum = g.relu_backward(y, diff_y)
    diff_rectified = backward(diff_sum, convolved2, statistics2, rectified, 2)
    diff_normalized1 = g.relu_backward(rectified, diff_rectified)
    diff_branch = backward(diff_normalized1, convolved1, statistics1, x, 1)
    g.output(g.add(diff_branch, diff_sum), "diff_x")
    return g


def forward(x: np.ndarray, p: dict[str, np.ndarray]) -> np.ndarray:
    """Compute the block in float64."""

    def layer(value: np.ndarray, i: int) -> np.ndarray:
        padded = np.pad(value, ((0, 0), (1, 1), (1, 1), (0, 0)))
        taps = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
        convolved = np.einsum("nyxckl,ockl->nyxo", taps, p[f"w{i}"], optimize=True)
        mean, variance = convolved.mean((0, 1, 2)), convolved.var((0, 1, 2))
        return (convolved - mean) / np.sqrt(variance + EPSILON) * p[f"gamma{i}"] + p[f"beta{i}"]

    return np.maximum(layer(np.maximum(layer(x, 1), 0), 2) + x, 0)


def main() -> None:
    rng = np.random.default_rng(0)
    compiled = gradc.compile(training_step())
    data = (BATCH, SIZE, SIZE, CHANNELS)
    shapes = {"x": data, "diff_y": data, **PARAMETERS}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    outputs = compiled.run(inputs)
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    diff_y = wide.pop("diff_y")
    y = forward(wide["x"], wide)
    print(f"{len(compiled.model.graph.node)} nodes; y is off by {np.abs(outputs['y'] - y).max():.1e}")
    assert np.allclose(outputs["y"], y, atol=1e-4)
    for name, array in wide.items():
        direction = rng.standard_normal(array.shape)
        step = 1e-6
        ahead, behind = (
            forward(moved["x"], moved)
            for moved in (wide | {name: array + h * direction} for h in (step, -step))
        )
        wanted = float(((ahead - behind) / (2 * step) * diff_y).sum())
        found = float((outputs[f"diff_{name}"] * direction).sum())
        print(f"diff_{name}: along a random direction {found:+.5f}, finite differences {wanted:+.5f}")
        assert np.isclose(found, wanted, rtol=2e-3, atol=2e-3 * np.abs(outputs[f"diff_{name}"]).max())


if __name__ == "__main__":
    main()
