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
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import pad_axes

Sides = tuple[SSAValue, SSAValue]
"""Begin and end pads of the spatial axes, two int64 vectors."""


def conv_axes(windows: Sequence[Window], pads: Sequence[Pads]) -> list[ConvAxis]:
    return [ConvAxis(window, *pad) for window, pad in zip(windows, pads, strict=True)]


def library_total(windows: Sequence[Window], size: SSAValue, emit: OpBuilder) -> SSAValue:
    """Return max(0, Ke - (X mod s, or s if that is 0)) = max(0, Ke - (X - s ((X - 1) div s)))."""
    strides = emit.ints([w.stride for w in windows])
    whole = emit.mul(strides, emit.div(emit.sub(size, emit.ints([1])), strides))
    rest = emit.sub(size, whole)
    return emit.max(emit.sub(emit.ints([w.extent for w in windows]), rest), 0)


def begin_of(total: SSAValue, odd_at_end: bool, emit: OpBuilder) -> SSAValue:
    """Return the begin's share of a total: the smaller half if the odd one goes to the end."""
    less = emit.div(total, emit.ints([2]))
    return less if odd_at_end else emit.sub(total, less)


def same_sides(
    data: SSAValue, layout: str, windows: Sequence[Window], odd_at_end: bool, emit: OpBuilder
) -> Sides:
    """Return the pads of an op with `auto_pad` SAME_* for data in a layout."""
    spatial = layouts.spatial_axes(layout, len(windows))
    total = library_total(windows, emit.sizes(data, spatial), emit)
    begin = begin_of(total, odd_at_end, emit)
    return begin, emit.sub(total, begin)


def pad_input(
    data: SSAValue, layout: str, sides: Sides, emit: OpBuilder, fill: SSAValue | None = None
) -> SSAValue:
    """Pad the spatial axes with `fill`, by default 0."""
    return pad_axes(emit, data, layouts.spatial_axes(layout, len(shape_of(data)) - 2), *sides, fill)


def convolve_all_windows(
    data: SSAValue,
    weights: SSAValue,
    windows: Sequence[Window],
    groups: int,
    layout: str,
    sides: Sides,
    emit: OpBuilder,
) -> SSAValue:
    """Convolve with dynamic pads without multiplying padding by weights: compute the Y + Ke - 1 windows of
    stride 1 that overlap the data, and slice those at x s - pb + Ke - 1, the last at most at Y + pe - 1."""
    spatial = layouts.spatial_axes(layout, len(windows))
    axes = [ConvAxis(replace(w, stride=1), w.extent - 1, w.extent - 1) for w in windows]
    value = emit(conv_transpose_backward_data(data, weights, axes, groups, layout))
    begin, end = sides
    edges = emit.ints([window.extent - 1 for window in windows])
    stop = emit.add(emit.sizes(data, spatial), end)
    steps = emit.ints([window.stride for window in windows])
    return emit(onnx.SliceOp(value, emit.sub(edges, begin), stop, emit.ints(spatial), steps))
