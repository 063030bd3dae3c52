"""Small networks of ONNX ops, to be differentiated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from dialects.onnx import ops as onnx
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import DimLike, tensor_type
from passes.builder.values import Builder, Value

Network = Callable[..., Value]
"""Of its inputs, by name."""


def module_of(network: Network, inputs: Mapping[str, Sequence[DimLike]], dtype: Attribute) -> ModuleOp:
    block, e = Block(arg_types=[tensor_type(dtype, shape) for shape in inputs.values()]), Builder()
    result = network(**dict(zip(inputs, map(e, block.args), strict=True)))
    block.add_ops([*e.emit.ops, ReturnOp(result.value)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, list(inputs), ["y"])
    update_function_type(function)
    return ModuleOp([function])


def values_of(inputs: Mapping[str, Sequence[DimLike]], batch: int, seed: int = 0) -> list[np.ndarray]:
    """Random inputs; a size that is named is `batch`."""
    rng = np.random.default_rng(seed)
    shapes = [[size if isinstance(size, int) else batch for size in shape] for shape in inputs.values()]
    return [rng.normal(size=shape) * 0.5 for shape in shapes]


def mlp(x: Value, w1: Value, b1: Value, w2: Value, b2: Value) -> Value:
    hidden = (x.apply(onnx.MatMulOp, w1) + b1).apply(onnx.ReluOp)
    return hidden.apply(onnx.GemmOp, w2, b2, transB=1).tanh()


def _heads(x: Value, w: Value) -> Value:
    """(N, T, 8) to (N, 2, T, 4), by sizes that are computed."""
    e, product = x.e, x.apply(onnx.MatMulOp, w)
    sizes = product.apply(onnx.ShapeOp)
    outer = sizes.apply(onnx.SliceOp, e.ints([0]), e.ints([2]), e.ints([0]))
    target = e(e.emit(onnx.ConcatOp([outer.value, e.ints([2, 4]).value], axis=0)))
    return product.apply(onnx.ReshapeOp, target).apply(onnx.TransposeOp, perm=[0, 2, 1, 3])


def attention(x: Value, wq: Value, wk: Value, wv: Value, wo: Value) -> Value:
    """With a softmax of exponentials, and what is added goes around it."""
    e = x.e
    q, k, v = (_heads(x, w) for w in (wq, wk, wv))
    scores = q.apply(onnx.MatMulOp, k.apply(onnx.TransposeOp, perm=[0, 1, 3, 2])) * 0.5
    most = scores.apply(onnx.ReduceMaxOp, e.ints([-1]), keepdims=1)
    powers = (scores - most).exp()
    weights = powers / powers.apply(onnx.ReduceSumOp, e.ints([-1]), keepdims=1)
    mixed = weights.apply(onnx.MatMulOp, v).apply(onnx.TransposeOp, perm=[0, 2, 1, 3])
    flat = mixed.apply(onnx.ReshapeOp, e.ints([0, 0, 8]))
    return x + flat.apply(onnx.MatMulOp, wo)


def rolled(x: Value, table: Value) -> Value:
    """What moves elements: a roll, every other element, an embedding, and two tensors side by side."""
    e = x.e
    last = x.apply(onnx.SliceOp, e.ints([-1]), e.ints([2**31 - 1]), e.ints([1]))
    rest = x.apply(onnx.SliceOp, e.ints([0]), e.ints([-1]), e.ints([1]))
    rolled_x = e(e.emit(onnx.ConcatOp([last.value, rest.value], axis=1)))
    every = rolled_x.apply(onnx.SliceOp, e.ints([0]), e.ints([2**31 - 1]), e.ints([2]), e.ints([2]))
    rows = table.apply(onnx.GatherOp, e.ints([1, 0, 1]), axis=0)
    return (every * x.apply(onnx.SliceOp, e.ints([0]), e.ints([3]), e.ints([2]))).apply(onnx.MatMulOp, rows)


def cnn(x: Value, w1: Value, b1: Value, w2: Value, fc: Value) -> Value:
    """A strided convolution, one of groups, and the mean over space."""
    e = x.e
    first = x.apply(onnx.ConvOp, w1, b1, strides=[2, 2], pads=[1, 1, 1, 1]).apply(onnx.ReluOp)
    second = first.apply(onnx.ConvOp, w2, group=2, pads=[0, 1, 1, 0], dilations=[1, 2]).sigmoid()
    pooled = second.apply(onnx.ReduceMeanOp, e.ints([2, 3]), keepdims=0)
    return pooled.apply(onnx.MatMulOp, fc)


NETWORKS: Mapping[str, tuple[Network, Mapping[str, Sequence[DimLike]]]] = {
    "mlp": (mlp, {"x": ("N", 4), "w1": (4, 8), "b1": (8,), "w2": (3, 8), "b2": (3,)}),
    "attention": (attention, {"x": ("N", "N", 8), "wq": (8, 8), "wk": (8, 8), "wv": (8, 8), "wo": (8, 8)}),
    "cnn": (
        cnn,
        {"x": ("N", 3, 9, 8), "w1": (4, 3, 3, 3), "b1": (4,), "w2": (6, 2, 2, 2), "fc": (6, 2)},
    ),
    "rolled": (rolled, {"x": ("N", "N", 6), "table": (2, 5)}),
}
