"""Unavoidable work of the lowerings of a convolution gradient: see `passes.cost.work`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from dialects.grad.conv import ConvBackwardDataOp
from dialects.support import layouts, shapes
from passes.conv.convolution import Convolution, GradConv, convolution_of
from passes.conv.phases import AxisPhases
from passes.conv.windows import Taps
from passes.cost.graph import Step
from passes.cost.work import Sizes, Work
from passes.onnxruntime.optimizer_model import DIRECT, blocked_kind


def images(op: GradConv) -> tuple[Sizes, Sizes]:
    """Return the sizes of diff_dst and diff_src, channels first."""
    data, result = (layouts.reorder(sizes, op.layout, "NCX") for sizes in data_sizes(op))
    return data, result


def data_sizes(op: GradConv) -> tuple[Sizes, Sizes]:
    """Return the sizes of diff_dst and diff_src in the op's layout."""
    data, result = (shapes.static_shape(value) for value in (op.diff_dst, op.diff_src))
    assert data is not None
    assert result is not None
    return data, result


def whole_convolution(op: GradConv, work: Work, as_row: bool = False) -> None:
    """Count `convolve` of `as_convolution`, or with `as_row` `convolve_planes` of one axis."""
    first, second, *kernel = op.weights_shape
    groups = op.groups
    is_flipped = isinstance(op, ConvBackwardDataOp)
    channels = (groups * second, first // groups) if is_flipped else (first, second)
    one_convolution(work, *images(op), (*channels, *kernel), convolution_of(op), as_row)


def one_convolution(
    work: Work, data: Sizes, result: Sizes, weights: Sizes, conv: Convolution, as_row: bool = False
) -> None:
    """Count a channels-first Conv; with `as_row`, a 1-D one on images of one row."""
    if as_row and len(conv.strides) == 1:
        data, result, weights = ((*sizes[:2], 1, *sizes[2:]) for sizes in (data, result, weights))
        conv = Convolution(
            (1, *conv.strides), (1, *conv.dilations), (0, *conv.begin), (0, *conv.end), conv.groups
        )
    lists = {
        "strides": list(conv.strides),
        "dilations": list(conv.dilations),
        "pads": [*conv.begin, *conv.end],
    }
    work.run("Conv", result, data, work.weights(weights), group=conv.groups, **lists)


def reorders(work: Work, convs: Sequence[Step]) -> None:
    """Count the reorders of channels-first Convs with shared data whose results are not read in blocks."""
    kinds = [blocked_kind(step) for step in convs]
    if any(kind not in (None, DIRECT) for kind in kinds):
        work.reorder(data=convs[0].operand(0).shape)
    work.reorder(*(step.result.shape for step, kind in zip(convs, kinds, strict=True) if kind))


def count_interleave_first(work: Work, axes: Sequence[AxisPhases], batch: int, channels: int) -> None:
    """Count `interleave_channels_first`: a Concat per axis and choice of phases of the axes before it."""
    choices, is_inner = 1, False
    for i, axis in enumerate(axes):
        stride, reached = len(axis.phases), len(axis.reached)
        outer = (batch, channels, *(a.positions for a in axes[: i + 1]))
        behind = tuple(a.positions * len(a.phases) for a in axes[i + 1 :])
        part, whole = (math.prod(outer), math.prod(behind)), (*outer[:-1], stride * axis.positions, *behind)
        for _ in range(choices if stride > 1 else 0):
            for _ in range(reached):
                work.reshape((*outer, *behind), part)
            if reached == stride:
                work.join(part, stride, 1)
            if is_inner:
                work.reshape((part[0], stride * part[1]), whole)
        is_inner = is_inner or stride > 1
        choices *= reached


def count_interleave_last(work: Work, axes: Sequence[AxisPhases], batch: int, channels: int) -> None:
    """Count `interleave_channels_last`: one Concat, one Gather."""
    parts, positions = math.prod(len(axis.reached) for axis in axes), [axis.positions for axis in axes]
    part = (batch, math.prod(positions), channels)
    for _ in range(parts):
        work.reshape((batch, *positions, channels), part)
    rows = work.join(part, parts, 1)
    work.gather(rows, 1, [axis.x for axis in axes])


@dataclass
class Windows:
    """Counts `windows.gather_taps` of channels-last data from a spatial axis on; equal calls once."""

    work: Work
    data: Sizes
    axis: int
    seen: set[object] = field(default_factory=set)

    def gathered(self, taps: Sequence[Taps], counts: Sequence[int], steps: Sequence[int]) -> Sizes:
        *_, channels = self.data
        sizes, outer = self.data[self.axis : -1], self.data[: self.axis]
        firsts = tuple(tuple(first for _, first in read) for read in taps)
        taken, positions = math.prod(map(len, taps)), math.prod(sizes)
        # this many rows may be all of them in order, which needs no Gather
        result = (*outer, *counts, taken * channels)
        if firsts in self.seen or taken * math.prod(counts) == positions:
            return result
        rows = (*outer, positions, channels)
        if not self.seen:
            self.work.reshape(self.data, rows)
        self.seen.add(firsts)
        self.work.gather(rows, self.axis, [*counts, taken])
        return self.work.reshape((*outer, *counts, taken, channels), result)
