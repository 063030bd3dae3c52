"""VJP of Pad with reflect, edge and wrap: the border's cotangents are added to their source elements."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.shapes import Dim, Shape
from passes.autodiff.common.gather_adjoint import iota, scatter_back
from passes.autodiff.common.primal import refusal
from passes.autodiff.common.slice_adjoint import pad_zeros, size_of, vector
from passes.builder.values import Value


def pad_adjoint(
    g: Value,
    whole: Value,
    axes: Sequence[int],
    begin: Sequence[int | Value],
    end: Sequence[int | Value],
    mode: str,
) -> Value:
    """Return the gradient of the operand `whole` of a Pad, axis by axis."""
    if mode not in ("reflect", "edge", "wrap"):
        raise refusal("mode", given=mode)
    for axis, first, last in zip(axes, begin, end, strict=True):
        if first == 0 and last == 0:
            continue
        g = _along(g, whole, axis, first, last, mode)
    return g.assume_shape(whole.shape)


def _along(g: Value, whole: Value, axis: int, first: int | Value, last: int | Value, mode: str) -> Value:
    size = whole.shape[axis]
    if not isinstance(first, int) or not isinstance(last, int) or min(first, last) < 0:
        return _by_indices(g, whole, axis, first, last, mode)
    most = max(first, last) + (mode == "reflect")
    if mode != "edge" and (not isinstance(size, int) or size < most):
        return _by_indices(g, whole, axis, first, last, mode)
    if isinstance(size, int) and size >= _reach(first, mode) + _reach(last, mode):
        return _in_bands(g, axis, size, first, last, mode)
    middle = _cut(g, axis, first, -last or TO_THE_END)
    parts = [middle.assume_shape(_with_dim(g, axis, whole.shape[axis]))]
    if first:
        parts.append(_border(_cut(g, axis, 0, first), whole, axis, first, mode, at_end=False))
    if last:
        parts.append(_border(_cut(g, axis, -last, TO_THE_END), whole, axis, last, mode, at_end=True))
    total = parts[0]
    for part in parts[1:]:
        total = total + part.assume_shape(parts[0].shape)
    return total


def _reach(count: int, mode: str) -> int:
    """Return how many elements from the end of the axis may be sources of a border of `count`."""
    return {"edge": min(count, 1), "reflect": count + (count > 0), "wrap": count}[mode]


def _in_bands(g: Value, axis: int, size: int, first: int, last: int, mode: str) -> Value:
    """Sum disjoint source bands with their borders, and concatenate them with the rest."""
    borders: list[tuple[Value, int, bool]] = []
    if first:
        borders.append((_cut(g, axis, 0, first), first, mode == "wrap"))
    if last:
        borders.append((_cut(g, axis, first + size, first + size + last), last, mode != "wrap"))
    bands = sorted(
        ((*_source_range(count, size, mode, at_end=at_end), border) for border, count, at_end in borders),
        key=lambda band: band[0],
    )
    parts: list[Value] = []
    reached = 0
    for start, end, border in bands:
        if start > reached:
            parts.append(_cut(g, axis, first + reached, first + start))
        parts.append(_cut(g, axis, first + start, first + end) + _reorder_border(border, axis, mode))
        reached = end
    if size > reached:
        parts.append(_cut(g, axis, first + reached, first + size))
    return g.e.concat(parts, axis)


def _with_dim(g: Value, axis: int, dim: Dim) -> Shape:
    return tuple(dim if i == axis else size for i, size in enumerate(g.shape))


def _cut(x: Value, axis: int, start: int, end: int) -> Value:
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([axis]))


def _source_range(count: int, size: int, mode: str, *, at_end: bool) -> tuple[int, int]:
    """Return the range of source indices of a border of `count` elements."""
    skipped, count = int(mode == "reflect"), 1 if mode == "edge" else count
    return (size - skipped - count, size - skipped) if at_end else (skipped, skipped + count)


def _reorder_border(border: Value, axis: int, mode: str) -> Value:
    """Return a border in the order of its sources, summed for `edge`."""
    e = border.e
    if mode == "edge":
        return border.apply(onnx.ReduceSumOp, e.ints([axis]), keepdims=1)
    if mode == "wrap":
        return border
    back = e.ints([-1])
    return border.apply(onnx.SliceOp, back, e.ints([-TO_THE_END]), e.ints([axis]), back)


def _border(border: Value, whole: Value, axis: int, count: int, mode: str, *, at_end: bool) -> Value:
    """Return a border added to its source positions in zeros of the size of `whole`."""
    size, skipped = size_of(whole, axis), int(mode == "reflect")
    count = 1 if mode == "edge" else count
    lies_at_end = at_end if mode != "wrap" else not at_end
    rest = size - (count + skipped) if isinstance(size, int) else size - border.e.ints([count + skipped])
    before, behind = (rest, skipped) if lies_at_end else (skipped, rest)
    zeros = [[entry if i == axis else 0 for i in range(border.rank)] for entry in (before, behind)]
    return pad_zeros(_reorder_border(border, axis, mode), *zeros)


def _by_indices(g: Value, whole: Value, axis: int, first: int | Value, last: int | Value, mode: str) -> Value:
    """Handle borders of any width: the same Pad, applied to indices, gives the source of each element."""
    size = size_of(whole, axis)
    origins = iota(size, g).apply(onnx.PadOp, vector(g, [first, last]), mode=mode)
    return scatter_back(g, origins, axis, size)
