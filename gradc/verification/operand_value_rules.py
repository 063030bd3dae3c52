"""Rules that give valid values to operands that are sizes, axes, indices or similar.

`VALUES` has a function for each such operand of an op, from a `Reader`, which knows the shapes of operands
that depend on inputs, to valid numbers, or None if any are valid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx.base import OnnxOp
from dialects.onnx.values import constant_of
from dialects.support import shapes

NO_OPERAND = 99
"""Index of an operand that no op has."""

Numbers = Sequence[float] | np.ndarray | float | None


@dataclass(frozen=True, eq=False)
class Reader:
    """The op that reads an input, and the known facts about its other operands.

    `length` is the declared length of a vector input; `other` selects alternative values.
    """

    op: OnnxOp
    length: int | None
    other: int
    arrays: Mapping[SSAValue, np.ndarray]
    sizes: Mapping[str, int]

    def operand(self, index: int) -> SSAValue | None:
        given = self.op.onnx_inputs()
        return given[index] if index < len(given) else None

    def shape(self, index: int = 0) -> tuple[int, ...] | None:
        value = self.operand(index)
        if value is not None and value in self.arrays:
            return np.shape(self.arrays[value])
        if value is None or not shapes.has_rank(value):
            return None
        return shapes.static(shapes.with_sizes(shapes.shape_of(value), self.sizes))

    def rank(self, index: int = 0) -> int | None:
        value = self.operand(index)
        if value is not None and value in self.arrays:
            return np.ndim(self.arrays[value])
        return len(shapes.shape_of(value)) if value is not None and shapes.has_rank(value) else None

    def result_rank(self) -> int | None:
        result = self.op.results[0]
        return len(shapes.shape_of(result)) if shapes.has_rank(result) else None

    def value(self, index: int) -> np.ndarray | None:
        value = self.operand(index)
        return None if value is None else self.arrays.get(value, constant_of(value))

    def attribute(self, name: str, default: Any = None) -> Any:
        return self.op.onnx_attributes().get(name, default)

    def axis_size(self, default: int = 0) -> int | None:
        shape, axis = self.shape(), int(self.attribute("axis", default))
        return shape[axis] if shape and -len(shape) <= axis < len(shape) else None

    def axes(self, index: int = NO_OPERAND) -> list[int] | None:
        """Return the axes listed by an operand or the attribute; all if neither is given."""
        rank, given = self.rank(), self.operand(index)
        if given is None:
            listed = self.attribute("axes")
            return list(range(rank)) if rank is not None and listed is None else listed
        known = constant_of(given)
        if known is not None:
            return [int(axis) for axis in known.ravel()]
        count = self._count_of(given)
        return list(range(count)) if count is not None else None

    def _count_of(self, value: SSAValue) -> int | None:
        if value in self.arrays:
            return int(self.arrays[value].size)
        found = shapes.static_shape(value) if shapes.has_rank(value) else None
        return math.prod(found) if found is not None else None


def _split_into(count: int, length: int) -> list[int]:
    """Return sizes whose product is `count`, the larger ones last."""
    found, rest = [1] * length, count
    place = length - 1
    for factor in range(2, count + 1):
        while rest % factor == 0 and place > 0:
            found[place], rest = found[place] * factor, rest // factor
            place -= 1
    found[0] *= rest
    return found


def _reshape(r: Reader) -> Numbers:
    length = (r.result_rank() or 1) if r.length is None else r.length
    if length == 0:
        return []
    shape = r.shape()
    if r.other == 1 and r.rank() is not None and length > 1:
        return [*[0] * min(length - 1, r.rank() or 0), *[1] * (length - 1 - (r.rank() or 0)), -1]
    if r.other == 2 or shape is None or 0 in shape:
        return [*[1] * (length - 1), -1]
    if len(shape) <= length and r.other == 3:
        return [*shape, *[1] * (length - len(shape))]
    return _split_into(math.prod(shape), length)


def _expand(r: Reader) -> Numbers:
    shape = r.shape()
    length = r.length if r.length is not None else r.result_rank() or r.rank()
    if shape is None or length is None:
        return [1] * (length or 1)
    tail = [2 if size == 1 and r.other % 2 == 0 else size for size in shape]
    return [*[2] * (length - len(tail)), *tail][-length:] if length else []


def _factors(r: Reader) -> Numbers:
    axes = r.axes()
    if axes is None:
        return None if r.length is None else [1.0] * r.length
    chosen = ((2.0, 0.5), (1.5, 2.0), (1.0, 1.0), (0.75, 3.0))[r.other % 4]
    images = _images(axes, r.rank(), r.other)
    return [chosen[place % 2] if axis in images else 1.0 for place, axis in enumerate(axes)]


def _images(axes: Sequence[int], rank: int | None, other: int) -> list[int]:
    """Return the axes to resize: all but the first two, or all but the first and the last."""
    if rank is None or rank < 3:
        return list(axes)
    inner = range(1, rank - 1) if other % 3 == 1 else range(2, rank)
    return [axis for axis in axes if axis % rank in inner]


def _upsample(r: Reader) -> Numbers:
    rank = r.rank()
    images = _images(range(rank or 0), rank, r.other)
    return None if rank is None else [2.0 if axis in images else 1.0 for axis in range(rank)]


def _resize_sizes(r: Reader) -> Numbers:
    axes, shape = r.axes(), r.shape()
    if axes is None or shape is None:
        return None if r.length is None else [3] * r.length
    images = _images(axes, len(shape), r.other)
    larger = (lambda n: 2 * n, lambda n: n + 3, lambda n: n, lambda n: max(n // 2, 1))[r.other % 4]
    return [larger(shape[axis]) if axis in images else shape[axis] for axis in axes]


def _region(r: Reader) -> Numbers:
    axes = r.axes()
    return None if axes is None else [*[0.0] * len(axes), *[1.0] * len(axes)]


def _starts(r: Reader) -> Numbers:
    return [r.other % 2] * _slice_rank(r)


def _ends(r: Reader) -> Numbers:
    return [(2**31 - 1, -1, 2, 1)[r.other % 4]] * _slice_rank(r)


def _steps(r: Reader) -> Numbers:
    return [1 + (r.other == 1)] * _slice_rank(r)


def _all_axes(r: Reader) -> Numbers:
    return list(range(_slice_rank(r)))


def _slice_rank(r: Reader) -> int:
    """Return the number of axes of a Slice, the common length of its vectors."""
    lengths = [r.length]
    for index in (1, 2, 3, 4):
        value = r.operand(index)
        if value is not None and value not in r.arrays and shapes.has_rank(value):
            lengths += shapes.static_shape(value) or ()
    known = [length for length in lengths if length is not None]
    return known[0] if known else 1


def _pads(r: Reader) -> Numbers:
    axes = r.axes(3)
    count = 2 * len(axes) if axes is not None else r.length
    return None if count is None else [(place + r.other) % 2 for place in range(count)]


def _axes(r: Reader) -> Numbers:
    rank, count = r.rank(), 1 if r.length is None else r.length
    if rank is None:
        return list(range(count))
    return [(rank - 1 - place if r.other % 2 else place) for place in range(min(count, rank) or count)]


def _squeeze_axes(r: Reader) -> Numbers:
    shape = r.shape()
    if shape is None:
        return _axes(r)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    return ones if r.length is None else ones[: r.length]


def _parts(r: Reader) -> Numbers:
    size, count = r.axis_size(), len(r.op.results)
    if size is None:
        return None
    if r.op.onnx_name() == "SplitToSequence":
        count = r.length or 1
    return [size // count] * (count - 1) + [size - size // count * (count - 1)]


def _up_to(size: int | None, other: int) -> int:
    return 1 if not size else max(1, (size // 2, size, 1)[other % 3])


def _lengths(axis: int, batch: int) -> Callable[[Reader], Numbers]:
    def lengths(r: Reader) -> Numbers:
        shape = r.shape()
        if shape is None or len(shape) < 2:
            return None
        longest, count = shape[r.attribute("time_axis", axis)], shape[r.attribute("batch_axis", batch)]
        return [max(1, longest - place % (longest or 1)) for place in range(count)]

    return lengths


def _indices(r: Reader) -> Numbers:
    """Return zeros for an axis of one element or as an alternative; None if drawn indices are valid."""
    drawn, size = r.value(1), r.axis_size()
    if drawn is None or (size is not None and size > 1 and not r.other):
        return None
    return np.zeros_like(drawn)


def _repeats(r: Reader) -> Numbers:
    rank = r.rank() if r.length is None else r.length
    return None if rank is None else [1 + (place + r.other) % 2 for place in range(rank)]


def _sizes(r: Reader) -> Numbers:
    length = r.length if r.length is not None else r.result_rank() or 2
    return [2 + (place + r.other) % 3 for place in range(length)]


def _crop_sizes(r: Reader) -> Numbers:
    shape, axes = r.shape(), r.attribute("axes")
    if shape is None:
        return None
    return [max(1, shape[axis] + (1, -1, 0)[axis % 3]) for axis in axes or range(len(shape))]


def _grid_size(r: Reader) -> Numbers:
    shape = r.shape()
    return None if shape is None else [shape[0], 3, *[4] * shape[1]]


def _just(*choices: Numbers) -> Callable[[Reader], Numbers]:
    return lambda r: choices[r.other % len(choices)]


def _nonzero(r: Reader) -> Numbers:
    """Return a nonzero integer divisor."""
    value = r.value(1)
    return value + 1 if value is not None and value.dtype.kind in "iu" else None


VALUES: dict[tuple[str, int], Callable[[Reader], Numbers]] = {
    ("Reshape", 1): _reshape,
    ("Expand", 1): _expand,
    ("Resize", 1): _region,
    ("Resize", 2): _factors,
    ("Resize", 3): _resize_sizes,
    ("Upsample", 1): _upsample,
    ("Slice", 1): _starts,
    ("Slice", 2): _ends,
    ("Slice", 3): _all_axes,
    ("Slice", 4): _steps,
    ("Tile", 1): _repeats,
    ("Range", 0): _just(0, 1),
    ("Range", 1): _just(5, 2, 8, 1),
    ("Range", 2): _just(1, 2),
    ("TopK", 1): lambda r: [_up_to(r.axis_size(-1), r.other)],
    ("OneHot", 1): _just(3, 5),
    ("Pad", 1): _pads,
    ("Pad", 3): _axes,
    ("Gather", 1): _indices,
    ("GatherElements", 1): _indices,
    ("GatherND", 1): lambda r: None if not r.other else np.zeros_like(r.value(1)),
    ("ScatterElements", 1): _indices,
    ("ScatterND", 1): lambda r: None if not r.other else np.zeros_like(r.value(1)),
    ("Split", 1): _parts,
    ("SplitToSequence", 1): _parts,
    ("Unsqueeze", 1): _axes,
    ("Squeeze", 1): _squeeze_axes,
    ("ConstantOfShape", 0): _sizes,
    ("CenterCropPad", 1): _crop_sizes,
    ("Clip", 1): _just(-0.5, 0.0),
    ("Clip", 2): _just(0.5, 6.0),
    ("CumSum", 1): _just(0),
    ("Dropout", 1): _just(0.25, 0.0),
    ("LSTM", 4): _lengths(0, 1),
    ("GRU", 4): _lengths(0, 1),
    ("RNN", 4): _lengths(0, 1),
    ("ReverseSequence", 1): _lengths(0, 1),
    ("Loop", 0): _just(3, 1, 0),
    ("SequenceAt", 1): _just(0, 1),
    ("SequenceErase", 1): _just(0, 1),
    ("SequenceInsert", 2): _just(0, 1),
    ("DFT", 1): lambda r: 8,
    ("DFT", 2): _just(1),
    ("STFT", 1): _just(2, 1),
    ("STFT", 3): _just(4, 8),
    ("HannWindow", 0): _just(8, 5),
    ("HammingWindow", 0): _just(8, 5),
    ("BlackmanWindow", 0): _just(8, 5),
    ("MelWeightMatrix", 0): _just(4),
    ("MelWeightMatrix", 1): _just(16),
    ("MelWeightMatrix", 2): _just(8000),
    ("MelWeightMatrix", 3): _just(0.0),
    ("MelWeightMatrix", 4): _just(4000.0),
    ("AffineGrid", 1): _grid_size,
    ("NonMaxSuppression", 2): _just(3),
    ("NonMaxSuppression", 3): _just(0.5),
    ("NonMaxSuppression", 4): _just(0.0),
    ("RoiAlign", 2): lambda r: np.zeros_like(r.value(2)),
    ("Div", 1): _nonzero,
    ("Mod", 1): _nonzero,
}

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
VALUES |= {(f"Reduce{kind}", 1): _axes for kind in REDUCTIONS}

CHOICES = 4
"""Number of alternatives in `VALUES`; higher choices also fill other integer inputs with one number each."""
