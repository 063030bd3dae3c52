"""Decompositions of pointwise functions and quantization to ops that runtimes have long had."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import by_name, name_of, of_mlir
from dialects.support.shapes import element_type_of, shape_of
from passes.autodiff.common.primal import Primal
from passes.builder.op_builder import OpBuilder
from passes.builder.values import Builder
from passes.decompositions.registry import Results


def scalar(emit: OpBuilder, number: float, like: SSAValue) -> SSAValue:
    dtype = of_mlir(element_type_of(like))
    assert dtype is not None
    return emit.constant(np.array(number, dtype.numpy))


def swish(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.SwishOp), e.emit
    alpha = op.call().attribute("alpha", 1.0)
    scaled = op.X if alpha == 1 else emit(onnx.MulOp(op.X, scalar(emit, alpha, op.X)))
    return [emit(onnx.MulOp(op.X, emit(onnx.SigmoidOp(scaled))))]


def hard_swish(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.HardSwishOp), e.emit
    sixth, half, zero, one = (scalar(emit, number, op.X) for number in (1 / 6, 0.5, 0, 1))
    line = emit(onnx.AddOp(emit(onnx.MulOp(op.X, sixth)), half))
    return [emit(onnx.MulOp(op.X, emit(onnx.ClipOp(line, zero, one))))]


def is_in_f64(op: OnnxOp) -> bool:
    """Return whether an op is in f64: quirks hard-swish-in-f64 and softplus-in-f64."""
    return element_type_of(op.operands[0]) == f64


def hard_sigmoid(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.HardSigmoidOp), e.emit
    alpha, beta = op.call().attribute("alpha", 0.2), op.call().attribute("beta", 0.5)
    line = emit(onnx.AddOp(emit(onnx.MulOp(op.X, scalar(emit, alpha, op.X))), scalar(emit, beta, op.X)))
    return [emit(onnx.ClipOp(line, scalar(emit, 0, op.X), scalar(emit, 1, op.X)))]


def elu(f: Primal, e: Builder) -> Results:
    """exp(x) - 1 = 2 t / (1 - t), t = tanh(x / 2), which is accurate for small x, too."""
    op, emit = f.op_as(onnx.EluOp), e.emit
    x, zero, one = op.X, scalar(emit, 0, op.X), scalar(emit, 1, op.X)
    is_above = emit(onnx.GreaterOp(x, zero))
    below = emit(onnx.WhereOp(is_above, zero, x))
    t = emit(onnx.TanhOp(emit(onnx.MulOp(below, scalar(emit, 0.5, x)))))
    slope = scalar(emit, op.call().attribute("alpha", 1.0), x)
    part = emit(onnx.DivOp(emit(onnx.AddOp(t, t)), emit(onnx.SubOp(one, t))))
    return [emit(onnx.WhereOp(is_above, x, emit(onnx.MulOp(part, slope))))]


def leaky_relu(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.LeakyReluOp), e.emit
    slope = scalar(emit, op.call().attribute("alpha", 0.01), op.X)
    is_above = emit(onnx.GreaterOp(op.X, scalar(emit, 0, op.X)))
    return [emit(onnx.WhereOp(is_above, op.X, emit(onnx.MulOp(op.X, slope))))]


def thresholded_relu(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.ThresholdedReluOp), e.emit
    bound = scalar(emit, op.call().attribute("alpha", 1.0), op.X)
    return [emit(onnx.WhereOp(emit(onnx.GreaterOp(op.X, bound)), op.X, scalar(emit, 0, op.X)))]


def softsign(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.SoftsignOp), e.emit
    size = emit(onnx.AddOp(emit(onnx.AbsOp(op.input)), scalar(emit, 1, op.input)))
    return [emit(onnx.DivOp(op.input, size))]


def softplus(f: Primal, e: Builder) -> Results:
    """max(x, 0) + log(1 + y), y = exp(-|x|), with the rounding error of u = 1 + y added to log(u)."""
    op, emit = f.op_as(onnx.SoftplusOp), e.emit
    x, zero, one = op.X, scalar(emit, 0, op.X), scalar(emit, 1, op.X)
    y = emit(onnx.ExpOp(emit(onnx.NegOp(emit(onnx.AbsOp(x))))))
    u = emit(onnx.AddOp(one, y))
    error = emit(onnx.SubOp(y, emit(onnx.SubOp(u, one))))
    logarithm = emit(onnx.AddOp(emit(onnx.LogOp(u)), error))
    return [emit(onnx.AddOp(emit(onnx.MaxOp([x, zero])), logarithm))]


def round_(f: Primal, e: Builder) -> Results:
    op, emit = f.op_as(onnx.RoundOp), e.emit
    return [_round_half_even(emit, op.X)]


def _round_half_even(emit: OpBuilder, x: SSAValue) -> SSAValue:
    """Round half to even by Floor."""
    half, one, zero = (scalar(emit, number, x) for number in (0.5, 1, 0))
    below = emit(onnx.FloorOp(x))
    rest = emit(onnx.SubOp(x, below))
    pairs = emit(onnx.FloorOp(emit(onnx.MulOp(below, half))))
    odd = emit(onnx.SubOp(below, emit(onnx.AddOp(pairs, pairs))))
    in_middle = emit(onnx.WhereOp(emit(onnx.GreaterOrEqualOp(rest, half)), odd, zero))
    more = emit(onnx.WhereOp(emit(onnx.GreaterOp(rest, half)), one, in_middle))
    return emit(onnx.AddOp(below, more))


def quantize_linear(f: Primal, e: Builder) -> Results | None:
    """Decompose for f32, per tensor or per axis, to types that Cast supports."""
    op, emit = f.op_as(onnx.QuantizeLinearOp), e.emit
    call, x, wanted = op.call(), op.x, element_type_of(op.y)
    entry = by_name(name_of(wanted))
    is_f32 = all(name_of(element_type_of(value)) == "f32" for value in (x, op.y_scale))
    if entry is None or not is_f32 or call.attribute("block_size", 0) or not _is_along(x, op.y_scale):
        return None
    axis, rank = call.attribute("axis", 1), len(shape_of(x))
    quotient = emit(onnx.DivOp(x, _along(emit, op.y_scale, axis, rank)))
    if entry.name in ("f8_e4m3", "f8_e5m2"):
        return [emit(onnx.CastOp(quotient, to=wanted, saturate=call.attribute("saturate", 1)))]
    if entry.name not in ("s8", "u8"):
        return None
    total = _round_half_even(emit, quotient)
    if op.y_zero_point is not None:
        zero = emit(onnx.CastOp(_along(emit, op.y_zero_point, axis, rank), to=element_type_of(x)))
        total = emit(onnx.AddOp(total, zero))
    bounds = np.iinfo(entry.numpy)
    clipped = emit(onnx.ClipOp(total, *(scalar(emit, bound, x) for bound in (bounds.min, bounds.max))))
    return [emit(onnx.CastOp(clipped, to=wanted))]


def dynamic_quantize_linear(f: Primal, e: Builder) -> Results:
    """All zeros get scale 1, as in onnxruntime; ONNX's function body divides by 0."""
    op, emit = f.op_as(onnx.DynamicQuantizeLinearOp), e.emit
    zero, one, most = (scalar(emit, number, op.x) for number in (0, 1, 255))
    low = emit(onnx.MinOp([emit(onnx.ReduceMinOp(op.x, keepdims=0)), zero]))
    high = emit(onnx.MaxOp([emit(onnx.ReduceMaxOp(op.x, keepdims=0)), zero]))
    step = emit(onnx.DivOp(emit(onnx.SubOp(high, low)), most))
    scale = emit(onnx.WhereOp(emit(onnx.EqualOp(step, zero)), one, step))
    place = emit(onnx.RoundOp(emit(onnx.DivOp(emit(onnx.SubOp(zero, low)), scale))))
    point = emit(onnx.CastOp(emit(onnx.ClipOp(place, zero, most)), to=element_type_of(op.y)))
    return [emit(onnx.QuantizeLinearOp(op.x, scale, point)), scale, point]


def _is_along(data: SSAValue, vector: SSAValue) -> bool:
    """Return whether the scale is per tensor or per axis."""
    return len(shape_of(vector)) <= min(1, len(shape_of(data)))


def _along(emit: OpBuilder, vector: SSAValue, axis: int, rank: int) -> SSAValue:
    """Broadcast a vector along an axis; a scalar is unchanged."""
    behind = range(1, rank - axis % rank) if shape_of(vector) else ()
    return emit(onnx.UnsqueezeOp(vector, emit.ints(behind))) if behind else vector


def dequantize_linear(f: Primal, e: Builder) -> Results | None:
    """(x - zero point) scale, for integers that Cast reads, and whole blocks only."""
    op, emit = f.op_as(onnx.DequantizeLinearOp), e.emit
    call, wide = op.call(), element_type_of(op.x_scale)
    axis, block = call.attribute("axis", 1), call.attribute("block_size", 0)
    fits = _is_whole(op, axis, block) if block else _is_along(op.x, op.x_scale)
    if element_type_of(op.y) != wide or not fits:
        return None
    rank = len(shape_of(op.x))

    def beside(vector: SSAValue) -> SSAValue:
        return _repeat_along(emit, vector, axis % rank, block) if block else _along(emit, vector, axis, rank)

    value: SSAValue = emit(onnx.CastOp(op.x, to=wide))
    if op.x_zero_point is not None:
        value = emit(onnx.SubOp(value, beside(emit(onnx.CastOp(op.x_zero_point, to=wide)))))
    return [emit(onnx.MulOp(value, beside(op.x_scale)))]


def _is_whole(op: onnx.DequantizeLinearOp, axis: int, block: int) -> bool:
    size, blocks = shape_of(op.x)[axis], shape_of(op.x_scale)[axis]
    return isinstance(size, int) and isinstance(blocks, int) and size == blocks * block


def _repeat_along(emit: OpBuilder, vector: SSAValue, axis: int, times: int) -> SSAValue:
    """Repeat each entry along an axis."""
    sizes = [emit.sizes(vector, [at]) for at in range(len(shape_of(vector)))]
    apart = [*sizes[: axis + 1], emit.ints([times]), *sizes[axis + 1 :]]
    spread = emit(onnx.ExpandOp(emit(onnx.UnsqueezeOp(vector, emit.ints([axis + 1]))), emit.concat(apart)))
    sizes[axis] = emit.mul(sizes[axis], emit.ints([times]))
    return emit(onnx.ReshapeOp(spread, emit.concat(sizes)))
