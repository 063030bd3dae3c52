"""resize-to-upsample: for shrinking by whole factors, every position of diff_dst is repeated.

With X = r Y, if each output reads only its r input positions, r y to r y + r - 1, with the same weights m:
diff_src[r y + j] = m[j] diff_dst[y]. That is a nearest Resize by r, times m; if m is constant (`linear` and
`half_pixel` by 2: a half), the product comes first.

It takes one pass, where matrix products or gathered columns take several; on the last two axes, where Resize
is fast.
"""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling, parts
from dialects.onnx import ops as onnx
from dialects.support.memo import MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder import budget
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import product, repeat, reshape, size_of
from passes.resize.axis_forms.base import as_dtype_of
from passes.strategies.base import Strategy, no_kernel, no_resize
from passes.targets.target import Target


class ResizeToUpsample(Strategy):
    """A nearest Resize, and a product with the weights of one period."""

    name: ClassVar[str] = "resize-to-upsample"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        """Count the taps of each position, and a mask over the resized axes."""
        mask = math.prod(sampling.x for sampling in op.samplings)
        return sum(map(budget.sampling_cost, op.samplings), CompileTimeCost(mask, 8))

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if reason := no_kernel(target, op.diff_dst, onnx.ResizeOp, onnx.MulOp):
            return reason
        shape, axes = shape_of(op.diff_dst), sorted(op.axes)
        if axes[0] < len(shape) - 2:
            return f"axes {axes} of {len(shape)} are not among the last two: Resize is slow elsewhere"
        if reason := no_resize(target, op.diff_dst):
            return reason
        return next((reason for s in op.samplings if (reason := _no_repetition(s))), None)

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if all(weights.all() for weights in _weights(op)):
            return None
        return "unread positions are multiplied by 0"

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        mask = np.multiply.outer(*_weights(op))
        if (mask == mask.flat[0]).all():
            return _repeat_last_two(emit, _times(emit, op.diff_dst, mask.flat[0]), mask.shape)
        value = _repeat_last_two(emit, op.diff_dst, mask.shape)
        periods = [sampling.y if sampling else 1 for sampling in _last_two(op)]
        return _times(emit, value, np.tile(mask, periods))


def _no_repetition(sampling: AxisSampling) -> str | None:
    """Return why outputs do not read disjoint positions with equal weights, or None."""
    if sampling.x % sampling.y:
        return f"{sampling.x} is no multiple of {sampling.y}"
    return _no_repetition_uncached(sampling)


@functools.lru_cache(MEMO_SIZE)
def _no_repetition_uncached(sampling: AxisSampling) -> str | None:
    ratio, reads_alike = sampling.x // sampling.y, True
    place = _relative_reads(sampling, range(1))
    for rows in parts(range(sampling.y)):
        first, last, fraction = _relative_reads(sampling, rows)
        if first.min() < 0 or last.max() >= ratio:
            return f"an output reads more than its {ratio} positions"
        reads_alike &= all((of == one).all() for of, one in zip((first, last, fraction), place, strict=True))
    return None if reads_alike else "the outputs have different weights"


def _relative_reads(sampling: AxisSampling, rows: range) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the reads of consecutive outputs relative to their first position: first, last, fraction."""
    lower, upper, fraction = sampling.taps(rows)
    own = np.arange(rows.start, rows.stop) * (sampling.x // sampling.y)
    return lower - own, np.where(fraction > 0, upper, lower) - own, fraction


def _last_two(op: ResizeBackwardOp) -> list[AxisSampling | None]:
    """Return the samplings of the last two axes; None for one that is not resized."""
    given = dict(zip(op.axes, op.samplings, strict=True))
    rank = len(shape_of(op.diff_dst))
    return [given.get(axis) for axis in (rank - 2, rank - 1)]


def _weights(op: ResizeBackwardOp) -> list[np.ndarray]:
    """Return m of the last two axes."""
    return [s.part(range(1), range(s.x // s.y))[0] if s else np.ones(1) for s in _last_two(op)]


def _times(emit: OpBuilder, value: SSAValue, factor: np.ndarray) -> SSAValue:
    if np.all(factor == 1):
        return value
    return emit(onnx.MulOp(value, emit.constant(as_dtype_of(value, np.asarray(factor)))))


def _repeat_last_two(emit: OpBuilder, value: SSAValue, times: tuple[int, ...]) -> SSAValue:
    """Repeat along the last two axes, as images of one channel: other ranks are slower."""
    sizes = [size_of(emit, value, axis) for axis in range(len(shape_of(value)))]
    image, count = sizes[-2:], product(emit, sizes[:-2])
    # only the first axis may be 0 in `reshape`
    outer = [1, count] if isinstance(count, int) else [count, 1]
    repeated = repeat(emit, reshape(emit, value, [*outer, *image]), [1, 1, *times])
    results = [product(emit, [size, count]) for size, count in zip(image, times, strict=True)]
    return reshape(emit, repeated, [*sizes[:-2], *results])
