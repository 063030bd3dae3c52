"""Compile the gradients of the web page: `python examples/web/models.py` writes models/*.onnx.

All are of one image with one channel, f32. Those of one op read `diff_dst`, the incoming gradient; that of a
classifier reads the image and a class.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx

import gradc

SIZE = 64
"""Size of diff_dst in every model, as the page paints it."""


def upsample() -> gradc.Graph:
    """Gradient of a bilinear resize to twice the size."""
    g = gradc.Graph("upsample")
    diff_dst = g.input("diff_dst", "f32", [1, 1, SIZE, SIZE])
    src = g.input("src", "f32", [1, 1, SIZE // 2, SIZE // 2])
    g.output(
        g.interpolate_backward(src, diff_dst, [SIZE, SIZE], mode="bilinear", data_format="NCX"), "diff_src"
    )
    return g


def any_size() -> gradc.Graph:
    """Gradient of a bilinear resize from the size of `src`, whose values are unused."""
    g = gradc.Graph("any_size")
    diff_dst = g.input("diff_dst", "f32", [1, 1, SIZE, SIZE])
    src = g.input("src", "f32", [1, 1, "H", "W"])
    g.output(
        g.interpolate_backward(src, diff_dst, [SIZE, SIZE], mode="bilinear", data_format="NCX"), "diff_src"
    )
    return g


def convolution() -> gradc.Graph:
    """Gradient of a 3x3 mean of stride 2: sums of 1, 2 or 4 terms make a chessboard."""
    g = gradc.Graph("convolution")
    diff_dst = g.input("diff_dst", "f32", [1, 1, SIZE, SIZE])
    mean = np.full((1, 1, 3, 3), 1 / 9, np.float32)
    source = [1, 1, 2 * SIZE, 2 * SIZE]
    result = g.convolution_backward_data(
        diff_dst,
        g.constant(mean),
        source,
        strides=[2, 2],
        pads_begin=[1, 1],
        pads_end=[0, 0],
        dilations=[1, 1],
        data_format="NCX",
        weights_format="OIX",
    )
    g.output(result, "diff_src")
    return g


def transposed() -> gradc.Graph:
    """Gradient of a transposed convolution with the weights of an edge detector."""
    g = gradc.Graph("transposed")
    diff_dst = g.input("diff_dst", "f32", [1, 1, SIZE, SIZE])
    edges = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]], np.float32).reshape(1, 1, 3, 3)
    result = g.conv_transpose_backward_data(
        diff_dst,
        g.constant(edges),
        strides=[1, 1],
        pads_begin=[1, 1],
        pads_end=[1, 1],
        dilations=[1, 1],
        data_format="NCX",
        weights_format="IOX",
    )
    g.output(result, "diff_src")
    return g


DIRECTIONS = ("horizontal", "vertical", "rising", "falling")


def classifier() -> onnx.ModelProto:
    """Return a classifier of stripe directions: Gabor filters, their positive parts, the means."""
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    y, x = np.mgrid[-4:5, -4:5]
    filters = []
    for angle in np.radians([90, 0, 45, 135]):
        wave, envelope = x * np.cos(angle) + y * np.sin(angle), np.exp(-(x**2 + y**2) / 9)
        filters += [np.cos(wave) * envelope, np.sin(wave) * envelope]
    bank = np.stack([f - f.mean() for f in filters])[:, None]
    weights = {"bank": bank, "pairs": np.kron(np.eye(4), [[1], [1]])}
    nodes = [
        helper.make_node("Conv", ["image", "bank"], ["waves"], auto_pad="SAME_UPPER"),
        helper.make_node("Relu", ["waves"], ["positive"]),
        helper.make_node("MaxPool", ["positive"], ["strong"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["strong"], ["means"]),
        helper.make_node("Flatten", ["means"], ["features"]),
        helper.make_node("MatMul", ["features", "pairs"], ["logits"]),
    ]
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 1, SIZE, SIZE])
    logits = helper.make_tensor_value_info("logits", onnx.TensorProto.FLOAT, [1, len(DIRECTIONS)])
    constants = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "classifier", [image], [logits], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def saliency() -> gradc.Compiled:
    """Return the image gradient of a class; the class is the cotangent, so the page can choose it."""
    return gradc.vjp(classifier(), wrt=["image"], target="portable")


GRAPHS: tuple[Callable[[], gradc.Graph], ...] = (upsample, any_size, convolution, transposed)


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for graph in GRAPHS:
        path = folder / f"{graph.__name__}.onnx"
        gradc.compile(graph(), target="portable").save(path)
        print(path)
    path = folder / "saliency.onnx"
    saliency().save(path)
    print(path)


if __name__ == "__main__":
    main(Path(__file__).resolve().parent / "models")
