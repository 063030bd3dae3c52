"""The gradient of a super-resolution head: features enlarged four times, and a convolution to RGB.

python examples/super_resolution.py [GRAPH.mlir]
"""

import sys

import numpy as np

import gradc

CHANNELS, SMALL, LARGE = 16, (24, 32), (96, 128)


def graph(mode: str = "bilinear") -> gradc.Graph:
    """Backward of: rgb = conv(resize(features))."""
    g = gradc.Graph()
    diff_rgb = g.input("diff_rgb", "f32", ["N", 3, *LARGE])
    weights = g.input("weights", "f32", [3, CHANNELS, 3, 3])
    features = g.input("features", "f32", ["N", CHANNELS, *SMALL])
    diff_enlarged = g.convolution_backward_data(
        diff_rgb,
        weights,
        [None, CHANNELS, *LARGE],
        strides=[1, 1],
        pads_begin=[1, 1],
        pads_end=[1, 1],
        dilations=[1, 1],
        data_format="NCX",
        weights_format="OIX",
        name="to_rgb",
    )
    diff = g.interpolate_backward(
        features, diff_enlarged, list(LARGE), mode=mode, data_format="NCX", name="enlarge"
    )
    g.output(diff, "diff_features")
    return g


def main(arguments: list[str]) -> None:
    for path in arguments:
        graph().save(path)
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((3, CHANNELS, 3, 3)).astype(np.float32)
    for mode in ("nearest", "bilinear"):
        compiled = gradc.compile(graph(mode), constants={"weights": weights})
        for batch in (1, 2):
            inputs = {
                "diff_rgb": rng.standard_normal((batch, 3, *LARGE)).astype(np.float32),
                "features": np.zeros((batch, CHANNELS, *SMALL), np.float32),
            }
            got = compiled.run(inputs)["diff_features"]
            want = compiled.reference(inputs)["diff_features"]
            error = np.abs(got - want).max() / np.abs(want).max()
            assert error < 1e-5, error
            print(f"{mode}, batch {batch}: diff_features {got.shape}, equal to the reference")
        print("  nodes:", *(node.op_type for node in compiled.model.graph.node))


if __name__ == "__main__":
    main(sys.argv[1:])
