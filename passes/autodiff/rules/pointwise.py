"""VJP rules of elementwise ops.

Rules prefer results to operands, and avoid exponentials that may overflow. Formulas are derivatives of the
ONNX schema definitions; kinks follow Convention.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import mul
from types import MappingProxyType

import numpy as np
from xdsl.ir import Operation, SSAValue

from dialects.onnx import ops as onnx
from dialects.onnx.values import constant_of
from passes.autodiff.common.gates import SATURATION, gelu_gate, hard_swish_gate, mish_gate
from passes.autodiff.common.primal import ZERO, Gradient, Primal, Rule
from passes.autodiff.nan_safety.domain_edge import guard_replaced_nan
from passes.autodiff.nan_safety.norm_at_zero import is_flat_at_zero, nonzero_or_one, or_zero
from passes.builder.values import Builder, Value

SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875


def by_slope(slope: Callable[[Primal], Value]) -> Rule:
    """Return the rule of a unary op: the cotangent times the derivative."""
    return lambda f, g, e: (g[0] * slope(f),)


# One operand


def exponential(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    product = _product_by_result(f, g[0], e)
    return (g[0] * f.y if product is None else product,)


def sigmoid(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    product, rest = _product_by_result(f, g[0], e), 1 - f.y
    return (g[0] * (f.y * rest) if product is None else product * rest,)


def _product_by_result(f: Primal, cotangent: Value, e: Builder) -> Value | None:
    """Return y times a cotangent c a as c times the existing product a y, or None."""
    given = cotangent.value.owner if isinstance(cotangent, Value) else None  # pyright: ignore[reportUnnecessaryIsInstance]
    if e.strict_ieee or not isinstance(given, onnx.MulOp) or given.parent is not None:
        return None
    y = f.y.value
    for factor, other in (given.operands, reversed(given.operands)):
        for product in (use.operation for use in y.uses):
            is_theirs = isinstance(product, onnx.MulOp) and set(product.operands) == {y, factor}
            is_here = isinstance(y.owner, Operation) and product.parent is y.owner.parent
            if is_theirs and is_here and product.results[0].type == y.type:
                return e(product.results[0]) * e(other)
    return None


def relu(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Relu; result and operand are positive together."""
    value = f.y if f.has_result or not f.has_operand else f.x
    return (e.keep(g[0], value > 0),)


def clip(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    low, high = f.operand(1), f.operand(2)
    if f.convention.strict_bounds:
        value = f.x if f.has_operand else f.y
        inside = [value > low] if low is not None else []
        inside += [value < high] if high is not None else []
        condition = inside[0] & inside[1] if len(inside) == 2 else inside[0]
        return (e.keep(g[0], condition), ZERO, ZERO)
    kept = e.keep(g[0], f.y.equals(f.x))
    below = ZERO if low is None else e.keep(g[0], _below(f, low, high))
    above = ZERO if high is None else e.keep(g[0], _above(f, low, high))
    return (kept, below, above)


def _below(f: Primal, low: Value, high: Value | None) -> Value:
    """Return where the lower bound is the result."""
    return f.x < low if high is None else (f.x < low) & (low <= high)


def _above(f: Primal, low: Value | None, high: Value) -> Value:
    """Return where the upper bound is the result; it wins if the bounds cross."""
    above = f.x > high
    return above if low is None else above.apply(onnx.OrOp, low > high)


def leaky_relu(f: Primal) -> Value:
    return _step((f.x > 0).cast(f.x.dtype), f.value("alpha", 0.01), 1.0)


MOST_CANCELLED = 4.0
"""Up to this ratio b : a, a + (b - a) is b but for two roundings."""


def _step(positive: Value, below: float, above: float) -> Value:
    """Return `above` where a mask is 1, `below` where it is 0."""
    if abs(below) <= MOST_CANCELLED * abs(above):
        return positive * (above - below) + below
    return positive * above + (1 - positive) * below


def elu(f: Primal) -> Value:
    """Return the derivative, from the result if possible; Exp never gets positive numbers."""
    return _elu(f, f.value("alpha", 1.0), 1.0)


def selu(f: Primal) -> Value:
    gamma, alpha = f.value("gamma", SELU_GAMMA), f.value("alpha", SELU_ALPHA)
    return _elu(f, gamma * alpha, gamma)


def _elu(f: Primal, alpha: float, above: float) -> Value:
    """Return `above` for positive operands, else y + alpha. Negative factors change the result's sign."""
    by_operand = not f.has_result or alpha < 0 or above < 0
    if f.has_operand and by_operand:
        below, positive = _negative_part(f.x).exp() * alpha, f.x > 0
    else:
        below, positive = _negative_part(f.y) + alpha, f.y > 0
    if alpha == above:
        return below
    mask = positive.cast(below.dtype)
    if abs(alpha) <= MOST_CANCELLED * above:
        return below + mask * (above - alpha)
    return below * (1 - mask) + mask * above


def celu(f: Primal) -> Value:
    return (_negative_part(f.x) * (1 / f.value("alpha", 1.0))).exp()


def _negative_part(x: Value) -> Value:
    """Return min(x, 0) with derivative 0 at 0, where Min would give 1/2."""
    return -(-x).apply(onnx.ReluOp)


def thresholded_relu(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (e.keep(g[0], f.x > f.value("alpha", 1.0)),)


def shrink(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (e.keep(g[0], f.x.abs() > f.value("lambd", 0.5)),)


def hard_sigmoid(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    alpha, beta = f.value("alpha", 0.2), f.value("beta", 0.5)
    inner = f.x * alpha + beta
    return (e.keep(g[0], (inner > 0) & (inner < 1)) * alpha,)


def hard_swish(f: Primal) -> Value:
    """Return the derivative; the factor is outside the mask, so that a convolution can absorb it and the
    sum."""
    return hard_swish_gate(f) + f.e.keep(f.x, f.x.abs() < 3) * (1 / 6)


def mish(f: Primal) -> Value:
    """t + x sigmoid(x) (1 - t^2), t = tanh(softplus x)."""
    t = mish_gate(f)
    return t + f.x * f.x.sigmoid() * (1 - t.square())


def gelu(f: Primal) -> Value:
    x = f.x.clip_to(-SATURATION, SATURATION)
    if f.value("approximate", "none") != "tanh":
        density = (-(x * math.sqrt(0.5)).square()).exp_times(1 / math.sqrt(2 * math.pi))
        return gelu_gate(f) + x * density
    scale, cube = math.sqrt(2 / math.pi), 0.044715
    s = gelu_gate(f)
    return s + x * s * (1 - s) * (x.square() * (6 * scale * cube) + 2 * scale)


def swish(f: Primal) -> Value:
    """y = x s, s = sigmoid(alpha x): s + alpha y (1 - s)."""
    alpha = f.value("alpha", 1.0)
    s = (f.x * alpha).sigmoid()
    return s + f.x * s * (1 - s) * alpha


def softsign(f: Primal) -> Value:
    return 1 / (f.x.abs() + 1).square()


def erf(f: Primal) -> Value:
    return (-f.x.square()).exp_times(2 / math.sqrt(math.pi))


def cast(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0].cast(f.x.dtype),)


def logarithm(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Log; 0 at x = 0 if the reader replaces -inf by a bound, so that the cotangent is 0 there."""
    x = f.x
    if f.has_result and _is_bounded_below(f.y.value):
        x = x.equals(0).where(e.fill_like(1, x), x)
    return (g[0] / x,)


def _is_bounded_below(value: SSAValue) -> bool:
    """Return whether all readers replace smaller values by a finite constant."""
    readers = [use.operation for use in value.uses if use.operation.parent is not None]
    return bool(readers) and all(_bounds_below(reader, value) for reader in readers)


def _bounds_below(op: Operation, value: SSAValue) -> bool:
    """Return whether the op bounds `value` from below; comparisons do, as they pass no gradient on."""
    match op:
        case onnx.EqualOp() | onnx.GreaterOp() | onnx.LessOp():
            return True
        case onnx.MaxOp():
            bounds = [constant_of(other) for other in op.operands if other is not value]
        case onnx.ClipOp() if op.input is value and op.min is not None:
            bounds = [constant_of(op.min)]
        case _:
            return False
    return any(bound is not None and bool(np.isfinite(bound).all()) for bound in bounds)


# Several operands


def add(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0],) * len(f.operands)


def mean(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0] * (1 / len(f.operands)),) * len(f.operands)


def subtract(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    return (g[0], -g[0])


def multiply(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    a, b = _two(f)
    return (g[0] * b, g[0] * a)


def divide(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """-g y / b for b; g a / b^2 would overflow sooner."""
    _, b = _two(f)
    first = g[0] / b
    return (first, -(first * f.y))


def modulo(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """y = a - b q, q the rounded quotient, which is constant between jumps."""
    a, b = _two(f)
    return (g[0], g[0] * (f.y - a) / b)


def square_root(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """1 / (2 y); 0 at 0 for a norm."""
    if not f.has_operand or not is_flat_at_zero(f.x.value):
        return (g[0] * 0.5 / f.y,)
    return (g[0] * or_zero(0.5 / nonzero_or_one(f.y), f.y),)


def power(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """x^p: p x^(p - 1) for x, 0 for p = 0; y log x for p, 0 at x = 0."""
    x, p = _two(f)
    exponent: Gradient = ZERO
    if f.wants(1):
        safe = x.equals(0).where(e.fill_like(1, x), x)
        exponent = g[0] * f.y * safe.log()
    return (g[0] * _slope_of_power(f, x, p) if f.wants(0) else ZERO, exponent)


def _slope_of_power(f: Primal, x: Value, p: Value) -> Value:
    """Return p x^(p - 1) without a term 0 * inf, and without a Pow for known exponents where possible:
    kernels are fast for 2 and 3 only."""
    known = constant_of(p.value)
    exponent = float(known.reshape(())) if known is not None and known.size == 1 else None
    if exponent is not None and 0 < exponent < 1 and is_flat_at_zero(x.value):
        return or_zero(exponent * nonzero_or_one(f.y) / nonzero_or_one(x), f.y)
    if exponent == 0.5:
        return 0.5 / f.y
    if exponent == -0.5:
        return f.y.square() * f.y * -0.5
    if exponent == -1:
        return -f.y.square()
    if exponent is not None and exponent < 0 and exponent.is_integer():
        return exponent * (f.y / x)
    if exponent is not None and (lower := _small_power(x, exponent - 1)) is not None:
        return lower * exponent
    given = p.cast(x.dtype)
    return given * x.apply(onnx.PowOp, nonzero_or_one(given) - 1)


def _small_power(x: Value, exponent: float) -> Value | None:
    """Return x^p for p from 1/2 to 4 by products and Sqrt, which is NaN for -inf; else None."""
    if not 0 < exponent <= 4 or (2 * exponent) % 1 or (x.e.strict_ieee and exponent % 1):
        return None
    factors = [x.square()] * int(exponent // 2) if exponent >= 2 else []
    factors += [x] * int(exponent // 1 % 2) + ([x.sqrt()] if exponent % 1 else [])
    return reduce(mul, factors)


def extremum(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """VJP of Max and Min: operands equal to the result share the cotangent."""
    operands = [operand for operand in f.operands if operand is not None]
    if len(operands) == 1:
        return (g[0],)
    shares = [operand.equals(f.y).cast(g[0].dtype) for operand in operands]
    count = shares[0]
    for share in shares[1:]:
        count = count + share
    part = g[0] / count
    if e.strict_ieee:
        return tuple(e.keep(part, operand.equals(f.y)) for operand in operands)
    return tuple(part * share for share in shares)


def where(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    condition = f.x
    otherwise = condition.apply(onnx.NotOp)
    return (ZERO, e.keep(g[0], condition), e.keep(g[0], otherwise))


def prelu(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
    """g where x > 0, else g slope; for the slope, g min(x, 0) by a Clip."""
    x, slope = _two(f)
    if e.strict_ieee:
        positive = x > 0
        return (positive.where(g[0], g[0] * slope), positive.apply(onnx.NotOp).where(g[0] * x, 0))
    positive = (x > 0).cast(x.dtype)
    return (g[0] * (positive + slope * (1 - positive)), g[0] * x.apply(onnx.ClipOp, None, 0))


def _two(f: Primal) -> tuple[Value, Value]:
    first, second = f.operand(0), f.operand(1)
    assert first is not None
    assert second is not None
    return first, second


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "Abs": by_slope(lambda f: f.x.sign()),
        "Acos": guard_replaced_nan(by_slope(lambda f: -(1 / (1 - f.x.square()).sqrt())), 0),
        "Acosh": guard_replaced_nan(by_slope(lambda f: 1 / ((f.x - 1).sqrt() * (f.x + 1).sqrt())), 2),
        "Add": add,
        "Asin": guard_replaced_nan(by_slope(lambda f: 1 / (1 - f.x.square()).sqrt()), 0),
        "Asinh": by_slope(lambda f: 1 / (f.x.square() + 1).sqrt()),
        "Atan": by_slope(lambda f: 1 / (f.x.square() + 1)),
        "Atanh": by_slope(lambda f: 1 / (1 - f.x.square())),
        "Cast": cast,
        "CastLike": lambda f, g, e: (*cast(f, g, e), ZERO),
        "Celu": by_slope(celu),
        "Clip": clip,
        "Cos": by_slope(lambda f: -f.x.apply(onnx.SinOp)),
        "Cosh": by_slope(lambda f: f.x.apply(onnx.SinhOp)),
        "Div": divide,
        "Elu": by_slope(elu),
        "Erf": by_slope(erf),
        "Exp": exponential,
        "Gelu": by_slope(gelu),
        "HardSigmoid": hard_sigmoid,
        "HardSwish": by_slope(hard_swish),
        "Identity": lambda f, g, e: (g[0],),
        "LeakyRelu": by_slope(leaky_relu),
        "Log": logarithm,
        "Max": extremum,
        "Mean": mean,
        "Min": extremum,
        "Mish": by_slope(mish),
        "Mod": modulo,
        "Mul": multiply,
        "Neg": lambda f, g, e: (-g[0],),
        "PRelu": prelu,
        "Pow": guard_replaced_nan(power, 1),
        "Reciprocal": by_slope(lambda f: -f.y.square()),
        "Relu": relu,
        "Selu": by_slope(selu),
        "Shrink": shrink,
        "Sigmoid": sigmoid,
        "Sin": by_slope(lambda f: f.x.apply(onnx.CosOp)),
        "Sinh": by_slope(lambda f: f.x.apply(onnx.CoshOp)),
        "Softplus": by_slope(lambda f: f.x.sigmoid()),
        "Softsign": by_slope(softsign),
        "Sqrt": guard_replaced_nan(square_root, 1),
        "Sub": subtract,
        "Sum": add,
        "Swish": by_slope(swish),
        "Tan": by_slope(lambda f: f.y.square() + 1),
        "Tanh": by_slope(lambda f: 1 - f.y.square()),
        "ThresholdedRelu": thresholded_relu,
        "Where": where,
    }
)
"""ONNX op -> its rule."""
