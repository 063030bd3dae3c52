"""A sampling with period P -> Q: a Conv of stride m P with m Q output channels.

The axis is the height of images of one channel, the inner axes their width (or it is the width, if there are
none). diff_src at Q b + q weights the positions P b + first + k of diff_dst alike for every b, by w[q, k]:
one output channel per q. onnxruntime reads such images without reordering, and computes 16 channels at once;
a Transpose moves the channels between the blocks.

Clamped coordinates: terms of position -1 belong to 0, those of X to X - 1. The few positions of diff_dst with
such terms are weighted separately, and added to that end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.memo import SMALL_MEMO_SIZE
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import contract, product, reshape, size_of
from passes.conv.work import reorders
from passes.cost.work import Sizes, Work
from passes.resize.axis_forms.base import as_dtype_of
from passes.resize.axis_forms.periods import PeriodicForm, period_sizes, three_periods

CHANNELS = 16
"""Output channels that a kernel computes at once: fewer take as long."""


@dataclass(frozen=True)
class Window:
    """Windows of diff_dst, the b-th beginning at p b + first, for q positions of diff_src each.

    `weights` (q, K). `begin` and `end` (k, 1) are the contributions of the first and the last k positions of
    diff_dst to the first and the last of diff_src.
    """

    p: int
    q: int
    first: int
    weights: np.ndarray
    begin: np.ndarray
    end: np.ndarray

    @property
    def pads(self) -> tuple[int, int]:
        """Pads, which are nonnegative, as a window covers its own block."""
        return -self.first, self.first + self.weights.shape[1] - self.p


class Convs(PeriodicForm):
    needs: ClassVar = (
        onnx.ConvOp,
        onnx.TransposeOp,
        onnx.SliceOp,
        onnx.MatMulOp,
        onnx.SplitOp,
        onnx.AddOp,
        onnx.ConcatOp,
    )
    NODES: ClassVar = 15

    def sizes(self, sampling: AxisSampling) -> tuple[int, int, int]:
        return _sizes(sampling)

    def works(self, work: Work, data: Sizes, axis: int, sampling: AxisSampling) -> None:
        window = window_of(sampling)
        outer, behind = data[:axis], data[axis + 1 :]
        along = 0 if behind else 1
        kernel, stride, begin, end = [1, 1], [1, 1], [0, 0], [0, 0]
        kernel[along], stride[along] = window.weights.shape[1], window.p
        begin[along], end[along] = window.pads
        plane = [sampling.y, math.prod(behind)] if behind else [1, sampling.y]
        found = [sampling.x // window.q, math.prod(behind)] if behind else [1, sampling.x // window.q]
        images, result = (math.prod(outer), 1, *plane), (math.prod(outer), window.q, *found)
        weights = work.constant((window.q, 1, *kernel))
        work.run("Conv", result, images, weights, strides=stride, pads=[*begin, *end])
        if not along:
            # along the width it is fused with the reorder
            reorders(work, work.steps[-1:])
            work.run("Transpose", [result[axis] for axis in (0, 2, 1, 3)], result, perm=[0, 2, 1, 3])
        if window.begin.size or window.end.size:
            whole = (*outer, sampling.x, *behind)
            parts = [(*outer, width, *behind) for width in _ends(sampling.x)]
            work.split(whole, axis, _ends(sampling.x))
            work.run("Concat", whole, *parts, axis=axis)

    def write(self, emit: OpBuilder, value: SSAValue, axis: int, sampling: AxisSampling) -> SSAValue:
        window = window_of(sampling)
        rank = len(shape_of(value))
        outer = [size_of(emit, value, a) for a in range(axis)]
        inner = [size_of(emit, value, a) for a in range(axis + 1, rank)]
        plane = [sampling.y, product(emit, inner)] if inner else [1, sampling.y]
        blocks = _convolve_blocks(emit, reshape(emit, value, [product(emit, outer), 1, *plane]), window)
        result = reshape(emit, blocks, [*outer, sampling.x, *inner])
        return _with_ends(emit, result, value, axis, window)


@lru_cache(SMALL_MEMO_SIZE)
def window_of(sampling: AxisSampling) -> Window:
    p, q, _ = _sizes(sampling)
    three = three_periods(sampling, p, q)
    columns = three.part(range(3 * p), range(q, 2 * q))
    used = np.flatnonzero(columns.any(axis=1))
    # a window covers its own block, with weights of 0 if need be: pads must be nonnegative
    low, high = min(int(used[0]), p), max(int(used[-1]), 2 * p - 1)
    # the first and last of three blocks are clamped like those of the axis, the middle one is not
    begin = three.part(range(p), range(1))[:, 0] - columns[p : 2 * p, 0]
    last = three.part(range(2 * p, 3 * p), range(3 * q - 1, 3 * q))[:, 0]
    end = last - columns[p : 2 * p, -1]
    return Window(p, q, low - p, columns[low : high + 1].T, _trim_zeros(begin), _trim_zeros(end[::-1])[::-1])


def _trim_zeros(weights: np.ndarray) -> np.ndarray:
    """Drop zeros at the end of a column."""
    used = np.flatnonzero(weights)
    return weights[: int(used[-1]) + 1 if len(used) else 0, None]


def _sizes(sampling: AxisSampling) -> tuple[int, int, int]:
    """Return as many channels as are computed at once; else the fewest."""
    return period_sizes(sampling, CHANNELS, lambda q: (max(0, q - CHANNELS), -q))


def _convolve_blocks(emit: OpBuilder, images: SSAValue, window: Window) -> SSAValue:
    """Convolve images (N, 1, Y, I) to (N, blocks, q, I); images (N, 1, 1, Y) to (N, 1, blocks, q)."""
    along = 1 if shape_of(images)[2] == 1 else 0
    kernel, stride, begin, end = [1, 1], [1, 1], [0, 0], [0, 0]
    kernel[along], stride[along] = window.weights.shape[1], window.p
    begin[along], end[along] = window.pads
    weights = emit.constant(as_dtype_of(images, window.weights.reshape(window.q, 1, *kernel)))
    value = emit(onnx.ConvOp(images, weights, strides=stride, pads=[*begin, *end]))
    return emit(onnx.TransposeOp(value, perm=[0, 2, 3, 1] if along else [0, 2, 1, 3]))


def _with_ends(emit: OpBuilder, value: SSAValue, diff_dst: SSAValue, axis: int, window: Window) -> SSAValue:
    """Add the contributions of the first and last positions of diff_dst to those of the result."""
    if not (window.begin.size or window.end.size):
        return value
    x, y = (shape_of(tensor)[axis] for tensor in (value, diff_dst))
    assert isinstance(x, int)
    assert isinstance(y, int)
    widths = _ends(x)
    split = onnx.SplitOp(value, emit.ints(widths), axis=axis, results=len(widths))
    emit.ops.append(split)
    parts: list[SSAValue] = list(split.results)
    ends = ((0, window.begin, 0), (-1, window.end, y - len(window.end)))
    for index, weights, start in ends:
        if weights.size:
            added = _contract_rows(emit, diff_dst, axis, range(start, start + len(weights)), weights)
            parts[index] = emit(onnx.AddOp(parts[index], added))
    return emit(onnx.ConcatOp(parts, axis=axis))


def _ends(x: int) -> list[int]:
    """Return x positions as the first, those between and the last."""
    return [1, x - 2, 1] if x > 2 else [1, 1]


def _contract_rows(emit: OpBuilder, value: SSAValue, axis: int, rows: range, weights: np.ndarray) -> SSAValue:
    bounds = ([rows.start], [rows.stop], [axis])
    taken = emit(onnx.SliceOp(value, *map(emit.ints, bounds)))
    return contract(emit, taken, axis, emit.constant(as_dtype_of(value, weights)))
