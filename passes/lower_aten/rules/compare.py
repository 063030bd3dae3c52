"""Comparisons, logical and bitwise ops, selection, limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import i1, i32, i64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from passes.builder.values import Builder, Value
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.promotion import BOOL, category, common_dtype, is_float


def _pair(f: Call) -> tuple[Value, Value]:
    """Return both operands at their common dtype."""
    dtype = common_dtype(f.self, f.other)
    return f.operand(f.self, dtype), f.operand(f.other, dtype)


def ordering(op: type[OnnxOp]) -> Rule:
    """Return the rule of a comparison; ONNX orders no booleans."""

    def rule(f: Call, e: Builder) -> Value:
        x, y = _pair(f)
        if category(x.dtype) == BOOL:
            x, y = x.cast(i32), y.cast(i32)
        return x.apply(op, y)

    return rule


def equal(f: Call, e: Builder) -> Value:
    x, y = _pair(f)
    return x.equals(y)


def not_equal(f: Call, e: Builder) -> Value:
    return equal(f, e).apply(onnx.NotOp)


def as_bool(value: Value) -> Value:
    """Return whether each element is not 0; NaN is true."""
    if not is_float(value.dtype):
        return value.cast(i1)
    return value.equals(0).apply(onnx.NotOp)


def logical(op: type[OnnxOp]) -> Rule:
    return lambda f, e: as_bool(f.self).apply(op, as_bool(f.other))


def logical_not(f: Call, e: Builder) -> Value:
    return as_bool(f.self).apply(onnx.NotOp)


def bitwise(of_bools: type[OnnxOp], of_ints: type[OnnxOp]) -> Rule:
    """Return the rule of a bitwise op of two operands, which of booleans is a logical one."""

    def rule(f: Call, e: Builder) -> Value:
        op = of_bools if category(f.dtype) == BOOL else of_ints
        return f.operand(f.self, f.dtype).apply(op, f.operand(f.other, f.dtype))

    return rule


def bitwise_not(f: Call, e: Builder) -> Value:
    return f.self.apply(onnx.NotOp if category(f.dtype) == BOOL else onnx.BitwiseNotOp)


def shift_left(f: Call, e: Builder) -> Value:
    x, y = f.operand(f.self, i64), f.operand(f.other, i64)
    return (x * e.scalar(2, x).apply(onnx.PowOp, y)).cast(f.dtype)


def shift_right(f: Call, e: Builder) -> Value:
    """The quotient by a power of two, rounded down."""
    x, y = f.operand(f.self, i64), f.operand(f.other, i64)
    power = e.scalar(2, x).apply(onnx.PowOp, y)
    return ((x - x.apply(onnx.ModOp, power)) / power).cast(f.dtype)


def where(f: Call, e: Builder) -> Value:
    return chosen(as_bool(f.condition), f.operand(f.self, f.dtype), f.operand(f.other, f.dtype))


def chosen(condition: Value, yes: Value, no: Value) -> Value:
    """Select elementwise; booleans by logical ops, as onnxruntime's Where has none."""
    if category(yes.dtype) != BOOL:
        return condition.apply(onnx.WhereOp, yes, no)
    return (condition & yes).apply(onnx.OrOp, condition.apply(onnx.NotOp) & no)


def clamp(f: Call, e: Builder) -> Value:
    """min(max(x, low), high) with those limits that are given; NaN stays."""
    low = f.min if f.has("min") else None
    high = f.max if f.has("max") else None
    dtype = i32 if category(f.dtype) == BOOL else f.dtype
    x = f.self.cast(dtype)
    if not (isinstance(low, Value) or isinstance(high, Value)):
        limits = [None if limit is None else f.number(limit, dtype) for limit in (low, high)]
        return x.apply(onnx.ClipOp, *limits).cast(f.dtype)
    x = x if low is None else x.at_least(f.operand(low, dtype))
    return (x if high is None else x.at_most(f.operand(high, dtype))).cast(f.dtype)


def maximum(f: Call, e: Builder) -> Value:
    x, y = f.self.cast(f.dtype), f.other.cast(f.dtype)
    return x.apply(onnx.OrOp, y) if category(f.dtype) == BOOL else x.at_least(y)


def minimum(f: Call, e: Builder) -> Value:
    x, y = f.self.cast(f.dtype), f.other.cast(f.dtype)
    return x & y if category(f.dtype) == BOOL else x.at_most(y)


def _without_nan(comparison: type[OnnxOp], otherwise: Callable[[Call, Builder], Value]) -> Rule:
    """Return the rule of fmax or fmin, which ignore a NaN if the other operand is none."""

    def rule(f: Call, e: Builder) -> Value:
        if not is_float(f.dtype):
            return otherwise(f, e)
        x, y = f.self.cast(f.dtype), f.other.cast(f.dtype)
        takes_x = x.apply(comparison, y).apply(onnx.OrOp, y.apply(onnx.IsNaNOp))
        return takes_x.where(x, y)

    return rule


def is_negative(x: Value) -> Value:
    """Return whether the sign of a float is negative, also for -0."""
    return (x < 0).apply(onnx.OrOp, x.apply(onnx.ReciprocalOp) < 0)


def signbit(f: Call, e: Builder) -> Value:
    if is_float(f.self.dtype):
        return is_negative(f.self)
    return f.full(False, f.shape, i1) if category(f.self.dtype) == BOOL else f.self < 0


def copysign(f: Call, e: Builder) -> Value:
    size = f.self.cast(f.dtype).abs()
    return is_negative(f.operand(f.other, f.dtype)).where(-size, size)


def heaviside(f: Call, e: Builder) -> Value:
    x, values = f.self.cast(f.dtype), f.values.cast(f.dtype)
    zero = e.scalar(0, x) if category(f.dtype) != BOOL else e.number(False, f.dtype)
    return chosen(x.equals(zero), values, as_positive(x, e))


def as_positive(x: Value, e: Builder) -> Value:
    """Return 1 where x > 0, else 0, at its dtype."""
    return x if category(x.dtype) == BOOL else (x > 0).cast(x.dtype)


def is_nan(f: Call, e: Builder) -> Value:
    if not is_float(f.self.dtype):
        return f.full(False, f.shape, i1)
    return f.self.apply(onnx.IsNaNOp)


def is_inf(f: Call, e: Builder) -> Value:
    if not is_float(f.self.dtype):
        return f.full(False, f.shape, i1)
    return f.self.apply(onnx.IsInfOp)


def _is_inf_of_sign(negative: bool) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        if not is_float(f.self.dtype):
            return f.full(False, f.shape, i1)
        return f.self.equals(-math.inf if negative else math.inf)

    return rule


def _both(packet: str, rule: Rule) -> dict[str, Rule]:
    return {f"{packet}.Tensor": rule, f"{packet}.Scalar": rule}


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **_both("lt", ordering(onnx.LessOp)),
        **_both("le", ordering(onnx.LessOrEqualOp)),
        **_both("gt", ordering(onnx.GreaterOp)),
        **_both("ge", ordering(onnx.GreaterOrEqualOp)),
        **_both("eq", equal),
        **_both("ne", not_equal),
        "logical_and.default": logical(onnx.AndOp),
        "logical_or.default": logical(onnx.OrOp),
        "logical_xor.default": logical(onnx.XorOp),
        "logical_not.default": logical_not,
        **_both("bitwise_and", bitwise(onnx.AndOp, onnx.BitwiseAndOp)),
        **_both("bitwise_or", bitwise(onnx.OrOp, onnx.BitwiseOrOp)),
        **_both("bitwise_xor", bitwise(onnx.XorOp, onnx.BitwiseXorOp)),
        "bitwise_not.default": bitwise_not,
        "bitwise_left_shift.Tensor": shift_left,
        "bitwise_left_shift.Tensor_Scalar": shift_left,
        "bitwise_right_shift.Tensor": shift_right,
        "bitwise_right_shift.Tensor_Scalar": shift_right,
        "where.self": where,
        "where.ScalarSelf": where,
        "where.ScalarOther": where,
        "where.Scalar": where,
        "clamp.default": clamp,
        "clamp.Tensor": clamp,
        **{f"clamp_{limit}.{which}": clamp for limit in ("min", "max") for which in ("default", "Tensor")},
        "maximum.default": maximum,
        "minimum.default": minimum,
        "fmax.default": _without_nan(onnx.GreaterOrEqualOp, maximum),
        "fmin.default": _without_nan(onnx.LessOrEqualOp, minimum),
        "copysign.Tensor": copysign,
        "copysign.Scalar": copysign,
        "signbit.default": signbit,
        "heaviside.default": heaviside,
        "isnan.default": is_nan,
        "isinf.default": is_inf,
        "isposinf.default": _is_inf_of_sign(False),
        "isneginf.default": _is_inf_of_sign(True),
    }
)
