"""resize-axes-last: the resized axes moved behind all others, resized there, and moved back.

A resize is a product on outer x Y x inner. With few columns, inner, that product runs at a fraction of
its speed: the pixels of an image with channels last are rows of three numbers. With the axes last it has
as many rows as there are lines, and the Transposes cost less than they save. Of one channel, no Transpose
is needed: the tensor is the same in either order.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.emit.budget import CompileTimeCost
from passes.emit.rewriting import Emitter
from passes.emit.tensors import reshape, size_of
from passes.kernels.target import Target
from passes.layout.orders import Order, inverse, layout_variant
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.resize_by_axis import ResizeByAxis, no_form

MOST_BEHIND = 16
"""Columns that a product computes at once (AVX-512, f32): with more, it needs no other order."""

_BY_AXIS = ResizeByAxis()


class ResizeAxesLast(Strategy):
    """Transpose, the cheapest form of each axis, Transpose."""

    name: ClassVar[str] = "resize-axes-last"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        return _BY_AXIS.compile_time_cost(op) + CompileTimeCost(nodes=2)

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        behind = _behind(op)
        if not behind:
            return "the last axis is resized itself: nothing lies behind"
        columns = shapes.static([shape_of(op.diff_dst)[axis] for axis in behind])
        if columns is None:
            return "what lies behind the resized axes must be known at compile time"
        if math.prod(columns) > MOST_BEHIND:
            return f"{math.prod(columns)} columns lie behind the resized axes: a product is quick as they are"
        return no_kernel(target, op.diff_dst, onnx.TransposeOp) or no_form(op, target)

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        return _BY_AXIS.spreads_nonfinite(op, target)

    def least_price(self, op: Operation, target: Target) -> float:
        assert isinstance(op, ResizeBackwardOp)
        with layout_variant(op, _axes_last(op)) as other:
            return _BY_AXIS.least_price(other, target)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: Emitter) -> SSAValue:
        order = _axes_last(op)
        with layout_variant(op, order, [_ordered(emit, op.diff_dst, order)]) as other:
            value = _BY_AXIS.emit(other, target, emit)
        return _ordered(emit, value, inverse(order))


def _behind(op: ResizeBackwardOp) -> range:
    """The axes behind the last resized one."""
    return range(max(op.axes) + 1, len(shape_of(op.diff_dst)))


def _axes_last(op: ResizeBackwardOp) -> Order:
    axes = op.axes
    others = [axis for axis in range(len(shape_of(op.diff_dst))) if axis not in axes]
    return (*others, *sorted(axes))


def _ordered(emit: Emitter, value: SSAValue, order: Order) -> SSAValue:
    """A Transpose, or a Reshape where only axes of size 1 change places with others."""
    shape = shape_of(value)
    kept = [axis for axis in order if shape[axis] != 1]
    if kept == sorted(kept):
        return reshape(emit, value, [size_of(emit, value, axis) for axis in order])
    return emit(onnx.TransposeOp(value, perm=order))
