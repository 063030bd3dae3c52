"""Indices of window maxima as MaxPool returns them: flat, into a tensor padded with -inf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.geometry import Window
from dialects.onnx import ops as onnx
from dialects.support.dtypes import known_dtype
from passes.builder.tensors import pad_axes
from passes.builder.values import Builder, Value


@dataclass(frozen=True)
class WindowPads:
    """Pads, channels first, for which a tensor has one window per position of another."""

    begin: SSAValue
    end: SSAValue

    @classmethod
    def of(cls, src: Value, diff_dst: Value, windows: Sequence[Window], begin: Sequence[int]) -> WindowPads:
        emit, spatial = src.e.emit, range(2, src.rank)
        counts = emit.sub(emit.sizes(diff_dst.value, spatial), emit.ints([1] * len(windows)))
        strides, extents = ([getattr(w, name) for w in windows] for name in ("stride", "extent"))
        lengths = emit.add(emit.mul(counts, emit.ints(strides)), emit.ints(extents))
        begins = emit.ints(begin)
        return cls(begins, emit.sub(emit.sub(lengths, emit.sizes(src.value, spatial)), begins))

    def add_padding(self, data: Value, fill: Value | None = None) -> Value:
        value = None if fill is None else fill.value
        axes = range(2, data.rank)
        return data.e(pad_axes(data.e.emit, data.value, axes, self.begin, self.end, value))

    def remove_padding(self, data: Value) -> Value:
        emit = data.e.emit
        zeros = emit.ints([0] * (data.rank - 2))
        sides = (emit.sub(zeros, self.begin), emit.sub(zeros, self.end))
        return data.e(pad_axes(emit, data.value, range(2, data.rank), *sides))


def flat_argmax(src: Value, around: WindowPads, windows: Sequence[Window]) -> Value:
    """Return the flat index, in the padded tensor, of the first maximum of each window."""
    return _argmax(around.add_padding(src, src.e.scalar(-np.inf, src)), windows)


def _argmax(data: Value, windows: Sequence[Window], pads: Sequence[int] = ()) -> Value:
    kernel, strides, steps = (
        [getattr(w, name) for w in windows] for name in ("kernel", "stride", "dilation")
    )
    given = steps if any(step > 1 for step in steps) else None
    around = list(pads) if any(pads) else None
    op = onnx.MaxPoolOp(data.value, kernel_shape=kernel, strides=strides, dilations=given, pads=around)
    _, found = data.e.emit.all(op)
    return data.e(found)


def gather_maxima(
    data: Value, src: Value, counts: Value, windows: Sequence[Window], begin: Sequence[int]
) -> Value:
    """Return the elements of `data` where the windows over `src`, of its shape, have their first maximum.

    counts: a value with one element for each window.
    """
    pads = _static_pads(src, counts, windows, begin)
    if pads is not None:
        return gather_flat(data, _argmax(src, windows, pads))
    around = WindowPads.of(src, counts, windows, begin)
    return gather_flat(around.add_padding(data), flat_argmax(src, around, windows))


def _static_pads(
    src: Value, counts: Value, windows: Sequence[Window], begin: Sequence[int]
) -> list[int] | None:
    """Return pads that MaxPool accepts, of which its indices are independent; None if there are none.

    Equal pads on both sides are preferred: those of the pool itself, which then returns the indices, too.
    """
    end: list[int] = []
    for window, first, size, count in zip(windows, begin, src.shape[2:], counts.shape[2:], strict=True):
        if not isinstance(size, int) or not isinstance(count, int):
            return None
        least = (count - 1) * window.stride + window.extent - size - first
        fitting = range(max(0, least), min(least + window.stride, window.kernel))
        if first >= window.kernel or not fitting:
            return None
        end.append(first if first in fitting else fitting[0])
    return [*begin, *end]


def scatter_add(values: Value, places: Value, like: Value, e: Builder) -> Value:
    """Add values at flat indices into zeros of the shape of `like`."""
    sizes, line = e.shape(like), e.ints([-1])
    zeros = zeros_of(sizes, like, e)
    flat = [value.apply(onnx.ReshapeOp, line) for value in (zeros, places, values)]
    sums = flat[0].apply(onnx.ScatterElementsOp, flat[1], flat[2], axis=0, reduction="add")
    return sums.apply(onnx.ReshapeOp, sizes)


def zeros_of(sizes: Value, like: Value, e: Builder) -> Value:
    return sizes.apply(onnx.ConstantOfShapeOp, value=np.zeros(1, known_dtype(like.dtype).numpy))


def gather_flat(data: Value, places: Value) -> Value:
    """Gather the elements at flat indices."""
    flat = data.apply(onnx.ReshapeOp, data.e.ints([-1]))
    return flat.apply(onnx.GatherOp, places, axis=0)
