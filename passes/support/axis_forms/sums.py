"""Enlarging by a whole factor r with `nearest`: every position of diff_src sums r positions of diff_dst."""

from __future__ import annotations

from functools import lru_cache
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


class Sums(AxisForm):
    needs: ClassVar = (onnx.ReduceSumOp,)

    def refuses(self, sampling: AxisSampling) -> str | None:
        if sampling.y % sampling.x:
            return f"{sampling.y} is no multiple of {sampling.x}"
        return _not_sums(sampling)

    def builds(self, sampling: AxisSampling) -> Built:
        """No constant; that all positions are summed alike is seen from the taps of each."""
        return Built(sampling.y, 2)

    def write(self, emit: Emitter, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        sizes = [size_of(emit, value, a) for a in range(len(shape_of(value)))]
        ratio = sampling.y // sampling.x
        apart = reshape(emit, value, [*sizes[:axis], sampling.x, ratio, *sizes[axis + 1 :]])
        return emit(onnx.ReduceSumOp(apart, emit.ints([axis + 1]), keepdims=0))


@lru_cache(MOST)
def _not_sums(sampling: AxisSampling) -> str | None:
    lower, _, fraction = sampling.taps()
    if fraction.any():
        return "positions are weighted, not summed"
    ratio = sampling.y // sampling.x
    if not np.array_equal(lower, np.arange(sampling.y) // ratio):
        return f"positions are not sampled {ratio} by {ratio}"
    return None
