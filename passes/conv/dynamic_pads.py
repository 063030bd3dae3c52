"""Pads of `auto_pad` for dynamic sizes, computed in the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from dialects.grad.conv import conv_transpose_backward_data
from dialects.grad.geometry import ConvAxis, Pads, Window
from dialects.onnx import ops as onnx
from dialects.support import layouts
from dialects.support.shapes import shape_of
from passes.builder.rewriting import Builder
from passes.builder.shape_math import ShapeMath

Sides = tuple[SSAValue, SSAValue]
"""Begin and end pads of the spatial axes, two int64 vectors."""


def conv_axes(windows: Sequence[Window], pads: Sequence[Pads]) -> list[ConvAxis]:
    return [ConvAxis(window, *pad) for window, pad in zip(windows, pads, strict=True)]


def library_total(windows: Sequence[Window], size: SSAValue, math: ShapeMath) -> SSAValue:
    """Return max(0, Ke - (X mod s, or s if that is 0)) = max(0, Ke - (X - s ((X - 1) div s)))."""
    strides = math.vector([w.stride for w in windows])
    whole = math.mul(strides, math.div(math.sub(size, math.vector([1])), strides))
    rest = math.sub(size, whole)
    return math.max(math.sub(math.vector([w.extent for w in windows]), rest), 0)


def begin_of(total: SSAValue, odd_at_end: bool, math: ShapeMath) -> SSAValue:
    """Return the begin's share of a total: the smaller half if the odd one goes to the end."""
    less = math.div(total, math.vector([2]))
    return less if odd_at_end else math.sub(total, less)


def same_sides(
    data: SSAValue, layout: str, windows: Sequence[Window], odd_at_end: bool, math: ShapeMath
) -> Sides:
    """Return the pads of an op with `auto_pad` SAME_* for data in a layout."""
    spatial = layouts.spatial_axes(layout, len(windows))
    total = library_total(windows, math.sizes(data, spatial), math)
    begin = begin_of(total, odd_at_end, math)
    return begin, math.sub(total, begin)


def pad_input(
    data: SSAValue, layout: str, sides: Sides, emit: Builder, fill: SSAValue | None = None
) -> SSAValue:
    """Pad the spatial axes with `fill`, by default 0."""
    math, rank = ShapeMath(emit), len(shape_of(data))
    axes = layouts.spatial_axes(layout, rank - 2)
    spread = math.concat([math.spread(side, axes, rank) for side in sides])
    return emit(onnx.PadOp(data, spread, fill))


def convolve_all_windows(
    data: SSAValue,
    weights: SSAValue,
    windows: Sequence[Window],
    groups: int,
    layout: str,
    sides: Sides,
    emit: Builder,
) -> SSAValue:
    """Convolve with dynamic pads without multiplying padding by weights: compute the Y + Ke - 1 windows of
    stride 1 that overlap the data, and slice those at x s - pb + Ke - 1, the last at most at Y + pe - 1."""
    math, spatial = ShapeMath(emit), layouts.spatial_axes(layout, len(windows))
    axes = [ConvAxis(replace(w, stride=1), w.extent - 1, w.extent - 1) for w in windows]
    value = emit(conv_transpose_backward_data(data, weights, axes, groups, layout))
    begin, end = sides
    edges = math.vector([window.extent - 1 for window in windows])
    stop = math.add(math.sizes(data, spatial), end)
    steps = math.vector([window.stride for window in windows])
    return emit(onnx.SliceOp(value, math.sub(edges, begin), stop, math.vector(spatial), steps))
