"""Slices of one tensor: their gradients are put side by side, not padded and added."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.adjoint import is_adjoint
from support.networks import module_of, values_of
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from passes.builder.values import Value
from passes.simplify import simplify


def cut(x: Value, axis: int, start: int, end: int) -> Value:
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([axis]))


def together(parts: list[Value], axis: int) -> Value:
    e = parts[0].e
    return e(e.emit(onnx.ConcatOp([part.value for part in parts], axis=axis)))


def rolled(x: Value) -> Value:
    return together([cut(x, 1, 2, 6), cut(x, 1, 0, 2)], 1) * x.e.scalar(2, x)


def rotary(x: Value) -> Value:
    return x.sigmoid() * together([-cut(x, 1, 3, 6), cut(x, 1, 0, 3)], 1)


def steps(x: Value) -> Value:
    """Of an unrolled recurrence, in another order."""
    total = None
    for i in (4, 1, 0, 5, 2, 3):
        part = cut(x, 1, i, i + 1).tanh()
        total = part if total is None else total * 0.5 + part
    assert total is not None
    return total


def with_gaps(x: Value) -> Value:
    parts = [cut(x, 1, 1, 3), cut(x, 1, 3, 5), cut(x, 1, 2, 4), cut(x, 1, 1, 3).exp(), cut(x, 2, 0, 1)]
    first = parts[0] * parts[1] + parts[2] * parts[3]
    return first * parts[4].apply(onnx.ReduceSumOp, x.e.ints([1]), keepdims=1)


CONCATS = {rolled: 1, rotary: 2, steps: 1}
"""Network -> how many Concats its gradient has, one of the network's own among them."""


@pytest.mark.parametrize("network", [*CONCATS, with_gaps], ids=lambda network: network.__name__)
def test_parts_of_one_tensor(network):
    inputs = {"x": ("N", 6, 2)}
    values, rng = values_of(inputs, 3), np.random.default_rng(1)
    gradient, cotangents = is_adjoint(module_of(network, inputs, f64), values, rng, strict=False)
    is_adjoint(gradient, [*values, *cotangents], rng, strict=False)
    if network is with_gaps:
        return
    simplify(gradient)
    names = Counter(op.name for op in gradient.walk())
    assert not names["onnx.Pad"]
    assert names["onnx.Concat"] == CONCATS[network]
