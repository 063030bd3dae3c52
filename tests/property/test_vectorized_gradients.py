"""Whole gradients that are vectorized over their cotangents, on onnxruntime: each row is a single run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from support.networks import NETWORKS, Network, module_of, values_of
from xdsl.dialects.builtin import f32

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.support.entry import entry_function
from dialects.support.shapes import DimLike
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from passes.builder.values import Value
from passes.differentiate import Request, differentiate
from passes.vectorize.vectorize import vectorize

ROWS, BATCH = 4, 3


def lstm(x: Value, w: Value, r: Value) -> Value:
    hidden = x.apply(onnx.LSTMOp, w, r, hidden_size=3, direction="forward")
    return hidden.apply(onnx.ReduceSumOp, x.e.ints([1]), keepdims=0)


def pools(x: Value, w: Value) -> Value:
    """Convolution, pools with and without shared elements, and a resize."""
    e = x.e
    maps = x.apply(onnx.ConvOp, w, pads=[1, 1, 1, 1])
    halves = maps.apply(onnx.MaxPoolOp, kernel_shape=[2, 2], strides=[2, 2])
    means = halves.apply(onnx.AveragePoolOp, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    largest = means.apply(onnx.MaxPoolOp, kernel_shape=[2, 2])
    scales = e(e.emit.constant(np.array([1, 1, 2, 2], np.float32)))
    return largest.apply(onnx.ResizeOp, None, scales, mode="linear")


NETS: Mapping[str, tuple[Network, Mapping[str, Sequence[DimLike]]]] = {
    **NETWORKS,
    "lstm": (lstm, {"x": (5, "N", 2), "w": (1, 12, 2), "r": (1, 12, 3)}),
    "lstm of one sample": (lstm, {"x": (5, 1, 2), "w": (1, 12, 2), "r": (1, 12, 3)}),
    "pools": (pools, {"x": ("N", 2, 8, 8), "w": (4, 2, 3, 3)}),
    "pools one sample": (pools, {"x": (1, 2, 8, 8), "w": (4, 2, 3, 3)}),
}


@pytest.mark.parametrize("size", [ROWS, "K"])
@pytest.mark.parametrize("name", NETS)
def test_a_gradient_of_all_cotangents_is_that_of_each(name: str, size: int | str):
    network, inputs = NETS[name]
    _assert_rows_on_runtime(network, inputs, (-1,), size)


@pytest.mark.parametrize("size", [ROWS, "K"])
@pytest.mark.parametrize("name", NETS)
def test_a_gradient_of_each_sample_is_that_of_a_run_with_it(name: str, size: int | str):
    """The data has the axis, too, and the weights have not."""
    network, inputs = NETS[name]
    _assert_rows_on_runtime(network, inputs, (0, -1), size)


def _assert_rows_on_runtime(
    network: Network, inputs: Mapping[str, Sequence[DimLike]], batched: Sequence[int], size: int | str
) -> None:
    """Vectorize a gradient over some inputs, the last of which is the cotangent. Only the gradient of a
    convolution by its weights falls back, as the number of its groups would be dynamic."""
    module, rng = module_of(network, inputs, f32), np.random.default_rng(1)
    values = [array.astype(np.float32) for array in values_of(inputs, BATCH)]
    values.append(rng.normal(size=evaluate(module, values)[0].shape).astype(np.float32))
    differentiate(module, Request(cotangents=True))
    stacks = {i % len(values): _rows_of(values[i], rng) for i in batched}
    rows = [
        evaluate(module, [stacks[i][row] if i in stacks else value for i, value in enumerate(values)])
        for row in range(ROWS)
    ]
    function = entry_function(module)
    found = vectorize(function, [function.args[i] for i in batched], size)
    assert {op.name for op in found.fallbacks} <= ({"grad.conv_backward_weights"} if size == "K" else set())
    compiled = compile_module(module, Options(threads=1))
    given = [stacks.get(i, value) for i, value in enumerate(values)]
    feeds = dict(zip((info.name for info in compiled.inputs), given, strict=True))
    for result, *expected in zip(compiled.session().run(feeds).values(), *rows, strict=True):
        np.testing.assert_allclose(result, np.stack(expected), rtol=1e-3, atol=1e-5)


def _rows_of(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    others = (rng.normal(size=value.shape) * 0.5 for _ in range(ROWS - 1))
    return np.stack([value, *others]).astype(np.float32)
