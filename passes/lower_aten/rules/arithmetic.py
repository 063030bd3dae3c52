"""Arithmetic of two operands: sums, products, quotients and remainders, powers, interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from dialects.onnx import ops as onnx
from dialects.support.dtypes import known_dtype
from passes.builder.values import Builder, Value
from passes.lower_aten import float64_functions as double
from passes.lower_aten.call import Call, Number, Rule
from passes.lower_aten.precision import in_float32
from passes.lower_aten.promotion import BOOL, category, is_float


def _scale(f: Call, value: Value | Number, factor: Number) -> Value:
    value = f.operand(value, f.dtype)
    return value if factor == 1 else value * f.number(factor, f.dtype)


def add(f: Call, e: Builder) -> Value:
    """self + alpha * other; of booleans, whether one is true."""
    x, y = f.operand(f.self, f.dtype), f.operand(f.other, f.dtype)
    if category(f.dtype) == BOOL:
        return x.apply(onnx.OrOp, y) if f.alpha else x
    return x + _scale(f, y, f.alpha)


def subtract(f: Call, e: Builder) -> Value:
    return f.operand(f.self, f.dtype) - _scale(f, f.other, f.alpha)


def subtract_reversed(f: Call, e: Builder) -> Value:
    return f.operand(f.other, f.dtype) - _scale(f, f.self, f.alpha)


def multiply(f: Call, e: Builder) -> Value:
    x, y = f.operand(f.self, f.dtype), f.operand(f.other, f.dtype)
    return x & y if category(f.dtype) == BOOL else x * y


def divide(f: Call, e: Builder) -> Value:
    """The quotient, with `rounding_mode` rounded to an int towards zero or down."""
    mode = f.rounding_mode if f.has("rounding_mode") else ""
    rule = {"": _quotient, "trunc": _divide_to_zero, "floor": _floor_divide}[mode]
    return rule(f.operand(f.self, f.dtype), f.operand(f.other, f.dtype))


def floor_divide(f: Call, e: Builder) -> Value:
    return _floor_divide(f.operand(f.self, f.dtype), f.operand(f.other, f.dtype))


def _quotient(x: Value, y: Value) -> Value:
    return x / y


def _divide_to_zero(x: Value, y: Value) -> Value:
    return truncate(x / y) if is_float(x.dtype) else x / y


def _floor_divide(x: Value, y: Value) -> Value:
    """The quotient of the multiple of y below x, which rounding x / y can miss: 1 // 0.1 is 9."""
    if not is_float(x.dtype):
        return x / y if is_unsigned(x.dtype) else (x - x.apply(onnx.ModOp, y)) / y
    rest = x.apply(onnx.ModOp, y, fmod=1)
    below = _differs_in_sign(rest, y).cast(x.dtype)
    floored = ((x - rest) / y - below).apply(onnx.RoundOp)
    return y.equals(0).where(x / y, floored)


def is_unsigned(dtype: Attribute) -> bool:
    """Return whether a dtype has no negative numbers."""
    return known_dtype(dtype).numpy.kind == "u"


def _differs_in_sign(rest: Value, y: Value) -> Value:
    """Return whether a remainder is not 0 and its sign is not that of y."""
    other = (rest < 0).apply(onnx.XorOp, y < 0)
    return other & rest.equals(0).apply(onnx.NotOp)


def truncate(x: Value) -> Value:
    """Round towards zero."""
    return x.sign() * x.abs().apply(onnx.FloorOp)


def remainder(f: Call, e: Builder) -> Value:
    """The remainder with the sign of the divisor."""
    x, y = f.operand(f.self, f.dtype), f.operand(f.other, f.dtype)
    if not is_float(x.dtype):
        return x.apply(onnx.ModOp, y)
    rest = x.apply(onnx.ModOp, y, fmod=1)
    if isinstance(f.other, int | float) and f.other > 0:
        return (rest < 0).where(rest + y, rest)
    return _differs_in_sign(rest, y).where(rest + y, rest)


def fmod(f: Call, e: Builder) -> Value:
    """The remainder with the sign of the dividend."""
    return f.operand(f.self, f.dtype).apply(onnx.ModOp, f.operand(f.other, f.dtype), fmod=1)


_POWERS: Mapping[float, Callable[[Value], Value]] = MappingProxyType(
    {
        1: lambda x: x,
        2: lambda x: x * x,
        3: lambda x: x * x * x,
    }
)
_FLOAT_POWERS: Mapping[float, Callable[[Value], Value]] = MappingProxyType(
    {
        0.5: lambda x: x.sqrt(),
        -0.5: lambda x: x.sqrt().apply(onnx.ReciprocalOp),
        -1: lambda x: x.apply(onnx.ReciprocalOp),
        -2: lambda x: (x * x).apply(onnx.ReciprocalOp),
    }
)


def power(f: Call, e: Builder) -> Value:
    """self ** exponent; small constant exponents are products and roots."""
    if category(f.dtype) == BOOL:  # true ** x is true, false ** x is whether x is false
        return f.operand(f.self, f.dtype).apply(onnx.OrOp, f.operand(f.exponent, f.dtype).apply(onnx.NotOp))
    x = f.operand(f.self, f.dtype)
    exponent = f.exponent
    if isinstance(exponent, int | float) and f.shape == x.shape:
        known = {**_POWERS, **_FLOAT_POWERS} if is_float(x.dtype) else _POWERS
        if exponent in known:
            return known[exponent](x)
    return x.apply(onnx.PowOp, f.operand(exponent, f.dtype))


def addcmul(f: Call, e: Builder) -> Value:
    product = f.tensor1.cast(f.dtype) * f.tensor2.cast(f.dtype)
    return f.self.cast(f.dtype) + _scale(f, product, f.value)


def addcdiv(f: Call, e: Builder) -> Value:
    quotient = f.tensor1.cast(f.dtype) / f.tensor2.cast(f.dtype)
    return f.self.cast(f.dtype) + _scale(f, quotient, f.value)


def lerp(f: Call, e: Builder) -> Value:
    """self + weight * (end - self), from the nearer end if the weight is constant."""
    step = f.end - f.self
    if isinstance(f.weight, int | float) and f.weight >= 0.5:
        return f.end - _scale(f, step, 1 - f.weight)
    return f.self + step * f.operand(f.weight, f.dtype)


def hypot(f: Call, e: Builder) -> Value:
    return (f.self.cast(f.dtype).square() + f.other.cast(f.dtype).square()).sqrt()


def atan2(f: Call, e: Builder) -> Value:
    """The angle of (other, self)."""
    return angle_of(f.self.cast(f.dtype), f.other.cast(f.dtype))


def angle_of(y: Value, x: Value) -> Value:
    """Return the angle of (x, y), from -pi to pi; 0 at the origin."""
    acute = double.atan(y / x) if x.dtype == f64 else (y / x).apply(onnx.AtanOp)
    half_turn = (y < 0).where(x.e.scalar(-math.pi, x), x.e.scalar(math.pi, x))
    angle = (x < 0).where(acute + half_turn, acute)
    return (y.equals(0) & x.equals(0)).where(y, angle)


def xlogy(f: Call, e: Builder) -> Value:
    """x * log(y), 0 where x is 0 and y is not NaN."""
    x, y = f.operand(f.self, f.dtype), f.operand(f.other, f.dtype)
    is_zero = x.equals(0) & y.apply(onnx.IsNaNOp).apply(onnx.NotOp)
    return is_zero.where(e.scalar(0, x), x * y.log())


def _log_of_sum(exponential: Callable[[Value], Value], logarithm: Callable[[Value], Value]) -> Rule:
    def rule(f: Call, e: Builder) -> Value:
        x, y = f.self.cast(f.dtype), f.other.cast(f.dtype)
        largest = x.at_least(y)
        sum_ = largest + logarithm(1 + exponential(-(x - y).abs()))
        same_inf = x.equals(y) & x.apply(onnx.IsInfOp)
        return same_inf.where(x, sum_)

    return in_float32(rule)


def _exp2(x: Value) -> Value:
    return (x * _LN2).exp()


def _log2(x: Value) -> Value:
    return x.log() * (1 / _LN2)


_LN2 = 0.6931471805599453

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **dict.fromkeys(("add.Tensor", "add.Scalar"), add),
        **dict.fromkeys(("sub.Tensor", "sub.Scalar"), subtract),
        **dict.fromkeys(("rsub.Tensor", "rsub.Scalar"), subtract_reversed),
        **dict.fromkeys(("mul.Tensor", "mul.Scalar"), multiply),
        **dict.fromkeys(("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode"), divide),
        **dict.fromkeys(("floor_divide.default", "floor_divide.Scalar"), floor_divide),
        **dict.fromkeys(("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor"), remainder),
        **dict.fromkeys(("fmod.Tensor", "fmod.Scalar"), fmod),
        **dict.fromkeys(("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"), power),
        "addcmul.default": in_float32(addcmul),
        "addcdiv.default": in_float32(addcdiv),
        **dict.fromkeys(("lerp.Scalar", "lerp.Tensor"), in_float32(lerp)),
        "hypot.default": in_float32(hypot),
        "atan2.default": in_float32(atan2),
        **dict.fromkeys(("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self"), in_float32(xlogy)),
        "logaddexp.default": _log_of_sum(Value.exp, Value.log),
        "logaddexp2.default": _log_of_sum(_exp2, _log2),
    }
)
