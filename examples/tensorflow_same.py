"""The gradient of a TensorFlow convolution: SAME padding whose total is odd, NHWC data, HWIO weights.

    python examples/tensorflow_same.py [GRAPH.mlir]

compares it with TensorFlow's formula for the pads, in numpy.
"""

import sys

import numpy as np

import gradc

IMAGE, KERNEL, STRIDES = (7, 10), (4, 3), (2, 3)
CHANNELS_IN, CHANNELS_OUT = 3, 5


def graph(rule: str = "library") -> gradc.Graph:
    g = gradc.Graph()
    dy = g.input("dy", "f32", [1, *(-(-x // s) for x, s in zip(IMAGE, STRIDES, strict=True)), CHANNELS_OUT])
    w = g.input("w", "f32", [*KERNEL, CHANNELS_IN, CHANNELS_OUT])
    dx = g.convolution_backward_data(
        dy,
        w,
        [1, *IMAGE, CHANNELS_IN],
        strides=STRIDES,
        pads_begin=[0, 0],
        pads_end=[0, 0],
        dilations=[1, 1],
        auto_pad="same_upper",
        auto_pad_rule=rule,
        data_format="NXC",
        weights_format="XIO",
    )
    g.output(dx, "dx")
    return g


def same_pads(x: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return y = ceil(x / s), total = max((y - 1) s + k - x, 0): TensorFlow's pads, smaller half first."""
    y = -(-x // stride)
    total = max((y - 1) * stride + kernel - x, 0)
    return total // 2, total - total // 2


def by_formula(dy: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Compute the gradient: each value of dy adds the kernel to the padded image, which is then cropped."""
    (top, bottom), (left, right) = map(same_pads, IMAGE, KERNEL, STRIDES)
    padded = np.zeros((IMAGE[0] + top + bottom, IMAGE[1] + left + right, CHANNELS_IN))
    for i, j in np.ndindex(dy.shape[1:3]):
        rows = slice(i * STRIDES[0], i * STRIDES[0] + KERNEL[0])
        columns = slice(j * STRIDES[1], j * STRIDES[1] + KERNEL[1])
        padded[rows, columns] += w.astype(np.float64) @ dy[0, i, j]
    return padded[top : top + IMAGE[0], left : left + IMAGE[1]][None]


def main(arguments: list[str]) -> None:
    for path in arguments:
        graph().save(path)
    rng = np.random.default_rng(0)
    print("pads of height and width:", *map(same_pads, IMAGE, KERNEL, STRIDES))
    for rule in ("library", "documented"):
        compiled = gradc.compile(graph(rule))
        inputs = {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in compiled.inputs}
        want = by_formula(**inputs)
        error = np.abs(compiled.run(inputs)["dx"] - want).max() / np.abs(want).max()
        print(f"{rule}: {'the same as' if error < 1e-5 else 'another gradient than'} TensorFlow's")
        assert (error < 1e-5) == (rule == "library")


if __name__ == "__main__":
    main(sys.argv[1:])
