"""resize-axes-last: the resized axes are transposed to the end, resized there, and transposed back.

A resize is a product on outer x Y x inner. With few inner columns, such as the three channels of a
channels-last image, the product runs at a fraction of its speed. With the axes last it has as many rows as
there are lines, which saves more than the Transposes cost. One channel needs no Transpose: the tensor is the
same in either order.
"""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import Operation, SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape, size_of
from passes.layout.orders import Order, inverse, layout_variant
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.resize.resize_by_axis import ResizeByAxis, no_form
from passes.targets.target import Target

MOST_BEHIND = 16
"""Columns that a product computes at once (AVX-512, f32): with more, no transposition is needed."""

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
            return "the last axis is resized, so there are no inner axes"
        columns = shapes.static([shape_of(op.diff_dst)[axis] for axis in behind])
        if columns is None:
            return "the sizes of the inner axes must be static"
        if math.prod(columns) > MOST_BEHIND:
            return f"{math.prod(columns)} inner columns: a product needs no transposition"
        return no_kernel(target, op.diff_dst, onnx.TransposeOp) or no_form(op, target)

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        return _BY_AXIS.spreads_nonfinite(op, target)

    def least_price(self, op: Operation, target: Target) -> float:
        assert isinstance(op, ResizeBackwardOp)
        with layout_variant(op, _axes_last(op)) as other:
            return _BY_AXIS.least_price(other, target)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        order = _axes_last(op)
        with layout_variant(op, order, [_permute(emit, op.diff_dst, order)]) as other:
            value = _BY_AXIS.emit(other, target, emit)
        return _permute(emit, value, inverse(order))


def _behind(op: ResizeBackwardOp) -> range:
    """Return the axes after the last resized one."""
    return range(max(op.axes) + 1, len(shape_of(op.diff_dst)))


def _axes_last(op: ResizeBackwardOp) -> Order:
    axes = op.axes
    others = [axis for axis in range(len(shape_of(op.diff_dst))) if axis not in axes]
    return (*others, *sorted(axes))


def _permute(emit: OpBuilder, value: SSAValue, order: Order) -> SSAValue:
    """Transpose, or Reshape if only axes of size 1 move."""
    shape = shape_of(value)
    kept = [axis for axis in order if shape[axis] != 1]
    if kept == sorted(kept):
        return reshape(emit, value, [size_of(emit, value, axis) for axis in order])
    return emit(onnx.TransposeOp(value, perm=order))
