"""The sampling matrix of one resized axis, computed in the graph from run-time sizes.

The arithmetic is that of `sampling.AxisSampling`, in int64 until the last division, so that the matrix
is as exact as a constant one.

Integer division in ONNX rounds towards zero. Coordinates begin at -1/2, so that is floor, then clamped
to 0. Clamping comes after the division for another reason, too: onnxruntime's Min and Max of int64 are
wrong for some pairs beyond 2^31 (seen with 1.31 on x86-64: low halves are compared as signed), which
positions do not reach, but their numerators do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute, SSAValue

from dialects.onnx import ops as onnx
from passes.support.rewriting import Emitter
from passes.support.shape_math import ShapeMath


@dataclass(frozen=True)
class RuntimeSampling:
    """Sizes X and Y and the step n / q as int64 vectors of one element."""

    x: SSAValue
    y: SSAValue
    step: tuple[SSAValue, SSAValue]
    interpolation: str
    coordinates: str


def emit_matrix(emit: Emitter, sampling: RuntimeSampling, dtype: Attribute) -> SSAValue:
    """M (Y, X) of the given float type."""
    math = ShapeMath(emit)
    y = _range(emit, sampling.y)
    n, q = sampling.step
    if sampling.coordinates == "half_pixel":
        odd = math.add(math.mul(y, emit.ints([2])), emit.ints([1]))
        numerator, denominator = math.sub(math.mul(odd, n), q), math.mul(q, emit.ints([2]))
    else:
        numerator, denominator = math.mul(y, n), q
    columns = emit(onnx.UnsqueezeOp(_range(emit, sampling.x), emit.ints([0])))
    last = math.sub(sampling.x, emit.ints([1]))
    if sampling.interpolation == "linear":
        return _linear(emit, numerator, denominator, last, columns, dtype)
    index = _clamped(emit, _rounded(math, numerator, denominator, sampling.interpolation), last)
    return emit(onnx.CastOp(_hits(emit, columns, index), to=dtype))


def _linear(
    emit: Emitter,
    numerator: SSAValue,
    denominator: SSAValue,
    last: SSAValue,
    columns: SSAValue,
    dtype: Attribute,
) -> SSAValue:
    math = ShapeMath(emit)
    lower = _clamped(emit, math.div(numerator, denominator), last)
    upper = _clamped(emit, math.add(lower, emit.ints([1])), last)
    rest = math.sub(numerator, math.mul(lower, denominator))
    beyond = emit(onnx.DivOp(emit(onnx.CastOp(rest, to=f64)), emit(onnx.CastOp(denominator, to=f64))))
    zero, one = (emit.constant(np.array([v])) for v in (0.0, 1.0))
    fraction = emit(onnx.MinOp([emit(onnx.MaxOp([beyond, zero])), one]))
    parts = []
    for position, weight in ((lower, emit(onnx.SubOp(one, fraction))), (upper, fraction)):
        column = emit(onnx.UnsqueezeOp(emit(onnx.CastOp(weight, to=dtype)), emit.ints([1])))
        hits = emit(onnx.CastOp(_hits(emit, columns, position), to=dtype))
        parts.append(emit(onnx.MulOp(hits, column)))
    return emit(onnx.AddOp(*parts))


def _rounded(math: ShapeMath, numerator: SSAValue, denominator: SSAValue, interpolation: str) -> SSAValue:
    """floor(t + 1/2), ceil(t - 1/2) or floor(t), for t = numerator / denominator.

    ceil((2n - d) / 2d) = floor((2n + d - 1) / 2d) for whole numbers, and 2n + d > 0.
    """
    if interpolation == "nearest_floor":
        return math.div(numerator, denominator)
    two = math.vector([2])
    dividend = math.add(math.mul(numerator, two), denominator)
    if interpolation == "nearest_half_down":
        dividend = math.sub(dividend, math.vector([1]))
    return math.div(dividend, math.mul(denominator, two))


def _clamped(emit: Emitter, value: SSAValue, high: SSAValue) -> SSAValue:
    return emit(onnx.MinOp([ShapeMath(emit).max(value, 0), high]))


def _range(emit: Emitter, size: SSAValue) -> SSAValue:
    """0, 1, .., size - 1."""
    zero, one = (emit.constant(np.array(v, np.int64)) for v in (0, 1))
    limit = emit(onnx.SqueezeOp(size, emit.ints([0])))
    return emit(onnx.RangeOp(zero, limit, one))


def _hits(emit: Emitter, columns: SSAValue, position: SSAValue) -> SSAValue:
    """(Y, X) booleans: whether column x is the position of row y."""
    rows = emit(onnx.UnsqueezeOp(position, emit.ints([1])))
    return emit(onnx.EqualOp(rows, columns))
