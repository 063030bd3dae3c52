"""Weights in another order, at run time where they are an input.

onnxruntime transposes matrices and copies rows quickly. Axes of few numbers, as a kernel's are, it moves
number by number: channels swapped by a Transpose [1, 0, 2, 3] and taps reversed by a Gather on the last axis
take 5.9 ms for 256x256x3x3, in matrices it takes 0.4 (1.31, AMD EPYC).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import FOLDED_FREELY
from dialects.onnx.dims import TO_THE_END
from dialects.support.constants import is_known
from dialects.support.shapes import shape_of
from passes.emit.rewriting import Emitter
from passes.emit.tensors import reshape

MOST_GATHERED = 2**16
"""Taps that are taken by a table of their places. Of more, it would be larger than what is there to be moved;
a Slice, which is slower, needs none."""

MOST_FOLDED = FOLDED_FREELY // 8
"""So many numbers of any dtype that are computed at compile time in any case."""


@dataclass(frozen=True)
class SwappedWeights:
    """Weights (A, B / g, K..) with the channels swapped within each of g groups: (B, taps, A / g), the taps
    those of all axes as one."""

    value: SSAValue
    kernel: tuple[int, ...]

    @classmethod
    def of(cls, emit: Emitter, weights: SSAValue, groups: int) -> SwappedWeights:
        first, second, *kernel = _sizes(weights)
        taps, per_group = math.prod(kernel), first // groups
        matrices = reshape(emit, weights, [groups, per_group, second * taps])
        swapped = _transposed(emit, matrices)
        return cls(reshape(emit, swapped, [groups * second, taps, per_group]), tuple(kernel))

    def taps(self, emit: Emitter, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """(B, A / g, chosen taps..), of each axis in the order in which they are given."""
        rows, _, columns = _sizes(self.value)
        return reshape(
            emit, _transposed(emit, self._chosen(emit, chosen)), [rows, columns, *map(len, chosen)]
        )

    def rows(self, emit: Emitter, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """(B, chosen taps A / g), without a second Transpose."""
        rows, _, columns = _sizes(self.value)
        return reshape(emit, self._chosen(emit, chosen), [rows, math.prod(map(len, chosen)) * columns])

    def _chosen(self, emit: Emitter, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """(B, chosen taps, A / g)."""
        if math.prod(map(len, chosen)) <= MOST_GATHERED:
            return take(emit, self.value, 1, flat_taps(self.kernel, chosen))
        rows, _, columns = _sizes(self.value)
        parts = [_part(taps) for taps in chosen]
        if all(map(_is_whole, parts, self.kernel)):
            return self.value
        apart = reshape(emit, self.value, [rows, *self.kernel, columns])
        starts, ends, steps = (emit.ints(bounds) for bounds in zip(*parts, strict=True))
        axes = emit.ints([axis + 1 for axis in range(len(parts))])
        cut = emit(onnx.SliceOp(apart, starts, ends, axes, steps))
        return reshape(emit, cut, [rows, math.prod(map(len, chosen)), columns])


@dataclass(frozen=True)
class TapRows:
    """Weights as rows of C numbers, a row for each of the O channels of diff_dst and each tap: for channel o
    and tap t that is row o `channel` + t `tap`. Made by transposing one matrix, which is quick."""

    value: SSAValue
    channels: int
    channel: int
    tap: int
    kernel: tuple[int, ...]

    @classmethod
    def of_backward(cls, emit: Emitter, weights: SSAValue) -> TapRows:
        """Of weights (O, C, K..): (O C, K) as (K, O C)."""
        first, second, *kernel = _sizes(weights)
        taps = math.prod(kernel)
        matrix = reshape(emit, weights, [first * second, taps])
        rows = reshape(emit, emit(onnx.TransposeOp(matrix, perm=[1, 0])), [taps * first, second])
        return cls(rows, first, 1, first, tuple(kernel))

    @classmethod
    def of_forward(cls, emit: Emitter, weights: SSAValue) -> TapRows:
        """Of weights (C, O, K..): (C, O K) as (O K, C)."""
        first, second, *kernel = _sizes(weights)
        taps = math.prod(kernel)
        matrix = reshape(emit, weights, [first, second * taps])
        return cls(emit(onnx.TransposeOp(matrix, perm=[1, 0])), second, taps, 1, tuple(kernel))

    def matrix(self, emit: Emitter, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """(T O, C) of some taps of each axis."""
        places = flat_taps(self.kernel, chosen)[:, None] * self.tap + np.arange(self.channels) * self.channel
        return take(emit, self.value, 0, places.reshape(-1))


def flipped(emit: Emitter, weights: SSAValue, groups: int) -> SSAValue:
    """Weights (A, B / g, K..) as (B, A / g, K..), with every spatial axis reversed."""
    _, _, *kernel = _sizes(weights)
    if groups == 1 and (math.prod(kernel) == 1 or _is_folded(weights)):
        return _reversed(emit, emit(onnx.TransposeOp(weights, perm=[1, 0, *range(2, len(kernel) + 2)])))
    swapped = SwappedWeights.of(emit, weights, groups)
    return swapped.taps(emit, [range(size - 1, -1, -1) for size in swapped.kernel])


def _is_folded(weights: SSAValue) -> bool:
    """Whether they are put in order at compile time, where the fewest ops are best."""
    return is_known(weights) and math.prod(_sizes(weights)) <= MOST_FOLDED


def _reversed(emit: Emitter, weights: SSAValue) -> SSAValue:
    """Every spatial axis from its end to its start."""
    for axis, size in enumerate(_sizes(weights)[2:], 2):
        if size > 1:
            weights = emit(onnx.GatherOp(weights, emit.ints(range(size - 1, -1, -1)), axis=axis))
    return weights


def _part(taps: Sequence[int]) -> tuple[int, int, int]:
    """Start, end and step of a Slice that takes these places of an axis, which lie equally far apart."""
    first, last, step = taps[0], taps[-1], taps[1] - taps[0] if len(taps) > 1 else 1
    beyond = last + (1 if step > 0 else -1)
    return first, beyond if beyond >= 0 else -TO_THE_END, step


def _is_whole(part: tuple[int, int, int], size: int) -> bool:
    return part == (0, size, 1)


def flat_taps(kernel: Sequence[int], chosen: Sequence[Sequence[int]]) -> np.ndarray:
    """The places of taps of every axis among those of all axes as one."""
    return np.ravel_multi_index(np.ix_(*chosen), tuple(kernel)).reshape(-1)


def take(emit: Emitter, value: SSAValue, axis: int, places: np.ndarray) -> SSAValue:
    """These places of an axis; nothing is gathered where they are all, in order."""
    size = _sizes(value)[axis]
    if len(places) == size and np.array_equal(places, np.arange(size)):
        return value
    return emit(onnx.GatherOp(value, emit.constant(places), axis=axis))


def _transposed(emit: Emitter, matrices: SSAValue) -> SSAValue:
    """(N, A, B) as (N, B, A)."""
    _, rows, columns = _sizes(matrices)
    if 1 in (rows, columns):
        return reshape(emit, matrices, [_sizes(matrices)[0], columns, rows])
    return emit(onnx.TransposeOp(matrices, perm=[0, 2, 1]))


def _sizes(value: SSAValue) -> list[int]:
    return [size for size in shape_of(value) if isinstance(size, int)]
