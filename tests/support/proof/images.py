"""Small image networks for tests of the gradient proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from support.proof.net import Net, ProofModel


def resnet() -> ProofModel:
    """Residual blocks of Conv, BatchNormalization and Relu, a strided one, a dense head; dynamic batch."""
    n = Net(1)
    x = n.op("Relu", n.batch_norm(n.conv(n.input("x", "N", 3, 8, 8), (3, 6), by=True), 6))
    x = n.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for _ in range(2):
        y = n.op("Relu", n.batch_norm(n.conv(x, (6, 6)), 6))
        x = n.op("Relu", n.op("Add", n.batch_norm(n.conv(y, (6, 6)), 6), x))
    y = n.op("Relu", n.batch_norm(n.conv(x, (6, 8), strides=[2, 2]), 8))
    x = n.op("Add", n.batch_norm(n.conv(y, (8, 8)), 8), n.conv(x, (6, 8), 1, strides=[2, 2], pads=[0] * 4))
    x = n.op("Flatten", n.op("GlobalAveragePool", n.op("Relu", x)))
    return n.done(n.op("Gemm", x, n.weight(5, 8, by=True), n.weight(5, by=True), transB=1))


def mobilenet() -> ProofModel:
    """Inverted residuals with depthwise convolutions and Clip (ReLU6)."""
    n = Net(2)

    def clipped(x: str) -> str:
        return n.op("Clip", x, low, high)

    low, high = n.const(0.0), n.const(1.0)
    x = clipped(n.conv(n.input("x", 2, 3, 8, 8), (3, 4), by=True, strides=[2, 2]))
    for _ in range(2):
        y = clipped(n.batch_norm(n.conv(x, (4, 12), 1, pads=[0] * 4), 12))
        y = clipped(n.batch_norm(n.conv(y, (12, 12), by=True, group=12), 12))
        x = n.op("Add", x, n.batch_norm(n.conv(y, (12, 4), 1, pads=[0] * 4), 4))
    x = n.op("ReduceMean", x, axes=[2, 3], keepdims=0)
    return n.done(n.op("Softmax", n.dense(x, (4, 5), by=True), axis=-1))


def densenet() -> ProofModel:
    """Concat of all that came before, with BatchNormalization first and an AveragePool between."""
    n = Net(3)
    x, channels = n.conv(n.input("x", 1, 3, 8, 8), (3, 4)), 4
    for block in range(2):
        for _ in range(3):
            y = n.conv(n.op("Relu", n.batch_norm(x, channels, by=channels == 6)), (channels, 2))
            x, channels = n.op("Concat", x, y, axis=1), channels + 2
        if not block:
            y = n.conv(n.op("Relu", n.batch_norm(x, channels)), (channels, 4), 1, pads=[0] * 4)
            x, channels = n.op("AveragePool", y, kernel_shape=[2, 2], strides=[2, 2]), 4
    x = n.op("Flatten", n.op("GlobalAveragePool", x))
    return n.done(n.op("LogSoftmax", n.dense(x, (channels, 4)), axis=-1))


def unet() -> ProofModel:
    """Down by a strided convolution, up by ConvTranspose and by Resize, with skips."""
    n = Net(4)
    first = n.op("Relu", n.conv(n.input("x", 1, 2, 8, 8), (2, 4)))
    low = n.op("Relu", n.conv(first, (4, 6), strides=[2, 2]))
    lowest = n.op("Sigmoid", n.conv(low, (6, 6), strides=[2, 2]))
    scales = n.const(np.array([1, 1, 2, 2], np.float32))
    up = n.op("Resize", lowest, "", scales, mode="linear", coordinate_transformation_mode="half_pixel")
    up = n.op("Add", up, low)
    up = n.op("ConvTranspose", up, n.weight(6, 4, 2, 2, by=True), n.weight(4, by=True), strides=[2, 2])
    return n.done(n.conv(n.op("Concat", up, first, axis=1), (8, 2), by=True))


def grouped() -> ProofModel:
    """Group convolution, channel shuffle, GroupNormalization by InstanceNormalization, HardSwish."""
    n = Net(5)
    x = n.conv(n.input("x", 2, 4, 6, 6), (4, 8), by=True, group=2)
    x = n.op("Reshape", x, n.ints(2, 2, 4, 6, 6))
    x = n.op("Reshape", n.op("Transpose", x, perm=[0, 2, 1, 3, 4]), n.ints(2, 8, 6, 6))
    x = n.op("InstanceNormalization", x, n.positive(8, by=True), n.weight(8, by=True))
    x = n.op("HardSwish", n.conv(x, (8, 8), group=4))
    gate = n.op("HardSigmoid", n.op("GlobalAveragePool", x), alpha=0.2, beta=0.5)
    return n.done(n.op("AveragePool", n.op("Mul", x, gate), kernel_shape=[3, 3], pads=[1, 1, 1, 1]))


def dilated() -> ProofModel:
    """Asymmetric pads, strides that leave a rest, dilations, LeakyRelu, PRelu and LpPool."""
    n = Net(6)
    x = n.op("LeakyRelu", n.conv(n.input("x", 1, 2, 9, 10), (2, 4), dilations=[2, 1], pads=[1, 2, 3, 0]))
    x = n.op("PRelu", n.conv(x, (4, 4), by=True, strides=[2, 3], pads=[0, 1, 1, 0]), n.positive(4, 1, 1))
    x = n.op("LpPool", x, kernel_shape=[2, 2], p=2)
    return n.done(n.op("Elu", n.op("GlobalMaxPool", x)), x)


def moved() -> ProofModel:
    """Pad, Slice, Split, Transpose, Tile, Expand, SpaceToDepth and Squeeze."""
    n = Net(7)
    x = n.op("Pad", n.input("x", 2, 3, 5, 6), n.ints(0, 0, 1, 0, 0, 0, 0, 2), n.const(0.5))
    x = n.op("Slice", x, n.ints(1, 7), n.ints(6, 0), n.ints(2, 3), n.ints(2, -1))
    one, two = n.several("Split", n.op("Sin", x), n.ints(1, 2), count=2, axis=1)
    turned = n.op("Transpose", two, perm=[0, 1, 3, 2])
    square = n.op("Mul", turned, n.op("Tile", n.op("Transpose", one, perm=[0, 1, 3, 2]), n.ints(1, 2, 1, 1)))
    folded = n.op("Pad", square, n.ints(0, 0, 1, 1, 0, 0, 0, 2), mode="reflect")
    return n.done(n.op("ReduceSum", n.op("Tanh", folded), n.ints(1), keepdims=0))


def sampled() -> ProofModel:
    """A spatial transformer: an affine grid from the data, GridSample, and a Where mask."""
    n = Net(8)
    x = n.input("x", 1, 2, 5, 6)
    theta = n.op("Add", n.dense(n.op("Flatten", x), (60, 6)), n.const([[1.0, 0, 0, 0, 1.0, 0]]))
    theta = n.op("Reshape", n.op("Mul", n.op("Tanh", theta), n.const(0.8)), n.ints(1, 2, 3))
    corners = n.const(np.array(np.meshgrid(*[np.linspace(-0.83, 0.79, 4)] * 2)).reshape(2, 16))
    ones = n.const(np.ones((1, 16), np.float32))
    base = n.op("Unsqueeze", n.op("Concat", corners, ones, axis=0), n.ints(0))
    grid = n.op("Transpose", n.op("MatMul", theta, base), perm=[0, 2, 1])
    grid = n.op("Reshape", grid, n.ints(1, 4, 4, 2))
    y = n.op("GridSample", x, grid, mode="bilinear", padding_mode="zeros")
    bright = n.op("Greater", y, n.const(0.1))
    return n.done(n.op("Where", bright, n.op("Exp", y), n.op("Mul", y, y)))


def siamese() -> ProofModel:
    """Two images through the same weights, their distance, and Max of both."""
    n = Net(9)
    weight = n.weight(4, 2, 3, 3, by=True)
    one, two = (
        n.op("Tanh", n.op("Conv", n.input(name, 1, 2, 5, 5), weight, strides=[2, 2])) for name in "ab"
    )
    apart = n.op("Sub", one, two)
    distance = n.op("Sqrt", n.op("ReduceSumSquare", apart, axes=[1], keepdims=1))
    return n.done(distance, n.op("Max", one, two), n.op("Div", one, n.op("Add", distance, n.const(1.0))))


def normalized_in_training() -> ProofModel:
    """BatchNormalization by the statistics of the batch, and LRN."""
    n = Net(10)
    x = n.conv(n.input("x", 3, 2, 4, 4), (2, 4))
    given = [n.positive(4, by=True), n.weight(4, by=True), n.weight(4), n.positive(4)]
    x = n.several("BatchNormalization", x, *given, count=3, training_mode=1)[0]
    return n.done(n.op("LRN", n.op("Softplus", x), size=3, alpha=0.3, beta=0.6))


IMAGES: Mapping[str, Callable[[], ProofModel]] = MappingProxyType(
    {
        "densenet": densenet,
        "dilated": dilated,
        "grouped": grouped,
        "mobilenet": mobilenet,
        "moved": moved,
        "normalized_in_training": normalized_in_training,
        "resnet": resnet,
        "sampled": sampled,
        "siamese": siamese,
        "unet": unet,
    }
)
