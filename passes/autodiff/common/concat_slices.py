"""Sums of adjacent slices' gradients as one Concat, not a sum of padded parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.autodiff.common.slice_adjoint import pad_zeros
from passes.builder.values import Value


@dataclass(frozen=True)
class _Tile:
    """A part at positions [begin, end) of an axis of static size, with zeros around it."""

    gradient: Value
    part: Value
    axis: int
    begin: int
    end: int
    size: int


def concat_slices(gradients: Sequence[Value]) -> list[Value]:
    """Return fewer gradients with the same sum: adjacent parts are concatenated."""
    runs: dict[tuple[int, int], list[_Tile]] = {}  # by axis and end position
    found, tiles = list[Value](), list[_Tile]()
    for gradient in gradients:
        tile = _tile(gradient)
        if tile is None:
            found.append(gradient)
        else:
            tiles.append(tile)
    finished: list[list[_Tile]] = []
    for tile in sorted(tiles, key=lambda tile: (tile.axis, tile.begin, tile.end)):
        run = runs.pop((tile.axis, tile.begin), [])
        run.append(tile)
        occupied = runs.pop((tile.axis, tile.end), None)
        finished += [] if occupied is None else [occupied]
        runs[tile.axis, tile.end] = run
    return [*found, *map(_whole, [*finished, *runs.values()])]


def _tile(gradient: Value) -> _Tile | None:
    """Return `gradient` as a part padded along one axis, or None."""
    made = gradient.value.owner
    if not isinstance(made, onnx.PadOp) or made.parent is not None or "mode" in made.onnx_attributes():
        return None
    data, pads, *others = made.onnx_inputs()
    amounts = None if data is None or pads is None or any(others) else constant_of(pads)
    if amounts is None or data is None:
        return None
    rank = gradient.rank
    axes = [i for i in range(rank) if amounts[i] or amounts[rank + i]]
    size = gradient.shape[axes[0]] if len(axes) == 1 else None
    if not isinstance(size, int) or amounts.min() < 0:
        return None
    (axis,) = axes
    begin, behind = int(amounts[axis]), int(amounts[rank + axis])
    return _Tile(gradient, gradient.e(data), axis, begin, size - behind, size)


def _whole(run: Sequence[_Tile]) -> Value:
    first, last = run[0], run[-1]
    if len(run) == 1:
        return first.gradient
    e, axis, rank = first.part.e, first.axis, first.part.rank
    joined = e.concat([tile.part for tile in run], axis)
    begin, end = ([n if i == axis else 0 for i in range(rank)] for n in (first.begin, last.size - last.end))
    return pad_zeros(joined, begin, end)
