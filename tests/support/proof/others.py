"""Small models of other kinds for tests of the gradient proof: tables, selection, branches, dtypes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np
from onnx import TensorProto, helper
from support.proof.net import Net, ProofModel


def mlp() -> ProofModel:
    """Smooth, of any batch, with a product of activations."""
    n = Net(31)
    x = n.op("Tanh", n.dense(n.input("x", "N", 4), (4, 8), by=True))
    x = n.op("Mul", n.op("Sigmoid", n.dense(x, (8, 8), by=True)), x)
    return n.done(n.op("Softplus", n.dense(x, (8, 3), by=True)))


def branches() -> ProofModel:
    """An If whose branches read weights from around, and a Where."""
    n = Net(32)
    x, w, u = n.input("x", 2, 3), n.weight(3, 3, by=True), n.weight(3, by=True)
    inner = n.op("Sin", x)

    def branch(*nodes: tuple[str, list[str], str]) -> object:
        made = [helper.make_node(op, given, [result]) for op, given, result in nodes]
        edge = helper.make_tensor_value_info(nodes[-1][2], TensorProto.FLOAT, [2, 3])
        return helper.make_graph(made, nodes[-1][2], [], [edge])

    y = n.op(
        "If",
        n.flag("training", True),
        then_branch=branch(("MatMul", [inner, w], "t"), ("Tanh", ["t"], "a")),
        else_branch=branch(("Mul", [inner, u], "m"), ("Exp", ["m"], "b")),
    )
    return n.done(n.op("Where", n.op("Less", x, n.const(0.0)), y, n.op("Add", y, u)))


def ranked() -> ProofModel:
    """TopK, GatherElements, ScatterND, ScatterElements, OneHot and CumSum, as in detectors and rankers."""
    n = Net(33)
    x = n.input("x", 3, 6)
    top, _ = n.several("TopK", n.op("Exp", x), n.ints(3), count=2, axis=1)
    places = n.const(np.array([[0, 2], [1, 1], [5, 3]], np.int64))
    picked = n.op("GatherElements", x, places, axis=1)
    updated = n.op(
        "ScatterElements", top, n.const(np.array([[2], [0], [1]], np.int64)), n.weight(3, 1, by=True), axis=1
    )
    summed = n.op("CumSum", updated, n.const(np.array(1, np.int64)), exclusive=1)
    rows = n.const(np.array([[0], [2]], np.int64))
    written = n.op("ScatterND", n.op("Mul", summed, summed), rows, n.weight(2, 3, by=True))
    return n.done(n.op("ReduceMax", x, axes=[0], keepdims=0), n.op("Concat", written, picked, axis=1))


def reduced() -> ProofModel:
    """Reductions of every kind."""
    n = Net(34)
    x = n.input("x", 2, 3, 4)
    sums = [
        n.op("ReduceMean", x, axes=[1], keepdims=1),
        n.op("ReduceL2", x, axes=[1], keepdims=1),
        n.op("ReduceLogSumExp", x, axes=[1], keepdims=1),
        n.op("ReduceProd", x, axes=[1], keepdims=1),
        n.op("ReduceSumSquare", x, axes=[1], keepdims=1),
        n.op("ReduceL1", x, axes=[1], keepdims=1),
        n.op("ReduceMin", x, axes=[1], keepdims=1),
    ]
    y = n.op("Concat", *sums, axis=1)
    return n.done(n.op("Mul", y, n.weight(7, 1, by=True)), n.op("Mean", *sums[:3]))


def divided() -> ProofModel:
    """Cosine similarity, Pow of a learned exponent, Atan, Log, Reciprocal and Neg."""
    n = Net(35)
    a, b = n.input("a", 3, 5), n.input("b", 4, 5)
    norms = [n.op("ReduceL2", x, axes=[1], keepdims=1) for x in (a, b)]
    rows = [n.op("Div", x, norm) for x, norm in zip((a, b), norms, strict=True)]
    similar = n.op("MatMul", rows[0], n.op("Transpose", rows[1], perm=[1, 0]))
    base = n.op("Add", n.op("Neg", similar), n.const(2.0))
    y = n.op("Pow", base, n.positive(4, by=True))
    return n.done(n.op("Atan", n.op("Log", y)), n.op("Reciprocal", base))


def quantized() -> ProofModel:
    """QuantizeLinear and DequantizeLinear around a convolution, differentiated straight through."""
    n = Net(36)
    zero = n.const(np.array(0, np.int8))

    def rounded(x: str, scale: float) -> str:
        step = n.const(scale)
        return n.op("DequantizeLinear", n.op("QuantizeLinear", x, step, zero), step, zero)

    x = rounded(n.input("x", 1, 2, 5, 5), 0.01)
    x = n.op("Tanh", n.op("Conv", x, rounded(n.weight(3, 2, 3, 3, by=True), 0.01), pads=[1] * 4))
    x = n.op("Flatten", n.op("GlobalAveragePool", rounded(x, 0.02)))
    return n.done(n.op("MatMul", x, n.weight(3, 2, by=True)), straight_through=True)


def half() -> ProofModel:
    """A block in float16."""
    n = Net(37)
    x = n.input("x", 2, 4, dtype=np.float16)
    x = n.op("Tanh", n.op("MatMul", x, n.weight(4, 4, by=True, dtype=np.float16)))
    x = n.op("Softmax", n.op("Add", x, n.weight(4, by=True, dtype=np.float16)), axis=-1)
    return n.done(x, element=TensorProto.FLOAT16)


def mixed() -> ProofModel:
    """Casts between float32 and float16, as in mixed precision, and float64 statistics."""
    n = Net(38)
    x = n.op("Cast", n.input("x", 2, 4), to=TensorProto.FLOAT16)
    x = n.op("Sigmoid", n.op("MatMul", x, n.weight(4, 4, by=True, dtype=np.float16)))
    x = n.op("Cast", x, to=TensorProto.DOUBLE)
    x = n.op("ReduceLogSum", n.op("Mul", x, x), axes=[1], keepdims=1)
    return n.done(n.op("Cast", x, to=TensorProto.FLOAT))


def open_sizes() -> ProofModel:
    """Sizes known at run time only: un-broadcasting, a mean, reshapes by computed sizes."""
    n = Net(39)
    x = n.input("x", "N", "L", 4)
    sizes = n.op("Concat", n.op("Slice", n.op("Shape", x), n.ints(0), n.ints(2)), n.ints(2, 2), axis=0)
    y = n.op("Transpose", n.op("Reshape", x, sizes), perm=[0, 2, 1, 3])
    y = n.op("Mul", n.op("Sub", y, n.op("ReduceMean", y, axes=[2])), n.weight(2, 1, 2, by=True))
    z = n.op("Softmax", n.op("Add", y, n.weight(1, 2, by=True)), axis=2)
    return n.done(n.op("ReduceSum", n.op("Mul", z, y), n.ints(2), keepdims=0))


def physics() -> ProofModel:
    """A field by sines of random features, as in NeRF: Sin, Cos, Concat, Gemm and residuals."""
    n = Net(40)
    angles = n.op("Gemm", n.input("x", 5, 3), n.weight(3, 6, scale=2.0))
    x = n.op("Concat", n.op("Sin", angles), n.op("Cos", angles), axis=1)
    for _ in range(3):
        x = n.op("Add", x, n.op("Relu", n.op("Gemm", x, n.weight(12, 12, by=True), n.weight(12))))
    colour, density = n.several("Split", n.dense(x, (12, 4)), n.ints(3, 1), count=2, axis=1)
    return n.done(n.op("Mul", n.op("Sigmoid", colour), n.op("Exp", density)))


def deep() -> ProofModel:
    """Sixty layers of one kind, where an error of one per cent in one of them is easily lost."""
    n = Net(41)
    x = n.input("x", 2, 6)
    for i in range(60):
        shifted = n.op("Add", n.op("MatMul", x, n.weight(6, 6)), n.weight(6, scale=0.3))
        x = n.op("Add", x, n.op("Mul", n.op("Tanh", shifted, name=f"layer{i}"), n.const(0.2)))
    return n.done(x)


def turned() -> ProofModel:
    """A cyclic Transpose, Reshape, Expand, SpaceToDepth and DepthToSpace."""
    n = Net(42)
    x = n.op("Transpose", n.op("Sin", n.input("x", 3, 3, 3)), perm=[1, 2, 0])
    x = n.op("Mul", x, n.weight(3, 3, 3, by=True))
    x = n.op("Expand", n.op("Reshape", x, n.ints(1, 27)), n.ints(4, 27))
    x = n.op("Mul", n.op("Sin", x), n.weight(4, 27, scale=1.0))
    x = n.op("ReduceMean", x, axes=[1], keepdims=0)
    z = n.op("SpaceToDepth", n.op("Tanh", n.input("z", 1, 2, 4, 4)), blocksize=2)
    z = n.op("DepthToSpace", n.conv(z, (8, 8), 1, pads=[0] * 4, by=True), blocksize=2, mode="CRD")
    return n.done(n.op("Mul", z, n.op("Tanh", x)))


def mlp_twice() -> ProofModel:
    """The second derivative of `mlp`."""
    return replace(mlp(), order=2)


def conv_twice() -> ProofModel:
    """The second derivative of two convolutions."""
    n = Net(43)
    x = n.op("Tanh", n.conv(n.input("x", 1, 2, 6, 6), (2, 3), by=True, strides=[2, 2]))
    return replace(n.done(n.op("Softplus", n.conv(x, (3, 2), by=True))), order=2)


def at_a_kink() -> ProofModel:
    """Relu of a product with a weight that begins as zeros: the derivative there is a convention."""
    n = Net(44)
    inner = n.op("MatMul", n.input("x", 3, 4), n.const(np.zeros((4, 2), np.float32), by=True))
    return n.done(n.op("Relu", inner))


OTHERS: Mapping[str, Callable[[], ProofModel]] = MappingProxyType(
    {
        "branches": branches,
        "conv_twice": conv_twice,
        "deep": deep,
        "divided": divided,
        "half": half,
        "mixed": mixed,
        "mlp": mlp,
        "mlp_twice": mlp_twice,
        "open_sizes": open_sizes,
        "physics": physics,
        "quantized": quantized,
        "ranked": ranked,
        "reduced": reduced,
        "turned": turned,
    }
)

AT_KINKS: Mapping[str, Callable[[], ProofModel]] = MappingProxyType({"at_a_kink": at_a_kink})
"""Models whose gradient is a matter of convention in part, which no check can decide."""
