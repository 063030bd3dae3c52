"""Reordered convolution weights, in the graph if the weights are an input.

onnxruntime transposes matrices and copies rows quickly, but moves short axes such as a kernel's element by
element: swapping channels by a Transpose [1, 0, 2, 3] and reversing taps by a Gather on the last axis takes
5.9 ms for 256x256x3x3, and 0.4 ms as matrices (1.31, AMD EPYC).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import FREE_FOLD_BYTES
from dialects.onnx.dims import TO_THE_END
from dialects.support.constants import is_const
from dialects.support.shapes import shape_of
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import reshape

MOST_GATHERED = 2**16
"""Limit on the taps gathered by an index table, which must not outgrow the data; a Slice, which is slower,
needs no table."""

MOST_FOLDED = FREE_FOLD_BYTES // 8
"""Limit on the elements of any dtype that are always folded at compile time."""


@dataclass(frozen=True)
class SwappedWeights:
    """Weights (A, B / g, K..) with channels swapped within each of g groups, (B, taps, A / g), all spatial
    axes merged into taps."""

    value: SSAValue
    kernel: tuple[int, ...]

    @classmethod
    def of(cls, emit: OpBuilder, weights: SSAValue, groups: int) -> SwappedWeights:
        first, second, *kernel = _sizes(weights)
        taps, per_group = math.prod(kernel), first // groups
        matrices = reshape(emit, weights, [groups, per_group, second * taps])
        swapped = _transpose_matrices(emit, matrices)
        return cls(reshape(emit, swapped, [groups * second, taps, per_group]), tuple(kernel))

    def taps(self, emit: OpBuilder, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """Take the chosen taps of each axis, in the given order, as (B, A / g, taps..)."""
        rows, _, columns = _sizes(self.value)
        return reshape(
            emit, _transpose_matrices(emit, self._take_taps(emit, chosen)), [rows, columns, *map(len, chosen)]
        )

    def rows(self, emit: OpBuilder, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """Take the chosen taps as (B, taps A / g), without a second Transpose."""
        rows, _, columns = _sizes(self.value)
        return reshape(emit, self._take_taps(emit, chosen), [rows, math.prod(map(len, chosen)) * columns])

    def _take_taps(self, emit: OpBuilder, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """Take the chosen taps as (B, taps, A / g)."""
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
    """Weights as rows of C elements: channel o of diff_dst and tap t are row o `channel` + t `tap`. They are
    made by the transpose of one matrix, which is fast."""

    value: SSAValue
    channels: int
    channel: int
    tap: int
    kernel: tuple[int, ...]

    @classmethod
    def of_backward(cls, emit: OpBuilder, weights: SSAValue) -> TapRows:
        """Return the rows of weights (O, C, K..): (O C, K) transposed to (K, O C)."""
        first, second, *kernel = _sizes(weights)
        taps = math.prod(kernel)
        matrix = reshape(emit, weights, [first * second, taps])
        rows = reshape(emit, emit(onnx.TransposeOp(matrix, perm=[1, 0])), [taps * first, second])
        return cls(rows, first, 1, first, tuple(kernel))

    @classmethod
    def of_forward(cls, emit: OpBuilder, weights: SSAValue) -> TapRows:
        """Return the rows of weights (C, O, K..): (C, O K) transposed to (O K, C)."""
        first, second, *kernel = _sizes(weights)
        taps = math.prod(kernel)
        matrix = reshape(emit, weights, [first, second * taps])
        return cls(emit(onnx.TransposeOp(matrix, perm=[1, 0])), second, taps, 1, tuple(kernel))

    def matrix(self, emit: OpBuilder, chosen: Sequence[Sequence[int]]) -> SSAValue:
        """Return the chosen taps of each axis as a matrix (T O, C)."""
        places = flat_taps(self.kernel, chosen)[:, None] * self.tap + np.arange(self.channels) * self.channel
        return take(emit, self.value, 0, places.reshape(-1))


def flip_kernel(emit: OpBuilder, weights: SSAValue, groups: int) -> SSAValue:
    """Swap channels of weights (A, B / g, K..) to (B, A / g, K..), and reverse the spatial axes."""
    _, _, *kernel = _sizes(weights)
    if groups == 1 and (math.prod(kernel) == 1 or _is_folded(weights)):
        return _reverse_axes(emit, emit(onnx.TransposeOp(weights, perm=[1, 0, *range(2, len(kernel) + 2)])))
    swapped = SwappedWeights.of(emit, weights, groups)
    return swapped.taps(emit, [range(size - 1, -1, -1) for size in swapped.kernel])


def _is_folded(weights: SSAValue) -> bool:
    """Return whether the weights are reordered at compile time, where fewer ops are better."""
    return is_const(weights) and math.prod(_sizes(weights)) <= MOST_FOLDED


def _reverse_axes(emit: OpBuilder, weights: SSAValue) -> SSAValue:
    """Reverse every spatial axis."""
    for axis, size in enumerate(_sizes(weights)[2:], 2):
        if size > 1:
            weights = emit(onnx.GatherOp(weights, emit.ints(range(size - 1, -1, -1)), axis=axis))
    return weights


def _part(taps: Sequence[int]) -> tuple[int, int, int]:
    """Return start, end and step of a Slice that takes equally spaced indices."""
    first, last, step = taps[0], taps[-1], taps[1] - taps[0] if len(taps) > 1 else 1
    beyond = last + (1 if step > 0 else -1)
    return first, beyond if beyond >= 0 else -TO_THE_END, step


def _is_whole(part: tuple[int, int, int], size: int) -> bool:
    return part == (0, size, 1)


def flat_taps(kernel: Sequence[int], chosen: Sequence[Sequence[int]]) -> np.ndarray:
    """Return the flat indices of the taps chosen along every axis."""
    return np.ravel_multi_index(np.ix_(*chosen), tuple(kernel)).reshape(-1)


def take(emit: OpBuilder, value: SSAValue, axis: int, places: np.ndarray) -> SSAValue:
    """Gather indices of an axis, unless they are all of it in order."""
    size = _sizes(value)[axis]
    if len(places) == size and np.array_equal(places, np.arange(size)):
        return value
    return emit(onnx.GatherOp(value, emit.constant(places), axis=axis))


def _transpose_matrices(emit: OpBuilder, matrices: SSAValue) -> SSAValue:
    """Transpose (N, A, B) to (N, B, A)."""
    _, rows, columns = _sizes(matrices)
    if 1 in (rows, columns):
        return reshape(emit, matrices, [_sizes(matrices)[0], columns, rows])
    return emit(onnx.TransposeOp(matrices, perm=[0, 2, 1]))


def _sizes(value: SSAValue) -> list[int]:
    return [size for size in shape_of(value) if isinstance(size, int)]
