"""Parts shared by the strategies for the gradient of a mean."""

from __future__ import annotations

import math

from dialects.grad.avg_pool import AvgPoolBackwardOp
from dialects.onnx import ops as onnx
from dialects.onnx.dims import TO_THE_END
from passes.builder.values import Builder, Value


def shares(op: AvgPoolBackwardOp, e: Builder) -> Value:
    """Return the gradient of each position of a window."""
    taps = math.prod(op.kernel)
    return e(op.diff_dst) if taps == 1 else e(op.diff_dst) * (1 / taps)


def crop_to_src(sums: Value, op: AvgPoolBackwardOp, behind: tuple[int, ...]) -> Value:
    """Crop or pad sums over the windows, and `behind` more positions per axis, to diff_src."""
    rows = zip(op.spatial_axes, op.axes, op.residue, behind, strict=True)
    sides = {at: (-axis.pad_begin, rest - axis.pad_end - more) for at, axis, rest, more in rows}
    return _pad_ends(_crop_sides(sums, sides), sides)


def _crop_sides(value: Value, sides: dict[int, tuple[int, int]]) -> Value:
    cut = {at: (max(-begin, 0), min(end, 0)) for at, (begin, end) in sides.items() if min(begin, end) < 0}
    if not cut:
        return value
    begin, end = ([side[i] for side in cut.values()] for i in (0, 1))
    given = (begin, [stop or TO_THE_END for stop in end], list(cut))
    return value.apply(onnx.SliceOp, *map(value.e.ints, given))


def _pad_ends(value: Value, sides: dict[int, tuple[int, int]]) -> Value:
    """Zero-pad the ends; no sum begins after diff_src does."""
    behind = [max(sides[at][1], 0) if at in sides else 0 for at in range(value.rank)]
    if not any(behind):
        return value
    return value.apply(onnx.PadOp, value.e.ints([0] * value.rank + behind))
