"""Softmax, its logarithm and their gradients in ONNX."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from dialects.onednn.softmax import LogSoftmaxFamilyOp, SoftmaxFamilyBackwardOp, SoftmaxFamilyOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import element_type_of
from passes.autodiff.common.primal import Primal
from passes.autodiff.rules import softmaxes
from passes.builder.values import Builder, Value


def softmax(op: SoftmaxFamilyOp, e: Builder) -> Sequence[Value]:
    """Lower a softmax; a row of -inf alone gives NaN in ONNX."""
    src, axis = e(op.src), op.resolve_axis(op.src)
    along = e.ints([axis])
    largest = src.apply(onnx.ReduceMaxOp, along, keepdims=1)
    total = (src - largest).exp().apply(onnx.ReduceSumOp, along, keepdims=1)
    dst, stats = src.apply(onnx.SoftmaxOp, axis=axis), total.log() + largest
    if op.value("mode") == "inf_as_zero":
        nothing = largest.equals(-math.inf)
        dst, stats = (nothing.where(e.scalar(0, x), x) for x in (dst, stats))
    return [dst.cast(element_type_of(op.dst)), stats.cast(element_type_of(op.stats))]


def log_softmax(op: LogSoftmaxFamilyOp, e: Builder) -> Sequence[Value]:
    return [e(op.src).apply(onnx.LogSoftmaxOp, axis=op.resolve_axis(op.src))]


def _backward(of: str) -> Callable[[SoftmaxFamilyBackwardOp, Builder], Sequence[Value]]:
    def convert(op: SoftmaxFamilyBackwardOp, e: Builder) -> Sequence[Value]:
        attributes = {"axis": op.resolve_axis(op.dst)}
        forward = Primal(e, operands=(None,), attributes=attributes, results=[e(op.dst)])
        (gradient,) = softmaxes.RULES[of](forward, [e(op.diff_dst)], e)
        assert isinstance(gradient, Value)
        return [gradient.cast(element_type_of(op.diff_src))]

    return convert


CONVERSIONS: Mapping[str, Callable[..., Sequence[Value]]] = MappingProxyType(
    {
        "LogSoftmax": log_softmax,
        "LogSoftmaxBackward": _backward("LogSoftmax"),
        "SoftMax": softmax,
        "SoftMaxBackward": _backward("Softmax"),
    }
)
