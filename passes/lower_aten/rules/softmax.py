"""Softmax, its logarithm, and their gradients from the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules import softmaxes
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule


def along(f: Call, x: Value, made: Callable[[Value, int], Value]) -> Value:
    """Call `made` with the axis `dim`; a scalar counts as a vector of one element."""
    if x.rank:
        return made(x, f.dim % x.rank)
    return made(x.unsqueeze([0]), 0).squeeze([0])


def of_axis(op: type[OnnxOp]) -> Rule:
    """Return the rule of an op along an axis."""

    def rule(f: Call, e: Builder) -> Value:
        return along(f, f.self.cast(f.dtype), lambda x, axis: x.apply(op, axis=axis))

    return rule


def safe_softmax(f: Call, e: Builder) -> Value:
    """Softmax with zeros where all elements along the axis are -inf."""

    def mask_rows(x: Value, axis: int) -> Value:
        largest = x.apply(onnx.ReduceMaxOp, e.ints([axis]), keepdims=1)
        return largest.equals(-np.inf).where(e.scalar(0, x), x.apply(onnx.SoftmaxOp, axis=axis))

    return along(f, f.self.cast(f.dtype), mask_rows)


def softmax_backward(f: Call, e: Builder) -> Value:
    """(g - sum(g y)) y along the axis."""
    y, g = f.output, f.grad_output
    if not y.rank:
        return e.fill_like(0, y).cast(f.dtype)
    return ((g - (g * y).sum_axes([f.dim % y.rank], 1)) * y).cast(f.dtype)


def log_softmax_backward(f: Call, e: Builder) -> Value:
    """g - exp(y) sum(g), by the VJP rule, which knows cotangents of one element for each label."""
    y, g = f.output, f.grad_output
    if not y.rank:
        return e.fill_like(0, y).cast(f.dtype)
    (found,) = _log_softmax_vjp(Primal(e, [None], {"axis": f.dim % y.rank}, [y]), [g], e)
    assert isinstance(found, Value)
    return found.cast(f.dtype)


_log_softmax_vjp: Callable[[Primal, Sequence[Value], Builder], Sequence[object]] = softmaxes.log_softmax

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "_softmax.default": of_axis(onnx.SoftmaxOp),
        "_log_softmax.default": of_axis(onnx.LogSoftmaxOp),
        "_safe_softmax.default": safe_softmax,
        "_softmax_backward_data.default": softmax_backward,
        "_log_softmax_backward_data.default": log_softmax_backward,
    }
)
