"""conv-to-tap-sums: the terms of each tap of the kernel, moved to their positions and summed.

One product gives the terms of all taps: weights (g, K C / g, O / g) times diff_dst (N, g, O / g, Y). Then
those of each tap, as (N, C, Y...), are moved without a multiplication and added:

1. ConvBackwardData: position y goes to y s + k d of the full extent s (Y - 1) + Ke + r, with zeros around;
   the window [pb, extent - pe) of the sum is the result.
2. ConvTransposeBackwardData: result position x takes position x s - pb + k d, or a zero outside diff_dst.

Each result is the sum of the op's terms and zeros. It works for every dtype that MatMul supports, and for
dynamic sizes. A half type that the target does not widen is widened here: each Add would round.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from dialects.grad.conv import ConvBackwardDataOp, ConvTransposeBackwardDataOp
from dialects.onnx import ops as onnx
from dialects.support.dtypes import HALVES, name_of
from dialects.support.shapes import element_type_of, shape_of
from passes.builder.budget import CompileTimeCost
from passes.builder.op_builder import OpBuilder
from passes.builder.tensors import multiply_left, product, reshape, size_of, sum_values
from passes.conv.convolution import GradConv
from passes.strategies.base import Strategy, no_kernel
from passes.targets.target import Target

NEEDED = (onnx.MatMulOp, onnx.SplitOp, onnx.PadOp, onnx.SliceOp, onnx.AddOp)


class ConvToTapSums(Strategy):
    """MatMul for all taps, then Pad, Slice and Add for each."""

    name: ClassVar[str] = "conv-to-tap-sums"
    ops: ClassVar = (ConvBackwardDataOp, ConvTransposeBackwardDataOp)
    strict_only: ClassVar = True

    def compile_time_cost(self, op: GradConv) -> CompileTimeCost:
        """Count a few nodes per tap, and the terms of all taps at once."""
        taps = math.prod(op.weights_shape[2:])
        return CompileTimeCost(0, 15 + 10 * taps, taps * math.prod(op.strides))

    def refuses(self, op: GradConv, target: Target) -> str | None:
        return no_kernel(target, op.diff_dst, *NEEDED)

    def emit(self, op: GradConv, target: Target, emit: OpBuilder) -> SSAValue:
        if isinstance(op, ConvBackwardDataOp):
            total = sum_values(
                emit, (_scatter_terms(op, tap, terms, emit) for tap, terms in _terms(op, emit))
            )
            total = _slice_spatial(emit, total, op.pads_begin, [-pad for pad in op.pads_end])
        else:
            total = sum_values(emit, (_read(op, tap, terms, emit) for tap, terms in _terms(op, emit)))
        return emit(onnx.CastOp(total, to=element_type_of(op.diff_dst))) if _is_half(op) else total


def _is_half(op: GradConv) -> bool:
    return name_of(element_type_of(op.diff_dst)) in HALVES


def _terms(op: GradConv, emit: OpBuilder) -> list[tuple[tuple[int, ...], SSAValue]]:
    """Return each tap with its terms (N, C, Y...)."""
    groups, weights, diff_dst = op.groups, op.weights, op.diff_dst
    if _is_half(op):
        weights, diff_dst = (emit(onnx.CastOp(value, to=f32)) for value in (weights, diff_dst))
    first, second, *kernel = op.weights_shape
    taps = list(itertools.product(*map(range, kernel)))
    backward = isinstance(op, ConvBackwardDataOp)
    per_group = second if backward else first // groups
    rows = first // groups if backward else second
    split = reshape(emit, weights, [groups, first // groups, second, len(taps)])
    order = [0, 3, 2, 1] if backward else [0, 3, 1, 2]
    matrix = reshape(emit, emit(onnx.TransposeOp(split, perm=order)), [groups, len(taps) * per_group, rows])
    batch, *spatial = (size_of(emit, diff_dst, a) for a in (0, *range(2, 2 + len(kernel))))
    data = reshape(emit, diff_dst, [batch, groups, rows, product(emit, spatial)])
    terms = multiply_left(emit, matrix, data)
    parts = _split(emit, terms, [per_group] * len(taps))
    return [
        (tap, reshape(emit, p, [batch, groups * per_group, *spatial]))
        for tap, p in zip(taps, parts, strict=True)
    ]


def _split(emit: OpBuilder, value: SSAValue, widths: Sequence[int]) -> Sequence[SSAValue]:
    """Split axis 2."""
    if len(widths) == 1:
        return [value]
    op = onnx.SplitOp(value, emit.ints(widths), axis=2, results=len(widths))
    emit.ops.append(op)
    return op.results


def _scatter_terms(op: ConvBackwardDataOp, tap: Sequence[int], terms: SSAValue, emit: OpBuilder) -> SSAValue:
    """Put Y positions s apart, from k d on, into the full extent."""
    behind: list[int] = []
    begin = [k * axis.window.dilation for k, axis in zip(tap, op.axes, strict=True)]
    for k, axis, residue in zip(tap, op.axes, op.residue, strict=True):
        # a stride inserts s - 1 zeros after the last position, too
        rest = (axis.window.kernel - 1 - k) * axis.window.dilation + residue
        behind.append(rest - (axis.window.stride - 1))
    apart = _dilate(emit, terms, op.strides)
    padded = _pad_spatial(emit, apart, begin, [max(0, b) for b in behind])
    return _slice_spatial(emit, padded, [0] * len(behind), [min(0, b) for b in behind])


def _dilate(emit: OpBuilder, value: SSAValue, strides: Sequence[int]) -> SSAValue:
    """Insert s - 1 zeros after every position."""
    n = len(strides)
    if all(s == 1 for s in strides):
        return value
    sizes = [size_of(emit, value, axis) for axis in range(2 + n)]
    units = emit(onnx.UnsqueezeOp(value, emit.ints([3 + 2 * i for i in range(n)])))
    zeros = [0, 0, *itertools.chain.from_iterable((0, s - 1) for s in strides)]
    padded = emit(onnx.PadOp(units, emit.ints([*[0] * len(zeros), *zeros])))
    wide = [product(emit, [size, s]) for size, s in zip(sizes[2:], strides, strict=True)]
    return reshape(emit, padded, [*sizes[:2], *wide])


def _read(op: ConvTransposeBackwardDataOp, tap: Sequence[int], terms: SSAValue, emit: OpBuilder) -> SSAValue:
    """Take positions x s - pb + k d, zeros outside."""
    padded = _pad_spatial(emit, terms, op.pads_begin, op.pads_end)
    begin = [k * axis.window.dilation for k, axis in zip(tap, op.axes, strict=True)]
    end = [b - axis.window.extent + 1 for b, axis in zip(begin, op.axes, strict=True)]
    return _slice_spatial(emit, padded, begin, end, op.strides)


def _pad_spatial(emit: OpBuilder, value: SSAValue, begin: Sequence[int], end: Sequence[int]) -> SSAValue:
    """Zero-pad the spatial axes."""
    return emit(onnx.PadOp(value, emit.ints([0, 0, *begin, 0, 0, *end])))


def _slice_spatial(
    emit: OpBuilder, value: SSAValue, begin: Sequence[int], end: Sequence[int], steps: Sequence[int] = ()
) -> SSAValue:
    """Slice the spatial axes from `begin` to `end`, a nonpositive offset from the end, with steps."""
    far = np.iinfo(np.int64).max
    stops = [e if e else far for e in end]
    axes = range(2, len(shape_of(value)))
    bounds = (begin, stops, axes, steps or [1] * len(axes))
    return emit(onnx.SliceOp(value, *(emit.ints(list(bound)) for bound in bounds)))
