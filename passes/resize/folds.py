"""Addition of positions -1 and X of an axis to positions 0 and X - 1, for clamped coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, reshape, size_of
from passes.cost.work import Sizes, Work

FOLDS_NEED = (onnx.AddOp, onnx.ConcatOp, onnx.GatherOp, onnx.SplitOp)

LEAST_CHANNELS = 8
"""Number of channels from which on Gather moves pixels as fast as Split and Concat move rows."""


@dataclass(frozen=True)
class Fold:
    """An axis of `x` positions, with positions -1 and X if `before` and `after`."""

    x: int
    before: bool
    after: bool

    @property
    def outside(self) -> list[int]:
        """Indices of positions -1 and X."""
        return [0] * self.before + [self.x + self.before] * self.after

    @property
    def neighbours(self) -> list[int]:
        """Index of the neighbour of each of `outside`."""
        return [1] * self.before + [self.x + self.before - 1] * self.after

    @property
    def parts(self) -> list[int]:
        """The x positions as those that change and those between."""
        return [self.x] if self.x == 1 else [1, self.x - 2, 1] if self.x > 2 else [1, 1]

    @property
    def widths(self) -> list[int]:
        """`parts` and the positions outside."""
        return [1] * self.before + self.parts + [1] * self.after

    @property
    def inside(self) -> list[int]:
        return list(range(self.before, self.before + self.x))


def fold_axes(emit: OpBuilder, value: SSAValue, first: int, folds: Sequence[Fold | None]) -> SSAValue:
    """Fold the axes from `first` on; None for an axis without positions outside."""
    for axis, each in enumerate(folds, first):
        value = _split(emit, value, axis, each) if each and each.outside else value
    return value


def fold_works(work: Work, data: Sizes, first: int, folds: Sequence[Fold | None]) -> None:
    """Count the unavoidable work of `fold_axes`: see `passes.cost.work`."""
    for axis, each in enumerate(folds, first):
        if each is None or not each.outside:
            continue
        outer, behind = data[:axis], data[axis + 1 :]
        work.split(data, axis, each.widths)
        edge = (*outer, 1, *behind)
        for _ in each.outside:
            work.run("Add", edge, edge, edge)
        data = (*outer, each.x, *behind)
        if len(each.parts) > 1:
            work.run("Concat", data, *((*outer, width, *behind) for width in each.parts), axis=axis)


def fold_axes_last(emit: OpBuilder, value: SSAValue, folds: Sequence[Fold | None]) -> SSAValue:
    """Fold the axes of (N, X.., C). For two, each pixel is moved twice instead of four times."""
    known = [each for each in folds if each and each.outside]
    channels = shape_of(value)[-1]
    is_wide = isinstance(channels, int) and channels >= LEAST_CHANNELS
    # the only position may be the neighbour of both, and get two terms
    if len(known) < 2 or not is_wide or any(len(set(each.neighbours)) < len(each.outside) for each in known):
        return fold_axes(emit, value, 1, folds)
    return _fold_by_gather(emit, value, *known)


def _split(emit: OpBuilder, value: SSAValue, axis: int, fold: Fold) -> SSAValue:
    widths = fold.widths
    split = onnx.SplitOp(value, emit.ints(widths), axis=axis, results=len(widths))
    emit.ops.append(split)
    parts: list[SSAValue] = list(split.results)
    if fold.before:
        extra = parts.pop(0)
        parts[0] = emit(onnx.AddOp(parts[0], extra))
    if fold.after:
        extra = parts.pop()
        parts[-1] = emit(onnx.AddOp(parts[-1], extra))
    return emit(onnx.ConcatOp(parts, axis=axis)) if len(parts) > 1 else parts[0]


def _fold_by_gather(emit: OpBuilder, value: SSAValue, rows: Fold, columns: Fold) -> SSAValue:
    """Append the sums of both axes and the corners to all pixels, and gather the result from them."""
    sizes = [size_of(emit, value, axis) for axis in range(4)]
    row_sums = _sums(emit, value, 1, rows)
    parts = [value, row_sums, _sums(emit, value, 2, columns), _sums(emit, row_sums, 2, columns)]
    pixels = emit(onnx.ConcatOp([_flat(emit, part, sizes) for part in parts], axis=1))
    return emit(onnx.GatherOp(pixels, emit.constant(_pixel_indices(rows, columns)), axis=1))


def _sums(emit: OpBuilder, value: SSAValue, axis: int, fold: Fold) -> SSAValue:
    """Return the sums at the changed positions of an axis, in order."""
    both = (emit(onnx.GatherOp(value, emit.ints(p), axis=axis)) for p in (fold.neighbours, fold.outside))
    return emit(onnx.AddOp(*both))


def _flat(emit: OpBuilder, value: SSAValue, sizes: Sequence[Size]) -> SSAValue:
    _, height, width, _ = shape_of(value)
    assert isinstance(height, int)
    assert isinstance(width, int)
    return reshape(emit, value, [sizes[0], height * width, sizes[-1]])


def _pixel_indices(rows: Fold, columns: Fold) -> np.ndarray:
    """Return the index (X, X) of each pixel of the result in `_fold_by_gather`."""
    height, width = rows.x + len(rows.outside), columns.x + len(columns.outside)
    shapes = [(height, width), (len(rows.outside), width), (height, len(columns.outside))]
    shapes.append((len(rows.outside), len(columns.outside)))
    ends = np.cumsum([h * w for h, w in shapes])
    blocks: list[np.ndarray] = [
        np.arange(int(end) - h * w, int(end)).reshape(h, w) for end, (h, w) in zip(ends, shapes, strict=True)
    ]
    pixels, row_sums, column_sums, corners = blocks
    pixels[rows.neighbours, :] = row_sums
    pixels[:, columns.neighbours] = column_sums
    pixels[np.ix_(rows.neighbours, columns.neighbours)] = corners
    return pixels[np.ix_(rows.inside, columns.inside)]
