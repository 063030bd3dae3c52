"""Decompositions of RoiAlign and DeformConv into sums of weighted taps."""

from __future__ import annotations

from collections.abc import Sequence

from ml_dtypes import finfo
from xdsl.dialects.builtin import i64

from dialects.onnx import ops as onnx
from passes.autodiff.common.gather_adjoint import iota, numpy_of
from passes.autodiff.common.primal import Primal, refusal
from passes.autodiff.common.slice_adjoint import size_of, size_vector, vector
from passes.builder.values import Builder, Value
from passes.decompositions.sampling.taps import (
    Number,
    Taps,
    linear_taps,
    row_of,
    sample,
    size_as,
    unsqueeze,
    weigh_taps,
)


def _stack_last(parts: Sequence[Value]) -> Value:
    """Stack along a new last axis."""
    e = parts[0].e
    columns = [unsqueeze(part, [part.rank]) for part in parts]
    return e.concat(columns, columns[0].rank - 1)


# RoiAlign


def roi_align(f: Primal, e: Builder) -> Sequence[Value]:
    """Sample each bin of each region at points (R, bins, samples, bins, samples)."""
    rois, batch = f.required(1), f.required(2)
    split = onnx.SplitOp(rois.value, e.ints([1] * 4).value, axis=1, results=4)
    left, top, right, bottom = (e(part) for part in e.emit.all(split))
    rows = (
        (top, bottom, f.value("output_height", 1), 2, [3, 4]),
        (left, right, f.value("output_width", 1), 3, [1, 2]),
    )
    taps: list[Taps] = []
    counts: list[Value | float] = []
    masks: list[Value | None] = []
    for start, end, bins, axis, others in rows:
        place, count, mask = _sample_coordinates(f, start, end, bins)
        near = _inner_taps(place, size_as(f.x, axis, place))
        taps.append(Taps(unsqueeze(near.places, others), unsqueeze(near.weights, others)))
        counts.append(count)
        masks.append(None if mask is None else unsqueeze(mask, others))
    if f.value("mode", "avg") == "max":
        return [_largest(f.x, taps, batch.as_int64(), masks)]
    for i, mask in enumerate(masks):
        if mask is not None:
            taps[i] = Taps(taps[i].places, taps[i].weights * unsqueeze(mask, [5]))
    total = sample(f.x, taps, batch.as_int64()).apply(onnx.ReduceSumOp, e.ints([3, 5]), keepdims=0)
    for count in counts:
        total = total / (unsqueeze(count, [2, 3]).cast(total.dtype) if isinstance(count, Value) else count)
    return [total]


def _sample_coordinates(
    f: Primal, start: Value, end: Value, bins: int
) -> tuple[Value, Value | float, Value | None]:
    """Map columns (R, 1) to coordinates (R, bins, samples), the sample count, and a mask if counts differ."""
    e, scale = f.e, f.value("spatial_scale", 1.0)
    shifted = f.value("coordinate_transformation_mode", "half_pixel") == "half_pixel"
    length = (end - start) * scale
    length = length if shifted else length.at_least(1)
    size = unsqueeze(length * (1 / bins), [2])
    first = unsqueeze(start * scale - (0.5 if shifted else 0.0), [2])
    numbers = e.ints(range(bins)).cast(start.dtype).unsqueeze([1])
    samples = f.value("sampling_ratio", 0)
    if samples:
        shares = (row_of(range(samples), start) + 0.5) * (1 / samples)
        return first + size * (numbers + shares), float(samples), None
    wanted = (length * (1 / bins)).apply(onnx.CeilOp)
    count = wanted.at_least(1)
    most = e(e.emit(onnx.ReduceMaxOp(count.value, keepdims=0))).cast(i64).unsqueeze([0])
    row = iota(most, f.x).cast(start.dtype)
    shares = (row + 0.5) / unsqueeze(count, [2])
    return first + size * (numbers + shares), count, (row < unsqueeze(wanted, [2])).cast(start.dtype)


def _inner_taps(place: Value, size: Number) -> Taps:
    """Return taps of coordinates up to 1 beyond the data; those further out have weight 0."""
    last = size - 1
    inside = (place >= -1) & (place <= size)
    edges = (place <= 0).where(place.e.scalar(0, place), last)
    place = ((place > 0) & (place < last)).where(place, edges)
    offsets, weights, floor = linear_taps(place)
    places = unsqueeze(floor, [floor.rank]) + row_of(offsets, floor)
    joined = place.e.keep(_stack_last(weights), unsqueeze(inside, [inside.rank]))
    return Taps(places.at_least(0).at_most(last), joined)


def _largest(x: Value, taps: Sequence[Taps], batch: Value, masks: Sequence[Value | None]) -> Value:
    """Return the maximum over all taps of all samples."""
    parts, e, least = weigh_taps(x, taps, batch), x.e, float(finfo(numpy_of(x)).min)  # pyright: ignore
    for mask in masks:
        if mask is not None:
            parts = (unsqueeze(mask, [5, 6, 7]) > 0).where(parts, least)
    found = parts.apply(onnx.ReduceMaxOp, e.ints([2, 4, 5, 6]), keepdims=0)
    return found.transpose([0, 3, 1, 2])


# DeformConv


def deform_conv(f: Primal, e: Builder) -> Sequence[Value]:
    """Gather the deformed taps of a convolution, and multiply them with the weights."""
    x, (weights, offset) = f.x, (f.operand(1), f.operand(2))
    bias, mask = f.operand(3), f.operand(4)
    assert weights is not None
    assert offset is not None
    n, kernel = x.rank - 2, weights.shape[2:]
    if not all(isinstance(size, int) for size in kernel):
        raise refusal("shape of the weights", given="unknown", expected="known sizes of the kernel")
    taps = [size for size in kernel if isinstance(size, int)]
    groups, sides = f.value("offset_group", 1), f.value("group", 1)
    batch, counts = size_of(x, 0), [size_of(offset, 2 + i) for i in range(n)]
    together = _times(batch, groups)
    moved = offset.apply(onnx.ReshapeOp, vector(x, [together, *taps, n, *counts]))
    split = onnx.SplitOp(moved.value, e.ints([1] * n).value, axis=1 + n, results=n)
    shifts = [e(part).squeeze([1 + n]) for part in e.emit.all(split)]
    per_axis = [
        _zero_padded(_tap_coordinates(f, shift, i), size_as(x, 2 + i, offset))
        for i, shift in enumerate(shifts)
    ]
    channels, spatial = size_of(x, 1), [size_of(x, 2 + i) for i in range(n)]
    grouped = x.apply(onnx.ReshapeOp, vector(x, [together, _over(channels, groups), *spatial]))
    found = sample(grouped, per_axis)
    if mask is not None:
        found = found * mask.apply(onnx.ReshapeOp, vector(x, [together, 1, *taps, *counts]))
    made = size_of(weights, 0)
    product = 1
    for size in taps:
        product *= size
    rows = vector(x, [batch, sides, _times(_over(channels, sides), product), _product(counts)])
    matrix = weights.apply(
        onnx.ReshapeOp, vector(x, [sides, _over(made, sides), _times(_over(channels, sides), product)])
    )
    y = matrix.apply(onnx.MatMulOp, found.apply(onnx.ReshapeOp, rows))
    y = y.apply(onnx.ReshapeOp, vector(x, [batch, made, *counts])).assume_shape(f.y.shape)
    return [y if bias is None else y + bias.unsqueeze(range(1, 1 + n))]


Size = int | Value


def _times(size: Size, factor: int) -> Size:
    return size * factor if isinstance(size, int) else size * size.e.ints([factor])


def _over(size: Size, divisor: int) -> Size:
    return size // divisor if isinstance(size, int) else size.apply(onnx.DivOp, size.e.ints([divisor]))


def _product(sizes: Sequence[Size]) -> Size:
    found: Size = 1
    for size in sizes:
        found = _times(size, found) if isinstance(found, int) else found * size_vector(size, found.e)
    return found


def _tap_coordinates(f: Primal, shift: Value, i: int) -> Value:
    """Return the coordinates of the taps along an axis: (N groups, kernel..., positions...)."""
    n = f.x.rank - 2
    strides, dilations = (tuple(f.value(name) or (1,) * n) for name in ("strides", "dilations"))
    pads = tuple(f.value("pads") or (0,) * 2 * n)
    tap = iota(size_of(shift, 1 + i), shift).cast(shift.dtype) * float(dilations[i]) - float(pads[i])
    at = iota(size_of(shift, 1 + n + i), shift).cast(shift.dtype) * float(strides[i])
    tap = unsqueeze(tap, [0, *(1 + j for j in range(2 * n) if j != i)])
    at = unsqueeze(at, [0, *(1 + j for j in range(2 * n) if j != n + i)])
    return shift + (tap + at)


def _zero_padded(place: Value, size: Number) -> Taps:
    offsets, weights, floor = linear_taps(place)
    places = unsqueeze(floor, [floor.rank]) + row_of(offsets, floor)
    inside = (places >= 0) & (places <= size - 1)
    return Taps(places.at_least(0).at_most(size - 1), place.e.keep(_stack_last(weights), inside))
