"""resize-to-conv: for enlargement by whole factors, the gradient is a strided depthwise convolution.

With S = 1 / r, t(r + y) = t(y) + 1: every position x of diff_src weights the positions r x + j alike, by a
kernel w[j] read off the sampling of a long axis. So diff_src is a Conv with stride r and the same kernel (an
outer product) in every channel.

Clamped coordinates: terms of position -1 belong to 0, those of X to X - 1. The convolution computes those two
positions as well, and they are added to their neighbours.

Volumes take two convolutions of images. The first is over slices: as all channels have the same kernel, the
channels-first volume (N, C, D, H, W) is treated as (N, C D, H, W), and channels-last slices are images. The
second is along D, of (N C, D, H W) and of (N, D, H W, C), both channels last.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.resize import ResizeBackwardOp
from dialects.grad.sampling import AxisSampling
from dialects.onnx import ops as onnx
from dialects.support.shapes import Dim, shape_of, static_shape
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, product, reshape, size_of
from passes.conv.convolution import (
    Convolution,
    convolve_planes,
    convolve_planes_last,
)
from passes.conv.work import one_convolution, reorders
from passes.cost.work import Work
from passes.resize.axis_forms.base import as_dtype_of
from passes.resize.folds import FOLDS_NEED, Fold, fold_axes, fold_axes_last, fold_works
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target


@dataclass(frozen=True)
class AxisKernel:
    """w[j] for j = first, first + 1, ..: the weights of positions r x + j for position x.

    `before` and `after`: positions -1 and X receive terms.
    """

    ratio: int
    x: int
    first: int
    weights: np.ndarray
    before: bool
    after: bool

    @property
    def pads(self) -> tuple[int, int]:
        last = self.first + len(self.weights) - 1
        begin = self.ratio * self.before - self.first
        return begin, self.ratio * (self.x - 1 + self.after) + last - (self.ratio * self.x - 1)


class ResizeToConv(Strategy):
    """Depthwise Conv with the ratio as its stride."""

    name: ClassVar[str] = "resize-to-conv"
    ops: ClassVar = (ResizeBackwardOp,)

    def compile_time_cost(self, op: ResizeBackwardOp) -> CompileTimeCost:
        """Count kernels of up to three times the ratios per channel, which are read off five windows."""
        taps = {
            axis: 3 * -(-sampling.y // sampling.x)
            for axis, sampling in zip(op.axes, op.samplings, strict=True)
        }
        kernels = [
            math.prod(d for d in channels if isinstance(d, int)) * math.prod(taps.get(a, 1) for a in axes)
            for channels, axes in _convolutions(op)
        ]
        places = math.prod(2 + sampling.x for sampling in op.samplings)
        return CompileTimeCost(sum(kernels) + 25 * max(taps.values()) + places, 40)

    def refuses(self, op: ResizeBackwardOp, target: Target) -> str | None:
        needed = (onnx.ConvOp, onnx.AddOp, onnx.ConcatOp, onnx.TransposeOp, *FOLDS_NEED)
        if reason := no_kernel(target, op.diff_dst, *needed):
            return reason
        rank = len(shape_of(op.diff_dst))
        if rank not in (3, 4, 5) or _layout(op) is None:
            return f"axes {list(op.value('axes'))} of {rank} are not one to three spatial axes"
        if not all(isinstance(d, int) for channels, _ in _convolutions(op) for d in channels):
            return "a depthwise convolution needs static channels"
        for sampling in op.samplings:
            if sampling.y % sampling.x or sampling.step != Fraction(sampling.x, sampling.y):
                return f"{sampling.x} to {sampling.y} is no enlargement by a whole factor"
        return None

    def spreads_nonfinite(self, op: ResizeBackwardOp, target: Target) -> str | None:
        if target.spec.spreads_nonfinite:
            return target.spec.spreads_nonfinite
        if all(axis_kernel(sampling).weights.all() for sampling in op.samplings):
            return None
        return "the kernel has weights of 0"

    def works(self, op: ResizeBackwardOp, target: Target, work: Work) -> None:
        """Count the Conv of images."""
        layout, data = _layout(op), static_shape(op.diff_dst)
        assert layout is not None
        assert data is not None
        kernels = _kernels(op, _first(layout))
        if len(kernels) == 3:
            return
        batch, channels, *sizes = data if layout == "NCX" else (data[0], data[-1], *data[1:-1])
        found = [k.x + k.before + k.after if k else size for k, size in zip(kernels, sizes, strict=True)]
        begin, end = zip(*(k.pads if k else (0, 0) for k in kernels), strict=True)
        weights = (channels, 1, *(len(k.weights) if k else 1 for k in kernels))
        strides = tuple(k.ratio if k else 1 for k in kernels)
        conv = Convolution(strides, (1,) * len(kernels), begin, end, channels)
        known = Work(work.itemsize, True)
        one_convolution(
            known, (batch, channels, *sizes), (batch, channels, *found), weights, conv, as_row=True
        )
        work.steps += known.steps
        folds = [Fold(k.x, k.before, k.after) if k else None for k in kernels]
        if layout == "NCX":
            reorders(work, known.steps)
            fold_works(work, (batch, channels, *found), 2, folds)

    def emit(self, op: ResizeBackwardOp, target: Target, emit: OpBuilder) -> SSAValue:
        layout = _layout(op)
        assert layout is not None
        kernels = _kernels(op, _first(layout))
        write = _volumes if len(kernels) == 3 else _images
        return write(emit, op.diff_dst, layout, kernels)


def _layout(op: ResizeBackwardOp) -> str | None:
    """Return the layout in which the resized axes are spatial, or None."""
    rank, axes = len(shape_of(op.diff_dst)), set(op.axes)
    if axes <= set(range(2, rank)):
        return "NCX"
    return "NXC" if axes <= set(range(1, rank - 1)) else None


def _first(layout: str) -> int:
    """Return the first spatial axis."""
    return 2 if layout == "NCX" else 1


def _convolutions(op: ResizeBackwardOp) -> list[tuple[Sequence[Dim], range]]:
    """Return each convolution: sizes whose product is the number of channels, and its axes."""
    shape, result = shape_of(op.diff_dst), shape_of(op.diff_src)
    first = _first(_layout(op) or "NXC")
    spatial = range(first, first + len(shape) - 2)
    last = first == 1
    if len(spatial) < 3:
        return [(shape[-1:] if last else shape[1:2], spatial)]
    plane, depth = (shape[-1:], shape[-1:]) if last else (shape[1:3], result[3:])
    both = [(plane, spatial[1:]), (depth, spatial[:1])]
    return [(sizes, axes) for sizes, axes in both if not set(axes).isdisjoint(op.axes)]


def _kernels(op: ResizeBackwardOp, first: int) -> list[AxisKernel | None]:
    """Return a kernel per spatial axis from `first` on; None for an axis that is not resized."""
    given = dict(zip(op.axes, op.samplings, strict=True))
    spatial = range(first, first + len(shape_of(op.diff_dst)) - 2)
    return [axis_kernel(given[axis]) if axis in given else None for axis in spatial]


def axis_kernel(sampling: AxisSampling) -> AxisKernel:
    ratio = sampling.y // sampling.x
    # position 2 of five is not clamped
    five = AxisSampling(5, 5 * ratio, sampling.step, sampling.interpolation, sampling.coordinates)
    column = five.part(range(five.y), range(2, 3))[:, 0]
    used = np.flatnonzero(column)
    # pads must be nonnegative: weights of 0 extend a window that begins or ends inside
    low, high = min(int(used[0]), 2 * ratio), max(int(used[-1]), 3 * ratio - 1)
    first, last = low - 2 * ratio, high - 2 * ratio
    return AxisKernel(ratio, sampling.x, first, column[low : high + 1], last >= ratio, first <= -1)


def _volumes(emit: OpBuilder, value: SSAValue, layout: str, kernels: Sequence[AxisKernel | None]) -> SSAValue:
    """Convolve (N, C, D, H, W) or (N, D, H, W, C): slices as images, then D as the rows of images."""
    depth, *plane = kernels
    first = _first(layout)
    sizes = [size_of(emit, value, axis) for axis in range(5)]
    if any(plane):
        slices = [*sizes[: first - 1], product(emit, sizes[first - 1 : first + 1]), *sizes[first + 1 :]]
        value = _images(emit, reshape(emit, value, slices), layout, plane)
        pairs = zip(plane, sizes[first + 1 : first + 3], strict=True)
        sizes[first + 1 : first + 3] = [kernel.x if kernel else size for kernel, size in pairs]
    if depth is not None:
        value = _along_depth(emit, value, layout, sizes, depth)
        sizes[first] = depth.x
    return reshape(emit, value, sizes)


def _along_depth(
    emit: OpBuilder, value: SSAValue, layout: str, sizes: Sequence[Size], depth: AxisKernel
) -> SSAValue:
    """Convolve a volume of `sizes`, in any shape, along D: channels last, with most channels."""
    if layout == "NCX":
        rows = [product(emit, sizes[:2]), sizes[2], product(emit, sizes[3:])]
        return _images(emit, reshape(emit, value, rows), "NXC", [depth])
    images = [*sizes[:2], product(emit, sizes[2:4]), sizes[4]]
    return _images(emit, reshape(emit, value, images), "NXC", [depth, None])


def _images(emit: OpBuilder, value: SSAValue, layout: str, kernels: Sequence[AxisKernel | None]) -> SSAValue:
    """Convolve one or two spatial axes from Y to X positions; a kernel of None leaves an axis."""
    channels = shape_of(value)[1 if layout == "NCX" else -1]
    assert isinstance(channels, int)
    kernel = functools.reduce(np.multiply.outer, [k.weights if k else np.ones(1) for k in kernels])
    weights = np.broadcast_to(as_dtype_of(value, kernel), (channels, 1, *kernel.shape))
    begin, end = zip(*(k.pads if k else (0, 0) for k in kernels), strict=True)
    strides = tuple(k.ratio if k else 1 for k in kernels)
    conv = Convolution(strides, (1,) * len(kernels), begin, end, channels)
    write = convolve_planes if layout == "NCX" else convolve_planes_last
    value = write(emit, value, emit.constant(np.ascontiguousarray(weights)), conv)
    folds = [Fold(k.x, k.before, k.after) if k else None for k in kernels]
    if layout == "NXC":
        return fold_axes_last(emit, value, folds)
    return fold_axes(emit, value, 2, folds)
