"""conv-to-matmul: convolution gradients as one matrix product per group.

1. Kernel 1 in all axes: weights (C / g, O / g) times diff_dst (O / g, Y). In ConvBackwardData a stride
   inserts s - 1 zeros after every position; pads and residue crop the ends.
2. Otherwise the reads of each tap are sliced from padded diff_dst, axis by axis, and joined to columns. Then
   weights (C / g, T O / g) times columns (T O / g, Q), per phase (see `conv.phases`; stride 1 has one), and
   the phases are interleaved.
3. ConvTransposeBackwardData, a forward convolution: one such product, with strided columns.

Taps are in the order of the weights: nothing is flipped. Forms 2 and 3 work for every dtype, dilation and
rank that MatMul, Slice and Pad support.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support import shapes
from dialects.support.shapes import shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import Size, crop, multiply_left, product, reshape, size_of
from passes.conv.phases import Phase, interleave_channels_first, op_phases, phases_cost
from passes.conv.weights import SwappedWeights
from passes.conv.windows import Taps, forward_taps, pad_spatial, phase_taps, tap_numbers
from passes.conv.work import count_interleave_first, images
from passes.cost.work import Sizes, Work
from passes.strategies.base import Strategy, no_kernel
from passes.strategies.conv.conv_to_phase_convs import too_many_phases
from passes.targets.target import Target

ConvOp = ConvBackwardDataOp | ConvTransposeBackwardDataOp

MOST_SLICES = 16
"""Limit on the Slices per axis; more taps are gathered and transposed: slower, but fewer nodes."""


class ConvToMatMul(Strategy):
    """MatMul on diff_dst for kernel 1, otherwise on columns sliced from it."""

    name: ClassVar[str] = "conv-to-matmul"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)

    def compile_time_cost(self, op: ConvOp) -> CompileTimeCost:
        """Count a node per tap of an axis and phase, unless the op is a product; and tables of many taps."""
        kernel, strides = op.weights_shape[2:], op.strides
        spread = math.prod(kernel) * math.prod(strides)
        if is_pointwise(op):
            return CompileTimeCost(0, 10, spread)
        if isinstance(op, ConvTransposeBackwardDataOp):
            return _columns_built(op, [1] * len(kernel), spread)
        part = _columns_built(op, strides, spread)
        return phases_cost(op, part) + CompileTimeCost(math.prod(map(min, strides, kernel)) * part.constants)

    def refuses(self, op: ConvOp, target: Target) -> str | None:
        needed = (onnx.MatMulOp, onnx.SliceOp, onnx.ConcatOp, onnx.PadOp, onnx.GatherOp)
        if reason := no_kernel(target, op.diff_dst, *needed):
            return reason
        sizes = (*shape_of(op.diff_dst)[2:], *shape_of(op.diff_src)[2:])
        if not is_pointwise(op) and not shapes.is_static(sizes):
            return "the columns of a kernel larger than 1 need static spatial sizes"
        if is_pointwise(op) or isinstance(op, ConvTransposeBackwardDataOp):
            return None
        return too_many_phases(op, target)

    def spreads_nonfinite(self, op: ConvOp, target: Target) -> str | None:
        return None if is_pointwise(op) else "columns have zeros that are multiplied by the weights"

    def works(self, op: ConvOp, target: Target, work: Work) -> None:
        data, result = images(op)
        first, second, *_ = op.weights_shape
        groups = op.groups
        if is_pointwise(op):
            is_backward = isinstance(op, ConvBackwardDataOp)
            matrix = (second, first // groups) if is_backward else (first // groups, second)
            _product_works(work, groups, matrix, data[0], math.prod(data[2:]))
        elif isinstance(op, ConvBackwardDataOp):
            _backward_works(op, work, data)
        else:
            begin, end = zip(*(axis.pads for axis in op.axes), strict=True)
            data = work.pad(data, 2, begin, end)
            channels = groups * second
            data = (data[0], channels, 1, *data[2:])
            taps = [tuple(first for _, first in forward_taps(axis)) for axis in op.axes]
            columns = _columns_works(work, data, taps, result[2:], op.strides, set())
            depth = math.prod(columns[1:3]) // groups
            _product_works(work, groups, (first // groups, depth), data[0], math.prod(result[2:]))

    def emit(self, op: ConvOp, target: Target, emit: OpBuilder) -> SSAValue:
        if is_pointwise(op):
            return _pointwise(op, emit)
        return _backward(op, emit) if isinstance(op, ConvBackwardDataOp) else _forward(op, emit)


def _backward_works(op: ConvBackwardDataOp, work: Work, data: Sizes) -> None:
    axes, groups = op_phases(op), op.groups
    first, second, *_ = op.weights_shape
    begin, end = zip(*(axis.widest for axis in axes), strict=True)
    data = work.pad(data, 2, begin, end)
    counts = [axis.positions for axis in axes]
    seen: set[object] = set()
    work.reshape(data, (data[0], groups, first // groups, *data[2:]))
    for chosen in itertools.product(*([phase for phase in axis.phases if phase] for axis in axes)):
        taps = [phase_taps(phase, b) for phase, b in zip(chosen, begin, strict=True)]
        firsts = [tuple(first for _, first in axis) for axis in taps]
        split = (data[0], groups, first // groups, *data[2:])
        columns = _columns_works(work, split, firsts, counts, [1] * len(axes), seen)
        _product_works(work, groups, (second, columns[2]), data[0], math.prod(counts))
    count_interleave_first(work, axes, data[0], groups * second)


def _columns_works(
    work: Work,
    data: Sizes,
    firsts: Sequence[tuple[int, ...]],
    counts: Sequence[int],
    steps: Sequence[int],
    seen: set[object],
) -> Sizes:
    """Count `_columns`; `seen` has the steps of other phases, which are shared."""
    for i in reversed(range(len(firsts))):
        taps, key = firsts[i], (i, *firsts[i + 1 :])
        part = (*data[: 3 + i], counts[i], *data[4 + i :])
        if len(taps) <= MOST_SLICES:
            for first in taps:
                whole = first == 0 and steps[i] == 1 and data[3 + i] == counts[i]
                if not whole and (key, first) not in seen:
                    work.cut(data, part, steps[i])
                    seen.add((key, first))
            if (key, taps) not in seen:
                work.join(part, len(taps), 2)
                seen.add((key, taps))
        data = (*part[:2], len(taps) * part[2], *part[3:])
    return data


def _product_works(work: Work, groups: int, matrix: Sizes, batch: int, length: int) -> None:
    """Count `_multiply_groups` with a matrix of these sizes per group."""
    rows, depth = matrix
    if groups > 1:
        work.multiply(work.weights((groups, rows, depth)), (batch, groups, depth, length))
    else:
        work.multiply(work.weights((rows, depth)), (batch, depth, length))


def _columns_built(op: ConvOp, strides: Sequence[int], spread: int) -> CompileTimeCost:
    """Return the cost of one phase of each axis: K / s taps, and X / s positions."""
    taps = [-(-k // s) for k, s in zip(op.weights_shape[2:], strides, strict=True)]
    sizes = [-(-x // s) for x, s in zip(op.spatial(op.diff_src), strides, strict=True) if isinstance(x, int)]
    tables = sum(k * x for k, x in zip(taps, sizes, strict=False) if k > MOST_SLICES)
    nodes = sum(min(k, MOST_SLICES) for k in taps)
    return CompileTimeCost(8 * nodes + tables, 10 + nodes, spread)


def is_pointwise(op: ConvOp) -> bool:
    """Return whether the result is a matrix product of diff_dst: kernel 1, and whole windows."""
    if any(k != 1 for k in op.weights_shape[2:]):
        return False
    if isinstance(op, ConvBackwardDataOp):
        return True
    return all(axis.window.stride == 1 and axis.pads == (0, 0) for axis in op.axes)


def _pointwise(op: ConvOp, emit: OpBuilder) -> SSAValue:
    groups = op.groups
    first, second, *kernel = op.weights_shape
    batch, *spatial = (size_of(emit, op.diff_dst, a) for a in (0, *range(2, 2 + len(kernel))))
    matrix = reshape(emit, op.weights, [groups, first // groups, second])
    rows, width = groups * second, first
    if isinstance(op, ConvBackwardDataOp):
        matrix = emit(onnx.TransposeOp(matrix, perm=[0, 2, 1]))
        rows, width = width, rows
    value = _multiply_groups(op.diff_dst, matrix, groups, rows, batch, product(emit, spatial), emit)
    value = reshape(emit, value, [batch, width, *spatial])
    return _insert_strides(op, value, batch, spatial, emit) if isinstance(op, ConvBackwardDataOp) else value


def _multiply_groups(
    data: SSAValue,
    matrix: SSAValue,
    groups: int,
    rows: int,
    batch: Size,
    length: Size,
    emit: OpBuilder,
) -> SSAValue:
    """Multiply matrix (g, M, rows / g) by data (N, rows, length) to (N, g, M, length), or (N, M, length)."""
    if groups > 1:
        columns = reshape(emit, data, [batch, groups, rows // groups, length])
        return multiply_left(emit, matrix, columns)
    columns = reshape(emit, data, [batch, rows, length])
    flat = [dim for dim in shape_of(matrix)[1:] if isinstance(dim, int)]
    return multiply_left(emit, reshape(emit, matrix, flat), columns)


def _insert_strides(
    op: ConvBackwardDataOp, value: SSAValue, batch: Size, spatial: Sequence[Size], emit: OpBuilder
) -> SSAValue:
    """Move position y to y s - pb: insert s - 1 zeros after each, then take the window [pb, pb + X)."""
    strides = op.strides
    if any(s > 1 for s in strides):
        n = len(strides)
        apart = emit(onnx.UnsqueezeOp(value, emit.ints([3 + 2 * i for i in range(n)])))
        zeros = [0, 0, *(0 if i % 2 == 0 else strides[i // 2] - 1 for i in range(2 * n))]
        padded = emit(onnx.PadOp(apart, emit.ints([*[0] * len(zeros), *zeros])))
        channels = shape_of(value)[1]
        assert isinstance(channels, int)
        sizes = [product(emit, [y, s]) for y, s in zip(spatial, strides, strict=True)]
        value = reshape(emit, padded, [batch, channels, *sizes])
    return _cut(op, value, emit)


def _cut(op: ConvBackwardDataOp, value: SSAValue, emit: OpBuilder) -> SSAValue:
    """Take the window [pb, pb + X) of each axis; X + pb <= s Y, since r < s and Ke = 1.

    X is never cut short by pads larger than the positions that a gradient reaches: for Ke = 1 the forward op
    would read nothing but padding.
    """
    begin = op.pads_begin
    sizes = shape_of(op.diff_src)[2:]
    if shapes.is_static(sizes):
        known = [x for x in sizes if isinstance(x, int)]
        return crop(emit, value, range(2, 2 + len(known)), known, begin)
    # unknown Y: X = s Y - (s - 1) - pb - pe + r, so as many positions go from the end of s Y
    ends = [axis.window.stride - 1 + axis.pad_end - r for axis, r in zip(op.axes, op.residue, strict=True)]
    if not any((*begin, *ends)):
        return value
    far = np.iinfo(np.int64).max
    stops = [-end if end else far for end in ends]
    axes = emit.ints(range(2, 2 + len(stops)))
    return emit(onnx.SliceOp(value, emit.ints(begin), emit.ints(stops), axes))


def _backward(op: ConvBackwardDataOp, emit: OpBuilder) -> SSAValue:
    """Multiply by columns with taps outside and O / g channels inside, as in swapped weights."""
    groups = op.groups
    axes = op_phases(op)
    begin, end = zip(*(axis.widest for axis in axes), strict=True)
    channels = op.weights_shape[0]
    data = _split(emit, pad_spatial(emit, op.diff_dst, 2, begin, end), groups, channels)
    weights = SwappedWeights.of(emit, op.weights, groups)
    counts = [axis.positions for axis in axes]

    def part(chosen: tuple[Phase, ...]) -> SSAValue:
        taps = [phase_taps(phase, b) for phase, b in zip(chosen, begin, strict=True)]
        columns = _columns(emit, data, taps, counts, [1] * len(axes))
        matrix = weights.rows(emit, tap_numbers(taps))
        return _product(op, emit, matrix, columns, counts)

    return interleave_channels_first(emit, axes, part)


def _forward(op: ConvTransposeBackwardDataOp, emit: OpBuilder) -> SSAValue:
    """Multiply by columns with channels outside and taps inside, as in the weights."""
    begin, end = zip(*(axis.pads for axis in op.axes), strict=True)
    first, second, *kernel = op.weights_shape
    channels = op.groups * second
    data = _split(emit, pad_spatial(emit, op.diff_dst, 2, begin, end), channels, channels)
    counts = [x for x in op.spatial(op.diff_src) if isinstance(x, int)]
    taps = [forward_taps(axis) for axis in op.axes]
    columns = _columns(emit, data, taps, counts, op.strides)
    return _product(op, emit, reshape(emit, op.weights, [first, second * math.prod(kernel)]), columns, counts)


def _split(emit: OpBuilder, data: SSAValue, parts: int, channels: int) -> SSAValue:
    """Reshape (N, O, Y..) to (N, parts, O / parts, Y..)."""
    spatial = [size for size in shape_of(data)[2:] if isinstance(size, int)]
    return reshape(emit, data, [size_of(emit, data, 0), parts, channels // parts, *spatial])


def _columns(
    emit: OpBuilder, data: SSAValue, taps: Sequence[Taps], counts: Sequence[int], steps: Sequence[int]
) -> SSAValue:
    """Return the reads (N, L, T R, Q..) of (N, L, R, Y..), the last axis first, whose runs are short."""
    for i in reversed(range(len(taps))):
        firsts = [first for _, first in taps[i]]
        join = _slice_taps if len(firsts) <= MOST_SLICES else _gather_taps
        data = join(emit, data, 3 + i, firsts, counts[i], steps[i])
    return data


def _slice_taps(
    emit: OpBuilder, data: SSAValue, axis: int, firsts: Sequence[int], count: int, step: int
) -> SSAValue:
    pieces = [_every(emit, data, axis, first, count, step) for first in firsts]
    return emit(onnx.ConcatOp(pieces, axis=2)) if len(pieces) > 1 else pieces[0]


def _gather_taps(
    emit: OpBuilder, data: SSAValue, axis: int, firsts: Sequence[int], count: int, step: int
) -> SSAValue:
    places = np.array(firsts)[:, None] + step * np.arange(count)
    value = emit(onnx.GatherOp(data, emit.constant(places), axis=axis))
    rest = [i for i in range(2, len(shape_of(value))) if i != axis]
    value = emit(onnx.TransposeOp(value, perm=[0, 1, axis, *rest]))
    parts, inside, *sizes = (size for size in shape_of(value)[2:] if isinstance(size, int))
    return reshape(emit, value, [size_of(emit, value, 0), size_of(emit, value, 1), parts * inside, *sizes])


def _every(emit: OpBuilder, data: SSAValue, axis: int, first: int, count: int, step: int) -> SSAValue:
    """Take `count` positions of an axis, `step` apart."""
    stop = first + (count - 1) * step + 1
    if (first, stop) == (0, shape_of(data)[axis]) and step == 1:
        return data
    return emit(onnx.SliceOp(data, *(emit.ints([i]) for i in (first, stop, axis, step))))


def _product(
    op: ConvOp, emit: OpBuilder, matrix: SSAValue, columns: SSAValue, counts: Sequence[int]
) -> SSAValue:
    """Multiply weights (C, T O / g) by columns of T O / g per group to (N, C, Q..)."""
    groups = op.groups
    channels, depth = (size for size in shape_of(matrix) if isinstance(size, int))
    batch = size_of(emit, op.diff_dst, 0)
    matrix = reshape(emit, matrix, [groups, channels // groups, depth])
    value = _multiply_groups(columns, matrix, groups, groups * depth, batch, math.prod(counts), emit)
    return reshape(emit, value, [batch, channels, *counts])
