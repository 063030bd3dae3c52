"""The sampling matrix of one resized axis, computed in the graph from dynamic sizes.

The arithmetic is that of `sampling.AxisSampling`, in int64 until the last division, so that the matrix is as
exact as a constant one.

With a `narrow` builder no number exceeds 4 L^2 in absolute value, for axes of up to L positions and steps
of numbers up to L: see NARROW_STEP.

Integer division in ONNX rounds towards zero. Coordinates begin at -1/2, so that equals floor, then clamped to
0. Clamping follows the division for another reason, too: the quirk signs-of-low-halves, of numbers beyond
2^31, which positions do not reach, but their numerators do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f64, i1
from xdsl.ir import Attribute, SSAValue

from dialects.grad.resize import ResizeBackwardDynamicOp
from dialects.onnx import ops as onnx
from passes.builder.op_builder import OpBuilder

NARROW_STEP = 1 << 14
"""Largest number in a step for which the arithmetic of axes of as many positions fits in 31 bits."""


@dataclass(frozen=True)
class RuntimeSampling:
    """Sizes X and Y and the step n / q as int64 vectors of one element."""

    x: SSAValue
    y: SSAValue
    step: tuple[SSAValue, SSAValue]
    interpolation: str
    coordinates: str


def runtime_samplings(emit: OpBuilder, op: ResizeBackwardDynamicOp) -> Iterator[tuple[int, RuntimeSampling]]:
    """Yield the axes of an op, each with its sampling."""
    for i, axis in enumerate(op.axes):
        yield (
            axis,
            RuntimeSampling(
                emit.take(op.input_sizes, [i]),
                emit.sizes(op.diff_dst, [axis]),
                (emit.take(op.step_numerators, [i]), emit.take(op.step_denominators, [i])),
                op.interpolation,
                op.coordinates,
            ),
        )


def emit_matrix(emit: OpBuilder, sampling: RuntimeSampling, dtype: Attribute) -> SSAValue:
    """Return M (Y, X) of the given float type."""
    y = _range(emit, sampling.y)
    n, q = sampling.step
    if sampling.coordinates == "half_pixel":
        odd = emit.add(emit.mul(y, emit.ints([2])), emit.ints([1]))
        numerator, denominator = emit.sub(emit.mul(odd, n), q), emit.mul(q, emit.ints([2]))
    else:
        numerator, denominator = emit.mul(y, n), q
    columns = emit(onnx.UnsqueezeOp(_range(emit, sampling.x), emit.ints([0])))
    last = emit.sub(sampling.x, emit.ints([1]))
    if sampling.interpolation == "linear":
        return _linear(emit, numerator, denominator, last, columns, dtype)
    index = _clamp_index(emit, _round_quotient(emit, numerator, denominator, sampling.interpolation), last)
    return emit(onnx.CastOp(_hits(emit, columns, index), to=dtype))


def emit_reads(emit: OpBuilder, sampling: RuntimeSampling, matrix: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Return (X, taps) positions of diff_dst, Y if none, and their weights, from the matrix (Y, X).

    Coordinates are monotonic, so a position x is read by `count` consecutive rows, of which the first is (sum
    of rows - (0 + 1 + .. + count - 1)) / count.
    """
    hits = emit.as_int64(emit(onnx.CastOp(matrix, to=i1)))
    zero, one = emit.ints([0]), emit.ints([1])
    rows = _range(emit, sampling.y)
    count = emit(onnx.ReduceSumOp(hits, zero, keepdims=0))
    total = emit(onnx.ReduceSumOp(emit.mul(hits, emit(onnx.UnsqueezeOp(rows, one))), zero, keepdims=0))
    triangle = emit.div(emit.mul(count, emit.sub(count, one)), emit.ints([2]))
    first = emit(onnx.UnsqueezeOp(emit.div(emit.sub(total, triangle), emit.max(count, 1)), one))
    counts = emit(onnx.UnsqueezeOp(count, one))
    # taps, the largest count: the number of 0, 1, .. below some count
    below = emit.as_int64(emit(onnx.LessOp(rows, counts)))
    some = emit(onnx.MinOp([emit(onnx.ReduceSumOp(below, zero, keepdims=0)), one]))
    taps = _range(emit, emit(onnx.ReduceSumOp(some, zero, keepdims=1)))
    read = emit(onnx.LessOp(taps, counts))
    positions = emit(onnx.WhereOp(read, emit.add(first, taps), sampling.y))
    columns = emit(onnx.TransposeOp(matrix, perm=[1, 0]))
    padded = emit(onnx.PadOp(columns, emit.ints([0, 0, 0, 1])))
    return positions, emit(onnx.GatherElementsOp(padded, positions, axis=1))


def _linear(
    emit: OpBuilder,
    numerator: SSAValue,
    denominator: SSAValue,
    last: SSAValue,
    columns: SSAValue,
    dtype: Attribute,
) -> SSAValue:
    lower = _clamp_index(emit, emit.div(numerator, denominator), last)
    upper = _clamp_index(emit, emit.add(lower, emit.ints([1])), last)
    rest = emit.sub(numerator, emit.mul(lower, denominator))
    parts: list[SSAValue] = []
    # both weights are quotients of integers: 1 - fraction would lose a small one if f64 runs in f32
    for position, share in ((lower, emit.sub(denominator, rest)), (upper, rest)):
        weight = _weight(emit, share, denominator)
        column = emit(onnx.UnsqueezeOp(emit(onnx.CastOp(weight, to=dtype)), emit.ints([1])))
        hits = emit(onnx.CastOp(_hits(emit, columns, position), to=dtype))
        parts.append(emit(onnx.MulOp(hits, column)))
    return emit(onnx.AddOp(*parts))


def _weight(emit: OpBuilder, share: SSAValue, whole: SSAValue) -> SSAValue:
    """Return share / whole in f64, clamped to [0, 1]."""
    quotient = emit(onnx.DivOp(emit(onnx.CastOp(share, to=f64)), emit(onnx.CastOp(whole, to=f64))))
    zero, one = (emit.constant(np.array([v])) for v in (0.0, 1.0))
    return emit(onnx.MinOp([emit(onnx.MaxOp([quotient, zero])), one]))


def _round_quotient(
    emit: OpBuilder, numerator: SSAValue, denominator: SSAValue, interpolation: str
) -> SSAValue:
    """Return floor(t + 1/2), ceil(t - 1/2) or floor(t), for t = numerator / denominator.

    ceil((2n - d) / 2d) = floor((2n + d - 1) / 2d) for whole numbers, and 2n + d > 0.
    """
    if interpolation == "nearest_floor":
        return emit.div(numerator, denominator)
    two = emit.ints([2])
    dividend = emit.add(emit.mul(numerator, two), denominator)
    if interpolation == "nearest_half_down":
        dividend = emit.sub(dividend, emit.ints([1]))
    return emit.div(dividend, emit.mul(denominator, two))


def _clamp_index(emit: OpBuilder, value: SSAValue, high: SSAValue) -> SSAValue:
    return emit(onnx.MinOp([emit.max(value, 0), high]))


def _range(emit: OpBuilder, size: SSAValue) -> SSAValue:
    """Return 0, 1, .., size - 1."""
    zero, one = (emit.constant(np.array(v, np.int64)) for v in (0, 1))
    limit = emit(onnx.SqueezeOp(size, emit.ints([0])))
    return emit(onnx.RangeOp(zero, limit, one))


def _hits(emit: OpBuilder, columns: SSAValue, position: SSAValue) -> SSAValue:
    """Return a mask (Y, X): column x is the position of row y."""
    rows = emit(onnx.UnsqueezeOp(position, emit.ints([1])))
    return emit(onnx.EqualOp(rows, columns))
