"""The gradient of a U-Net decoder: two upsampling steps, each with an added skip connection.

    python examples/unet_decoder.py [GRAPH.mlir]

runs it on onnxruntime and compares with PyTorch, or with gradc's reference without PyTorch. With a file name
it writes the graph, for the gradc commands.
"""

import sys

import numpy as np

import gradc

WEIGHTS = {"w_up": (32, 16, 2, 2), "w_conv1": (16, 16, 3, 3), "w_conv0": (8, 16, 3, 3)}
DIFF_DST = (1, 8, 32, 32)


def graph() -> gradc.Graph:
    """Backward of: up = conv_transpose(x); a = conv1(up + skip1); y = conv0(resize(a) + skip0).

    A sum passes its gradient on unchanged, so the gradient of a skip connection is the gradient at its
    addition.
    """
    g = gradc.Graph()
    diff = g.input("diff_y", "f32", DIFF_DST)
    weights = {name: g.input(name, "f32", shape) for name, shape in WEIGHTS.items()}
    window = {"strides": [1, 1], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
    ncx = {"data_format": "NCX"}
    skip0 = g.convolution_backward_data(
        diff, weights["w_conv0"], [1, 16, 32, 32], **window, **ncx, weights_format="OIX", name="conv0"
    )
    small = g.input("a", "f32", [1, 16, 16, 16])
    resized = g.interpolate_backward(small, skip0, [32, 32], mode="bilinear", **ncx, name="resize")
    skip1 = g.convolution_backward_data(
        resized, weights["w_conv1"], [1, 16, 16, 16], **window, **ncx, weights_format="OIX", name="conv1"
    )
    window |= {"strides": [2, 2], "pads_begin": [0, 0], "pads_end": [0, 0]}
    x = g.conv_transpose_backward_data(
        skip1, weights["w_up"], **window, **ncx, weights_format="IOX", name="up"
    )
    for value, name in ((skip0, "diff_skip0"), (skip1, "diff_skip1"), (x, "diff_x")):
        g.output(value, name)
    return g


def main(arguments: list[str]) -> None:
    for path in arguments:
        graph().save(path)
    rng = np.random.default_rng(0)
    shapes = {"diff_y": DIFF_DST, "a": (1, 16, 16, 16), **WEIGHTS}
    inputs = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    compiled = gradc.compile(graph())
    results = compiled.run(inputs)
    expected, source = compiled.reference(inputs), "the reference"
    if has_torch():
        expected, source = with_torch(inputs), "PyTorch"
    for name, value in results.items():
        error = np.abs(value - expected[name]).max() / np.abs(expected[name]).max()
        assert error < 1e-5, (name, error)
        print(f"{name} {value.shape}: equal to {source}")


def has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


def with_torch(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Compute the same gradients with PyTorch's autograd of the forward decoder."""
    import torch
    from torch.nn import functional

    given = {name: torch.from_numpy(array) for name, array in inputs.items()}
    leaves = {"diff_x": (1, 32, 8, 8), "diff_skip1": (1, 16, 16, 16), "diff_skip0": (1, 16, 32, 32)}
    x, skip1, skip0 = (torch.zeros(shape, requires_grad=True) for shape in leaves.values())
    up = functional.conv_transpose2d(x, given["w_up"], stride=2)
    a = functional.conv2d(up + skip1, given["w_conv1"], padding=1)
    resized = functional.interpolate(a, size=(32, 32), mode="bilinear", align_corners=False)
    y = functional.conv2d(resized + skip0, given["w_conv0"], padding=1)
    gradients = torch.autograd.grad(y, (x, skip1, skip0), given["diff_y"])
    return {name: value.numpy() for name, value in zip(leaves, gradients, strict=True)}


if __name__ == "__main__":
    main(sys.argv[1:])
