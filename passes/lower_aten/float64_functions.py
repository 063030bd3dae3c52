"""Elementary functions of float64, for which onnxruntime has no kernels, by those that it has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dialects.onnx import ops as onnx
from passes.builder.values import Value

_ERFC = (
    *(-1.5802348811972355e-11, -4.9497206900937664e-11, 1.8642495354466886e-10, 6.297962469182304e-10),
    *(-1.347513409735063e-09, -4.84566988844704e-09, 9.224748022598777e-09, 3.1441031864543034e-08),
    *(-7.267546732429152e-08, -1.8338069950855423e-07, 6.594882680691754e-07, 7.485416857400643e-07),
    *(-6.183444290126942e-06, 3.5837149798414534e-06, 4.7898783243418204e-05, -0.00015246266466585536),
    *(-2.5535331143276044e-05, 0.00180296241673598, -0.008220621154139912, 0.024143223972444578),
    *(-0.054802326694977616, 0.10260431203219823, -0.16357189552392398, 0.22600806691662143),
    *(-0.2734219314954265, 0.14558972127503855),
)
"""Coefficients of e^(x^2) erfc(x) in t = (x - 3.75) / (x + 3.75), x >= 0, the highest first: the Chebyshev
interpolant of degree 25, whose error is below 1e-15."""

_LARGEST_ERFC = 27.3
"""erfc of numbers beyond it is 0 in float64."""


def polynomial(coefficients: Sequence[float], x: Value) -> Value:
    """Evaluate a polynomial, given with the highest coefficient first."""
    first, second, *others = coefficients
    total = x * first + second
    for coefficient in others:
        total = total * x + coefficient
    return total


def _erfc_of_size(x: Value) -> Value:
    """Return erfc(|x|)."""
    size = x.abs().at_most(_LARGEST_ERFC)
    return (-size.square()).exp() * polynomial(_ERFC, (size - 3.75) / (size + 3.75))


def erfc(x: Value) -> Value:
    upper = _erfc_of_size(x)
    return (x < 0).where(2 - upper, upper)


def erf(x: Value) -> Value:
    return x.sign() * (1 - _erfc_of_size(x))


_ATAN_HALVINGS = 2
_ATAN_TERMS = 13


def atan(x: Value) -> Value:
    """The arc tangent by its series: 1/x has the complementary angle, and x / (1 + sqrt(1 + x^2)) half."""
    size = x.abs()
    is_large = size > 1
    t = is_large.where(size.apply(onnx.ReciprocalOp), size)
    for _ in range(_ATAN_HALVINGS):
        t = t / (1 + (1 + t.square()).sqrt())
    series = [(-1) ** k / (2 * k + 1) for k in reversed(range(_ATAN_TERMS))]
    angle = t * polynomial(series, t.square()) * 2.0**_ATAN_HALVINGS
    return x.sign() * is_large.where(math.pi / 2 - angle, angle)


def asin(x: Value) -> Value:
    return atan(x / (1 + (1 - x.square()).sqrt())) * 2


def acos(x: Value) -> Value:
    return atan(((1 - x) / (1 + x)).sqrt()) * 2


def tan(x: Value) -> Value:
    return x.apply(onnx.SinOp) / x.apply(onnx.CosOp)


def sinh(x: Value) -> Value:
    return (x.exp() - (-x).exp()) * 0.5


def cosh(x: Value) -> Value:
    return (x.exp() + (-x).exp()) * 0.5


def asinh(x: Value) -> Value:
    size = x.abs()
    return x.sign() * (size + (1 + size.square()).sqrt()).log()


def acosh(x: Value) -> Value:
    return (x + (x.square() - 1).sqrt()).log()


def atanh(x: Value) -> Value:
    return ((1 + x) / (1 - x)).log() * 0.5


_SHIFT = 8
"""Number of steps by which the argument of the gamma function is increased for the asymptotic series."""

_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
"""Coefficients of the asymptotic series, from Bernoulli numbers."""


def _reflect(x: Value) -> tuple[Value, Value]:
    """Return whether x < 1/2, and the argument 1 - x there, else x."""
    is_small = x < 0.5
    return is_small, is_small.where(1 - x, x)


def _fraction(x: Value) -> Value:
    """Return the distance to the next integer, which has the same sine and tangent of pi x but for signs."""
    return x - x.apply(onnx.RoundOp)


def log_gamma(x: Value) -> Value:
    """log |Gamma(x)| by Stirling's series of x + 8; below 1/2 by reflection."""
    is_small, y = _reflect(x)
    z, product = y + _SHIFT, y
    for step in range(1, _SHIFT):
        product = product * (y + step)
    inverse = z.apply(onnx.ReciprocalOp)
    series = inverse * polynomial(_LOG_GAMMA[::-1], inverse.square())
    upper = (z - 0.5) * z.log() - z + math.log(2 * math.pi) / 2 + series - product.log()
    upper = y.equals(math.inf).where(y, upper)
    sine = (_fraction(x) * math.pi).apply(onnx.SinOp).abs()
    return is_small.where(math.log(math.pi) - sine.log() - upper, upper)


def digamma(x: Value) -> Value:
    """The derivative of log_gamma by the same steps; NaN at the negative integers."""
    is_small, y = _reflect(x)
    z, sum_ = y + _SHIFT, y.apply(onnx.ReciprocalOp)
    for step in range(1, _SHIFT):
        sum_ = sum_ + (y + step).apply(onnx.ReciprocalOp)
    inverse = z.apply(onnx.ReciprocalOp)
    series = inverse.square() * polynomial(_DIGAMMA[::-1], inverse.square())
    upper = z.log() - 0.5 * inverse + series - sum_
    angle = _fraction(x) * math.pi
    reflected = upper - math.pi * angle.apply(onnx.CosOp) / angle.apply(onnx.SinOp)
    is_pole = (x < 0) & x.equals(x.apply(onnx.RoundOp))
    return is_pole.where(x * math.nan, is_small.where(reflected, upper))
