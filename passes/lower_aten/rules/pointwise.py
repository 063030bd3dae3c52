"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from dialects.onnx.base import OnnxOp
from dialects.support.dtypes import known_dtype
from passes.builder.values import Builder, Value
from passes.lower_aten import float64_functions as double
from passes.lower_aten.call import Call, Rule
from passes.lower_aten.float64_functions import polynomial
from passes.lower_aten.precision import formula, in_float32
from passes.lower_aten.promotion import BOOL, category, is_float
from passes.lower_aten.rules.arithmetic import is_unsigned, truncate
from passes.lower_aten.small_values import sigmoid


def unary(op: type[OnnxOp]) -> Rule:
    """Return the rule of an op with one ONNX op, at the dtype of the result."""
    return lambda f, e: f.self.cast(f.dtype).apply(op)


def elementary(op: type[OnnxOp], in_double: Callable[[Value], Value]) -> Rule:
    """Return the rule of an op with one ONNX op, but another formula in float64."""

    def rule(f: Call, e: Builder) -> Value:
        x = f.self.cast(f.dtype)
        return in_double(x) if f.dtype == f64 else x.apply(op)

    return rule


def error_function(x: Value) -> Value:
    return double.erf(x) if x.dtype == f64 else x.erf()


def in_float64(of: Callable[[Value], Value]) -> Rule:
    """Return the rule of a function that is computed in float64, whatever the dtype."""
    return lambda f, e: of(f.self.cast(f64)).cast(f.dtype)


def rounding(op: type[OnnxOp]) -> Rule:
    """Return the rule of an op that leaves integers as they are."""
    return lambda f, e: f.self.apply(op) if is_float(f.dtype) else f.self


def trunc(f: Call, e: Builder) -> Value:
    return truncate(f.self) if is_float(f.dtype) else f.self


def frac(f: Call, e: Builder) -> Value:
    """The rest towards zero."""
    return f.self.apply(onnx.ModOp, 1, fmod=1)


def round_to(f: Call, e: Builder) -> Value:
    """Round half to even, at a number of decimal places."""
    if not is_float(f.dtype) or f.decimals == 0:
        return rounding(onnx.RoundOp)(f, e)  # type: ignore[return-value]
    scale = 10.0 ** abs(f.decimals)
    if f.decimals > 0:
        return (f.self * scale).apply(onnx.RoundOp) / scale
    return (f.self / scale).apply(onnx.RoundOp) * scale


def absolute(f: Call, e: Builder) -> Value:
    return f.self if category(f.dtype) == BOOL or is_unsigned(f.dtype) else f.self.abs()


def negate(f: Call, e: Builder) -> Value:
    return 0 - f.self if is_unsigned(f.dtype) else -f.self


def sign(f: Call, e: Builder) -> Value:
    """-1, 0 or 1."""
    return f.self if category(f.dtype) == BOOL else f.self.sign()


def relu(f: Call, e: Builder) -> Value:
    return f.self.apply(onnx.ReluOp) if is_float(f.dtype) else f.self.at_least(0)


def square(f: Call, e: Builder) -> Value:
    return f.self * f.self


def expm1(x: Value) -> Value:
    """e^x - 1; near 0 by tanh(x / 2), which keeps small results exact."""
    half = (x * 0.5).tanh()
    return (x.abs() < 0.5).where(2 * half / (1 - half), x.exp() - 1)


def log1p(x: Value) -> Value:
    """log(1 + x); near 0 with a correction by the error of 1 + x."""
    y = 1 + x
    correction = (x - (y - 1)) / y
    return (x.abs() < 0.5).where(y.log() + correction, y.log())


def erfinv(x: Value) -> Value:
    """The inverse of erf: a polynomial of log(1 - x^2) (M. Giles 2012), and Newton steps."""
    w = -((1 - x) * (1 + x)).log()
    central, tail = polynomial(_CENTRAL, w - 2.5), polynomial(_TAIL, w.sqrt() - 3)
    y = (w < 5).where(central, tail) * x
    for _ in range(2):
        y = y - (error_function(y) - x) * (math.sqrt(math.pi) / 2) * y.square().exp()
    is_one = x.abs().equals(1)
    return is_one.where(x * math.inf, y)


_CENTRAL = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)
"""Coefficients of Giles's single-precision approximation."""


def logit(f: Call, e: Builder) -> Value:
    """log(x / (1 - x)), with x in [eps, 1 - eps] if an eps is given."""
    x = f.self.cast(f.dtype)
    if f.has("eps"):
        low, high = f.eps, 1 - f.eps
        x = x.clip_to(low, high) if low <= high else (x < low).where(e.fill_like(low, x), high)
    return (x / (1 - x)).log()


def nan_to_num(f: Call, e: Builder) -> Value:
    """Replace NaN and infinite elements by numbers, by default 0 and the limits of the dtype."""
    if not is_float(f.dtype):
        return f.self
    x = f.self
    lowest, largest = limits_of(f)
    low = f.neginf if f.has("neginf") else lowest
    high = f.posinf if f.has("posinf") else largest
    x = x.apply(onnx.IsNaNOp).where(e.scalar(f.nan if f.has("nan") else 0, x), x)
    x = x.equals(math.inf).where(e.scalar(high, x), x)
    return x.equals(-math.inf).where(e.scalar(low, x), x)


def angle(f: Call, e: Builder) -> Value:
    """0, of negative numbers pi; NaN of NaN."""
    x = f.self.cast(f.dtype)
    return x.apply(onnx.IsNaNOp).where(x, (x < 0).where(e.scalar(math.pi, x), 0))


def limits_of(f: Call) -> tuple[float, float]:
    """Return the smallest and largest finite number of the dtype, of integers as ints."""
    dtype = known_dtype(f.dtype).numpy
    if not is_float(f.dtype):
        return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    found = cast(Any, ml_dtypes).finfo(dtype)
    return float(found.min), float(found.max)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "abs.default": absolute,
        "angle.default": angle,
        "neg.default": negate,
        "sign.default": sign,
        "sgn.default": sign,
        "square.default": square,
        "relu.default": relu,
        "ceil.default": rounding(onnx.CeilOp),
        "floor.default": rounding(onnx.FloorOp),
        "round.default": rounding(onnx.RoundOp),
        "round.decimals": round_to,
        "trunc.default": trunc,
        "frac.default": frac,
        "exp.default": unary(onnx.ExpOp),
        "exp2.default": formula(lambda x: (x * math.log(2)).exp()),
        "expm1.default": formula(expm1),
        "log.default": unary(onnx.LogOp),
        "log2.default": formula(lambda x: x.log() * (1 / math.log(2))),
        "log10.default": formula(lambda x: x.log() * (1 / math.log(10))),
        "log1p.default": formula(log1p),
        "sqrt.default": unary(onnx.SqrtOp),
        "rsqrt.default": formula(lambda x: x.sqrt().apply(onnx.ReciprocalOp)),
        "reciprocal.default": unary(onnx.ReciprocalOp),
        "erf.default": elementary(onnx.ErfOp, double.erf),
        "erfc.default": formula(lambda x: double.erfc(x) if x.dtype == f64 else 1 - x.erf()),
        "erfinv.default": formula(erfinv),
        "lgamma.default": in_float64(double.log_gamma),
        "digamma.default": in_float64(double.digamma),
        "sin.default": unary(onnx.SinOp),
        "cos.default": unary(onnx.CosOp),
        "tan.default": elementary(onnx.TanOp, double.tan),
        "asin.default": elementary(onnx.AsinOp, double.asin),
        "acos.default": elementary(onnx.AcosOp, double.acos),
        "atan.default": elementary(onnx.AtanOp, double.atan),
        "sinh.default": elementary(onnx.SinhOp, double.sinh),
        "cosh.default": elementary(onnx.CoshOp, double.cosh),
        "tanh.default": unary(onnx.TanhOp),
        "asinh.default": elementary(onnx.AsinhOp, double.asinh),
        "acosh.default": elementary(onnx.AcoshOp, double.acosh),
        "atanh.default": elementary(onnx.AtanhOp, double.atanh),
        "sigmoid.default": sigmoid,
        "logit.default": in_float32(logit),
        "nan_to_num.default": nan_to_num,
    }
)
