"""resize-to-pool: for enlargement by whole factors with `nearest`, the gradient is a sum over windows.

AveragePool times the window size, with the axes as spatial ones of images with one channel, and the inner
axes (the channels of NXC) as one more that is not pooled: onnxruntime's pooling runs along the last axis in
any case, and reads the data once for all axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of, static_shape
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, product, reshape, size_of
from passes.cost.work import Work
from passes.resize.axis_forms import Sums
from passes.resize.axis_forms.base import as_dtype_of
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

MOST_SPATIAL = 3
"""AveragePool of onnxruntime takes one to three spatial axes."""


class ResizeToPool(Strategy):
    """AveragePool over images of one channel."""

    name: ClassVar[str] = "resize-to-pool"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        return sum((Sums().compile_time_cost(sampling) for sampling in op.samplings), CompileTimeCost())

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.AveragePoolOp, onnx.MulOp):
            return reason
        if not isinstance(shape_of(op.diff_dst)[0], int) or 0 in shape_of(op.diff_dst):
            return "AveragePool rejects an empty batch, so the batch must be static and positive"
        return next((reason for s in op.samplings if (reason := Sums().refuses(s))), None)

    def works(self, op: ResizeBackwardOp, target: Target, work: Work) -> None:
        """Count the Mul alone: the sizes of the pools depend on the order of axes."""
        result = static_shape(op.diff_src)
        assert result is not None
        work.run("Mul", result, result, work.constant(()))

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        ratios = {a: s.y // s.x for a, s in zip(op.axes, op.samplings, strict=True)}
        value: SSAValue = op.diff_dst
        for axes in _groups(sorted(ratios), len(shape_of(value))):
            value = _pool_axes(emit, value, {axis: ratios[axis] for axis in axes})
        size = np.array(math.prod(ratios.values()))
        return emit(onnx.MulOp(value, emit.constant(as_dtype_of(value, size))))


def _groups(axes: Sequence[int], rank: int) -> list[list[int]]:
    """Return the axes that are pooled at once, the last ones first."""
    groups: list[list[int]] = []
    left = list(axes)
    while left:
        last = left[-1]
        room = MOST_SPATIAL - (last < rank - 1)
        groups.append([axis for axis in left if axis > last - room])
        left = [axis for axis in left if axis <= last - room]
    return groups


def _pool_axes(emit: OpBuilder, value: SSAValue, ratios: dict[int, int]) -> SSAValue:
    sizes: list[Size] = [size_of(emit, value, axis) for axis in range(len(shape_of(value)))]
    first, last = min(ratios), max(ratios)
    kernel = [ratios.get(axis, 1) for axis in range(first, last + 1)]
    behind = _behind(emit, sizes[last + 1 :], MOST_SPATIAL - len(kernel))
    images = reshape(emit, value, [product(emit, sizes[:first]), 1, *sizes[first : last + 1], *behind])
    window = [*kernel, *[1] * len(behind)]
    pooled = emit(onnx.AveragePoolOp(images, kernel_shape=window, strides=window))
    for axis, ratio in ratios.items():
        size = sizes[axis]
        assert isinstance(size, int)
        sizes[axis] = size // ratio
    return reshape(emit, pooled, sizes)


def _behind(emit: OpBuilder, sizes: Sequence[Size], room: int) -> list[Size]:
    """Merge the inner axes into at most `room`, leaving the innermost, so that rows are not too long."""
    if len(sizes) <= room:
        return list(sizes)
    kept = list(sizes[len(sizes) - room + 1 :])
    return [product(emit, sizes[: len(sizes) - room + 1]), *kept]
