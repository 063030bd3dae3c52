"""Adjoint of broadcasting."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx import ops as onnx
from dialects.onnx.dims import is_min_with
from dialects.support.shapes import Dim, Shape, shape_of
from passes.builder.values import Builder, Value


def unbroadcast(gradient: Value, operand: Value, e: Builder) -> Value:
    """Sum a gradient over its operand's broadcast axes, in the operand's shape.

    The shape of the gradient is one to which that of the operand broadcasts. The set of axes may depend on
    dynamic sizes.
    """
    given, wanted = shape_of(gradient.value), shape_of(operand.value)
    own = (1,) * (len(given) - len(wanted)) + wanted
    differ = [axis for axis in range(len(given)) if not _is_same(given[axis], own[axis])]
    missing = range(len(given) - len(wanted))
    if missing and differ == list(missing):
        return gradient.sum_axes(missing)
    summed = _sum_repeats(gradient, operand, own, differ, e) if differ else gradient
    return summed.squeeze(missing) if missing else summed


def _sum_repeats(gradient: Value, operand: Value, own: Shape, differ: Sequence[int], e: Builder) -> Value:
    """Sum over those of the axes `differ` on which the operand has size 1, with keepdims."""
    if all(own[axis] == 1 for axis in differ):
        return gradient.sum_axes(differ, keepdims=1)
    axes = _ones(operand, len(own), e)
    return gradient.apply(onnx.ReduceSumOp, axes, keepdims=1, noop_with_empty_axes=1)


def _is_same(size: Dim, dim: Dim) -> bool:
    """Return whether `size` equals `dim`, which broadcasts to it, in every run."""
    return size is not None and (size == dim or is_min_with(dim, size))


def _ones(operand: Value, rank: int, e: Builder) -> Value:
    """Return the axes, of `rank`, that are 1 or missing in the operand, as a vector."""
    missing = rank - len(shape_of(operand.value))
    sizes = operand.apply(onnx.ShapeOp)
    if missing:
        sizes = e.concat([e.ints([1] * missing), sizes], 0)
    return sizes.equals(e.ints([1])).apply(onnx.NonZeroOp).squeeze([0])
