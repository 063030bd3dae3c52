"""Enlarging by a whole factor r with `nearest`: every position of diff_src sums r positions of diff_dst.

As (.., X, r, inner) that is a ReduceSum over r. With few numbers behind the axis (channels last) ReduceSum
is slow; there r Gathers take one position of r each, and are added.
"""

from __future__ import annotations

import functools
import math
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.memo import MOST
from dialects.support.shapes import shape_of
from passes.support.axis_forms.base import AxisForm
from passes.support.budget import Built
from passes.support.rewriting import Emitter
from passes.support.tensors import reshape, size_of

MOST_GATHERS = 8
SHORT_RUN = 1024
"""Up to so many numbers behind the axis, but for none, Gathers are quicker than ReduceSum: with 32 of them
0.76 against 2.9 ms (2x160x160 halved, onnxruntime 1.31, AMD EPYC), with 512 the same."""


class Sums(AxisForm):
    needs: ClassVar = (onnx.ReduceSumOp, onnx.GatherOp, onnx.AddOp)

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.y % sampling.x:
            return f"{sampling.y} is no multiple of {sampling.x}"
        return _not_sums(sampling)

    def builds(self, sampling: AxisSampling) -> Built:
        """No constant; that all positions are summed alike is seen from the taps of each."""
        return Built(sampling.y, 2 * MOST_GATHERS + 2)

    def write(self, emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        sizes = [size_of(emit, value, a) for a in range(len(shape_of(value)))]
        ratio = sampling.y // sampling.x
        behind = sizes[axis + 1 :]
        apart = reshape(emit, value, [*sizes[:axis], sampling.x, ratio, *behind])
        run = math.prod(size for size in behind if isinstance(size, int))
        is_short = 1 < run <= SHORT_RUN and all(isinstance(size, int) for size in behind)
        if is_short and ratio <= MOST_GATHERS:
            return _added(emit, apart, axis + 1, ratio)
        return emit(onnx.ReduceSumOp(apart, emit.ints([axis + 1]), keepdims=0))


def _added(emit: Emitter, value: SSAValue, axis: int, count: int) -> SSAValue:
    """The sum of the `count` positions of an axis, which is gone then."""
    parts = (
        emit(onnx.GatherOp(value, emit.constant(np.array(i, np.int64)), axis=axis)) for i in range(count)
    )
    return functools.reduce(lambda total, part: emit(onnx.AddOp(total, part)), parts)


@functools.lru_cache(MOST)
def _not_sums(sampling: AxisSampling) -> str | None:
    lower, _, fraction = sampling.taps()
    if fraction.any():
        return "positions are weighted, not summed"
    ratio = sampling.y // sampling.x
    if not np.array_equal(lower, np.arange(sampling.y) // ratio):
        return f"positions are not sampled {ratio} by {ratio}"
    return None
