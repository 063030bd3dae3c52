"""Phases of a strided convolution gradient: the taps that contribute to the positions x = s q + a.

Per axis, diff_src[s q + a] sums over the taps k with a + pb - k d = 0 mod s, and reads y = q + (a + pb - k d)
/ s. So each phase a is a gradient of stride 1 with a subset of the taps, over as many positions as diff_dst
has, without multiplications by zero. Interleaving the phases gives diff_src.

With g = gcd(s, d), taps of one phase are s / g apart, and their reads d / g: a dilated convolution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeGuard

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp
from dialects.grad.geometry import ConvAxis
from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, crop, product, reshape, size_of

MOST_AXES = 2**10
"""Size of the cache of axis phases: several strategies need those of an op."""


@dataclass(frozen=True)
class Phase:
    """Taps of one phase in reading order: tap i reads y = q + first + i step."""

    taps: range
    first: int
    step: int

    @property
    def last(self) -> int:
        return self.first + (len(self.taps) - 1) * self.step


@dataclass(frozen=True)
class AxisPhases:
    """Phases of one axis, None for those without taps, with Q = ceil(X / s) positions each."""

    phases: tuple[Phase | None, ...]
    y: int
    x: int

    @property
    def positions(self) -> int:
        return -(-self.x // len(self.phases))

    @property
    def reached(self) -> list[int]:
        """Indices of the phases that have taps."""
        return [a for a, phase in enumerate(self.phases) if phase]

    @property
    def empty_around(self) -> list[tuple[int, int]]:
        """Number of phases without taps before and after each phase with taps."""
        stops = [*self.reached[1:], len(self.phases)]
        behind = [stop - a - 1 for a, stop in zip(self.reached, stops, strict=True)]
        return [(0 if i else self.reached[0], count) for i, count in enumerate(behind)]

    def pads(self, phase: Phase) -> tuple[int, int]:
        """Return the pads of diff_dst that a phase needs; negative ones crop."""
        return -phase.first, self.positions - 1 + phase.last - (self.y - 1)

    @property
    def widest(self) -> tuple[int, int]:
        """Nonnegative pads that suffice for all phases."""
        begins, ends = zip(*(self.pads(phase) for phase in self.phases if phase), strict=True)
        return max(0, *begins), max(0, *ends)


@lru_cache(MOST_AXES)
def axis_phases(axis: ConvAxis, y: int, x: int) -> AxisPhases:
    window = axis.window
    shared = math.gcd(window.stride, window.dilation)
    apart, step = window.stride // shared, window.dilation // shared
    found: list[Phase | None] = [None] * window.stride
    for k in range(min(window.kernel, apart)):
        # phase a and tap k with a + pb - k d = s offset
        offset, a = divmod(k * window.dilation - axis.pad_begin, window.stride)
        more = (window.kernel - 1 - k) // apart
        found[a] = Phase(range(k + more * apart, k - 1, -apart), -offset - more * step, step)
    return AxisPhases(tuple(found), y, x)


def phases_cost(op: ConvBackwardDataOp, part: CompileTimeCost) -> CompileTimeCost:
    """Return the cost of one part per choice of phases with taps, and a few nodes; channels-last interleaving
    also has an index per position of diff_src."""
    strides, kernel = op.strides, op.weights_shape[2:]
    parts = math.prod(map(min, strides, kernel))
    last = op.layout == "NXC" and math.prod(strides) > 1
    sizes = [x for x in op.spatial(op.diff_src) if isinstance(x, int)] if last else []
    constants = sum(strides) + sum(kernel) + (math.prod(sizes) if sizes else 0)
    return CompileTimeCost(constants, 20 + parts * (4 + part.nodes), 2 * math.prod(strides) * part.spread)


def op_phases(op: ConvBackwardDataOp) -> list[AxisPhases]:
    """Return the phases of every axis of an op with static spatial sizes."""
    found: list[AxisPhases] = []
    for axis, y, x in zip(op.axes, op.spatial(op.diff_dst), op.spatial(op.diff_src), strict=True):
        assert isinstance(y, int)
        assert isinstance(x, int)
        found.append(axis_phases(axis, y, x))
    return found


def interleave_channels_first(
    emit: OpBuilder, axes: Sequence[AxisPhases], part: Callable[[tuple[Phase, ...]], SSAValue]
) -> SSAValue:
    """Interleave parts to diff_src (N, C, X..); `part` returns (N, C, Q..) for one phase per axis.

    The innermost axis comes first, so that the copied runs are as long as possible.
    """

    def of(chosen: tuple[Phase, ...]) -> SSAValue:
        i = len(chosen)
        if i == len(axes):
            return part(chosen)
        phases = axes[i].phases
        parts = [of((*chosen, phase)) for phase in phases if phase]
        return _interleave_axis(emit, parts, axes[i], 2 + i)

    value = of(())
    return crop(emit, value, range(2, 2 + len(axes)), [axis.x for axis in axes])


def interleave_channels_last(
    emit: OpBuilder, axes: Sequence[AxisPhases], part: Callable[[tuple[Phase, ...]], SSAValue]
) -> SSAValue:
    """Interleave parts to diff_src (N, X.., C); `part` returns (N, Q.., C) for one phase per axis.

    The parts are concatenated, and one Gather reads each position of diff_src as a row of C elements: two
    copies for any number of axes. Positions without taps read a row of zeros.
    """
    choices = list(itertools.product(*(axis.phases for axis in axes)))
    values = [part(chosen) for chosen in choices if _all_nonempty(chosen)]
    batch, *_, channels = (size_of(emit, values[0], i) for i in range(len(axes) + 2))
    count = math.prod(axis.positions for axis in axes)
    rows = [reshape(emit, value, [batch, count, channels]) for value in values]
    if len(values) < len(choices):
        rows[-1] = emit(onnx.PadOp(rows[-1], emit.ints([0, 0, 0, 0, 1, 0])))
    joined = emit(onnx.ConcatOp(rows, axis=1)) if len(rows) > 1 else rows[0]
    return emit(onnx.GatherOp(joined, emit.constant(_row_indices(axes, choices, count)), axis=1))


def _all_nonempty(chosen: Sequence[Phase | None]) -> TypeGuard[tuple[Phase, ...]]:
    return all(chosen)


def _row_indices(
    axes: Sequence[AxisPhases], choices: Sequence[Sequence[Phase | None]], count: int
) -> np.ndarray:
    """Return the row of each position of diff_src in the concatenated parts; zeros are the last row."""
    reached = [_all_nonempty(chosen) for chosen in choices]
    zeros = sum(reached) * count
    first = np.where(reached, (np.cumsum(reached) - 1) * count, -1)
    first = first.reshape([len(axis.phases) for axis in axes])
    grids = np.meshgrid(*(np.arange(axis.x) for axis in axes), indexing="ij")
    phase = tuple(grid % len(axis.phases) for grid, axis in zip(grids, axes, strict=True))
    row = np.zeros_like(grids[0])
    for grid, axis in zip(grids, axes, strict=True):
        row = row * axis.positions + grid // len(axis.phases)
    return np.where(first[phase] < 0, zeros, first[phase] + row)


def _interleave_axis(emit: OpBuilder, parts: Sequence[SSAValue], phases: AxisPhases, axis: int) -> SSAValue:
    """Interleave parts (.., Q, ..) to (.., Q s, ..), with zeros for phases without taps.

    The parts are concatenated as matrices (.. Q, ..) along the columns.
    """
    stride = len(phases.phases)
    if stride == 1:
        return parts[0]
    sizes: list[Size] = [size_of(emit, parts[0], i) for i in range(len(shape_of(parts[0])))]
    rows, width = product(emit, sizes[: axis + 1]), product(emit, sizes[axis + 1 :])
    assert isinstance(width, int)
    flat = [
        _pad_columns(emit, reshape(emit, part, [rows, width]), before * width, after * width)
        for part, (before, after) in zip(parts, phases.empty_around, strict=True)
    ]
    value = emit(onnx.ConcatOp(flat, axis=1)) if len(parts) > 1 else flat[0]
    return reshape(emit, value, [*sizes[:axis], phases.positions * stride, *sizes[axis + 1 :]])


def _pad_columns(emit: OpBuilder, matrix: SSAValue, before: int, after: int) -> SSAValue:
    if not before and not after:
        return matrix
    return emit(onnx.PadOp(matrix, emit.ints([0, before, 0, after])))
