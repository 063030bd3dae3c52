"""max-pool-to-tiles: for windows that tile the data; positions are ranked in falling row-major order.

    e = (src == window maximum) * rank;  diff_src = (e == window maximum of e) * diff_dst

Of the elements that equal the maximum, the first has the highest rank. A Resize repeats the value of a window
at its positions.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.max_pool import MaxPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.support import layouts, shapes
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import crop, repeat
from passes.builder.values import Builder, Value
from passes.resize.axis_forms.base import as_dtype_of
from passes.strategies.base import Strategy, no_kernel, no_resize
from passes.targets.target import Target

NEEDED = (onnx.MaxPoolOp, onnx.ResizeOp, onnx.EqualOp, onnx.MulOp, onnx.PadOp)


class MaxPoolToTiles(Strategy):
    """MaxPool, Resize, Equal and Mul, twice."""

    name: ClassVar[str] = "max-pool-to-tiles"
    ops: ClassVar = (MaxPoolBackwardOp,)
    layouts: ClassVar = ("NCX", "NXC")

    def compile_time_cost(self, op: MaxPoolBackwardOp) -> CompileTimeCost:
        known = shapes.static(op.channels_first(op.diff_dst)[2:]) or (0,)
        return CompileTimeCost(math.prod(known) * math.prod(op.kernel), 30)

    def refuses(self, op: MaxPoolBackwardOp, target: Target) -> str | None:
        if op.kernel != op.strides or any(d > 1 for d in op.dilations) or any(op.pads_begin):
            return "the windows overlap, leave gaps or begin before src"
        sizes = [size for value in op.operands for size in op.channels_first(value)[2:]]
        if not shapes.is_static(sizes):
            return "spatial sizes must be static"
        if reason := no_resize(target, op.diff_dst):
            return reason
        rows = zip(op.windows, op.channels_first(op.src)[2:], op.channels_first(op.diff_dst)[2:], strict=True)
        if any(isinstance(x, int) and isinstance(y, int) and w.full_size(y) > x for w, x, y in rows):
            return "the last window ends beyond src"
        return no_kernel(target, op.src, *NEEDED)

    def spreads_nonfinite(self, op: MaxPoolBackwardOp, target: Target) -> str | None:
        return "diff_dst is multiplied by 0 where src is not the largest"

    def emit(self, op: MaxPoolBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        e, n = Builder(emit), op.spatial_rank
        src, diff_dst = (_to_layout(e(value), op.layout, "NCX") for value in op.operands)
        known = shapes.static((*src.shape[2:], *diff_dst.shape[2:]))
        assert known is not None
        xs, ys = known[:n], known[n:]
        covered = [y * k for y, k in zip(ys, op.kernel, strict=True)]
        data = e(crop(emit, src.value, range(2, 2 + n), covered))
        numbers = math.prod(op.kernel) - np.arange(math.prod(op.kernel)).reshape(op.kernel)
        order = e(emit.constant(as_dtype_of(op.src, np.tile(numbers, ys)[None, None])))
        chosen = self._largest(data, op).cast(data.dtype) * order
        found = self._largest(chosen, op).cast(data.dtype) * _repeat_windows(diff_dst, op)
        behind = [x - c for x, c in zip(xs, covered, strict=True)]
        if any(behind):
            found = found.apply(onnx.PadOp, e.ints([0] * (n + 4) + behind))
        return _to_layout(found, "NCX", op.layout).value

    def _largest(self, data: Value, op: MaxPoolBackwardOp) -> Value:
        """Return a mask of the positions that equal the maximum of their window."""
        maxima = data.apply(onnx.MaxPoolOp, kernel_shape=op.kernel, strides=op.strides)
        return data.equals(_repeat_windows(maxima, op))


def _repeat_windows(values: Value, op: MaxPoolBackwardOp) -> Value:
    """Repeat the value of each window at all its positions."""
    return values.e(repeat(values.e.emit, values.value, [1, 1, *op.kernel]))


def _to_layout(value: Value, source: str, target: str) -> Value:
    if source == target:
        return value
    return value.transpose(layouts.permutation(source, target, value.rank - 2))
