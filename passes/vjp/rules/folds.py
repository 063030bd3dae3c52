"""The derivative of a Pad that repeats elements: what the border holds goes back to where it came from."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from dialects.support.shapes import Dim, Shape
from passes.emit.expressions import Expr
from passes.vjp.common.forward import refusal
from passes.vjp.common.places import counted, put_together
from passes.vjp.common.slices import padded, size_of, vector


def folded(
    g: Expr,
    whole: Expr,
    axes: Sequence[int],
    begin: Sequence[int | Expr],
    end: Sequence[int | Expr],
    mode: str,
) -> Expr:
    """The gradient of the operand `whole` of a Pad, axis by axis, in the modes reflect, edge and wrap."""
    if mode not in ("reflect", "edge", "wrap"):
        raise refusal("mode", given=mode)
    for axis, first, last in zip(axes, begin, end, strict=True):
        if first == 0 and last == 0:
            continue
        g = _along(g, whole, axis, first, last, mode)
    return g.assumed(whole.shape)


def _along(g: Expr, whole: Expr, axis: int, first: int | Expr, last: int | Expr, mode: str) -> Expr:
    size = whole.shape[axis]
    if not isinstance(first, int) or not isinstance(last, int) or min(first, last) < 0:
        return _by_indices(g, whole, axis, first, last, mode)
    most = max(first, last) + (mode == "reflect")
    if mode != "edge" and (not isinstance(size, int) or size < most):
        return _by_indices(g, whole, axis, first, last, mode)
    if isinstance(size, int) and size >= _reach(first, mode) + _reach(last, mode):
        return _in_bands(g, axis, size, first, last, mode)
    middle = _cut(g, axis, first, -last or TO_THE_END)
    parts = [middle.assumed(_with(g, axis, whole.shape[axis]))]
    if first:
        parts.append(_border(_cut(g, axis, 0, first), whole, axis, first, mode, at_end=False))
    if last:
        parts.append(_border(_cut(g, axis, -last, TO_THE_END), whole, axis, last, mode, at_end=True))
    total = parts[0]
    for part in parts[1:]:
        total = total + part.assumed(parts[0].shape)
    return total


def _reach(count: int, mode: str) -> int:
    """How far into the axis, from its end, the places reach from which a border of so many came."""
    return {"edge": min(count, 1), "reflect": count + (count > 0), "wrap": count}[mode]


def _in_bands(g: Expr, axis: int, size: int, first: int, last: int, mode: str) -> Expr:
    """Sums for the places that a border came from, which do not meet, between what is taken as it is."""
    borders: list[tuple[Expr, int, bool]] = []
    if first:
        borders.append((_cut(g, axis, 0, first), first, mode == "wrap"))
    if last:
        borders.append((_cut(g, axis, first + size, first + size + last), last, mode != "wrap"))
    bands = sorted(
        ((*_places(count, size, mode, at_end=at_end), border) for border, count, at_end in borders),
        key=lambda band: band[0],
    )
    parts: list[Expr] = []
    reached = 0
    for start, end, border in bands:
        if start > reached:
            parts.append(_cut(g, axis, first + reached, first + start))
        parts.append(_cut(g, axis, first + start, first + end) + _turned(border, axis, mode))
        reached = end
    if size > reached:
        parts.append(_cut(g, axis, first + reached, first + size))
    return g.e(g.e.emit(onnx.ConcatOp([part.value for part in parts], axis=axis)))


def _with(g: Expr, axis: int, dim: Dim) -> Shape:
    return tuple(dim if i == axis else size for i, size in enumerate(g.shape))


def _cut(x: Expr, axis: int, start: int, end: int) -> Expr:
    e = x.e
    return x.apply(onnx.SliceOp, e.ints([start]), e.ints([end]), e.ints([axis]))


def _places(count: int, size: int, mode: str, *, at_end: bool) -> tuple[int, int]:
    """The places, at one end of the axis, that a border of so many came from."""
    skipped, count = int(mode == "reflect"), 1 if mode == "edge" else count
    return (size - skipped - count, size - skipped) if at_end else (skipped, skipped + count)


def _turned(border: Expr, axis: int, mode: str) -> Expr:
    """A border in the order, and with the sums, of the places that it came from."""
    e = border.e
    if mode == "edge":
        return border.apply(onnx.ReduceSumOp, e.ints([axis]), keepdims=1)
    if mode == "wrap":
        return border
    back = e.ints([-1])
    return border.apply(onnx.SliceOp, back, e.ints([-TO_THE_END]), e.ints([axis]), back)


def _border(border: Expr, whole: Expr, axis: int, count: int, mode: str, *, at_end: bool) -> Expr:
    """A border of `count` positions, in zeros of the size of the whole, where its elements came from."""
    size, skipped = size_of(whole, axis), int(mode == "reflect")
    count = 1 if mode == "edge" else count
    lies_at_end = at_end if mode != "wrap" else not at_end
    rest = size - (count + skipped) if isinstance(size, int) else size - border.e.ints([count + skipped])
    before, behind = (rest, skipped) if lies_at_end else (skipped, rest)
    zeros = [[entry if i == axis else 0 for i in range(border.rank)] for entry in (before, behind)]
    return padded(_turned(border, axis, mode), *zeros)


def _by_indices(g: Expr, whole: Expr, axis: int, first: int | Expr, last: int | Expr, mode: str) -> Expr:
    """For borders of any width: the same Pad of the indices tells where each element came from."""
    size = size_of(whole, axis)
    origins = counted(size, g).apply(onnx.PadOp, vector(g, [first, last]), mode=mode)
    return put_together(g, origins, axis, size)
