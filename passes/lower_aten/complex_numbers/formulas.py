"""Rules of complex tensors by formulas of their parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from xdsl.dialects.builtin import f64

from dialects.onnx import ops as onnx
from passes.builder.values import Builder, Value
from passes.lower_aten import float64_functions as double
from passes.lower_aten.complex_numbers.call import ComplexCall, ComplexRule
from passes.lower_aten.complex_numbers.pair import Pair, unit
from passes.lower_aten.promotion import BOOL, category
from passes.lower_aten.rules.arithmetic import angle_of

MOST_MULTIPLIED = 8
"""Largest exponent of a power that is a product."""


def add(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.self) + _scale(f, f.other)


def subtract(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.self) - _scale(f, f.other)


def subtract_reversed(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.other) - _scale(f, f.self)


def _scale(f: ComplexCall, given: Any) -> Pair:
    return _times(f, f.alpha, f.pair(given))


def _times(f: ComplexCall, factor: complex, z: Pair) -> Pair:
    return z if factor == 1 else f.pair(factor) * z


def multiply(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.self) * f.pair(f.other)


def divide(f: ComplexCall, e: Builder) -> Pair:
    return f.pair(f.self) / f.pair(f.other)


def add_product(f: ComplexCall, e: Builder) -> Pair:
    """self + value * tensor1 * tensor2."""
    return f.pair(f.self) + _times(f, f.value, f.pair(f.tensor1) * f.pair(f.tensor2))


def add_quotient(f: ComplexCall, e: Builder) -> Pair:
    """self + value * tensor1 / tensor2."""
    return f.pair(f.self) + _times(f, f.value, f.pair(f.tensor1) / f.pair(f.tensor2))


def matrix_product(first: str, second: str, *, conjugates: bool = False) -> ComplexRule:
    """Return the rule of a matrix product of two arguments."""

    def rule(f: ComplexCall, e: Builder) -> Pair:
        x, y = f.pair(getattr(f, first)), f.pair(getattr(f, second))
        return (x.conjugate() if conjugates else x) @ y

    return rule


def _multiply_add(f: ComplexCall, product: Pair) -> Pair:
    """Return beta * self + alpha * product."""
    found = _times(f, f.alpha, product)
    return found if f.beta == 0 else _times(f, f.beta, f.pair(f.self)) + found


def multiply_add(first: str, second: str) -> ComplexRule:
    """Return the rule of beta * self + alpha * a matrix product."""

    def rule(f: ComplexCall, e: Builder) -> Pair:
        return _multiply_add(f, f.pair(getattr(f, first)) @ f.pair(getattr(f, second)))

    return rule


def add_outer_product(f: ComplexCall, e: Builder) -> Pair:
    """beta * self + alpha * vec1[:, None] * vec2."""
    column = f.pair(f.vec1).map(lambda part: part.unsqueeze([1]))
    return _multiply_add(f, column * f.pair(f.vec2))


def add_products(f: ComplexCall, e: Builder) -> Pair:
    """beta * self + alpha * the sum of the products of a batch."""
    return _multiply_add(f, (f.pair(f.batch1) @ f.pair(f.batch2)).map(lambda part: part.sum_axes([0])))


def cast(f: ComplexCall, e: Builder) -> Value | Pair:
    """Another dtype; a real one has the real part, a boolean whether the number is not 0."""
    if f.is_complex:
        return f.pair(f.self)
    if category(f.dtype) == BOOL:
        return f.self.size().equals(0).apply(onnx.NotOp)
    return f.self.real().cast(f.dtype)


def absolute(f: ComplexCall, e: Builder) -> Value:
    return f.self.size()


def angle(f: ComplexCall, e: Builder) -> Value:
    return angle_of(f.self.imag(), f.self.real())


def sign(f: ComplexCall, e: Builder) -> Pair:
    """z / |z|; 0 for 0."""
    size = f.self.size()
    is_zero = size.equals(0)
    return f.self.over(is_zero.where(e.scalar(1, size), size))


def equal(f: ComplexCall, e: Builder) -> Value:
    x, y = (_pair(f, one) for one in (f.self, f.other))
    return x.real().equals(y.real()) & x.imag().equals(y.imag())


def not_equal(f: ComplexCall, e: Builder) -> Value:
    return equal(f, e).apply(onnx.NotOp)


def _pair(f: ComplexCall, given: Any) -> Pair:
    """Return an operand of a comparison, whose result has no dtype of parts."""
    if isinstance(given, Pair):
        return given
    like = next(one.some for one in f.arguments.values() if isinstance(one, Pair))
    if isinstance(given, Value):
        return Pair(given.cast(like.dtype), None)
    number = complex(given)
    return Pair(f.e.scalar(number.real, like), f.e.scalar(number.imag, like))


def is_nan(f: ComplexCall, e: Builder) -> Value:
    re, im = (part.apply(onnx.IsNaNOp) for part in (f.self.real(), f.self.imag()))
    return re.apply(onnx.OrOp, im)


def _exp(z: Pair) -> Pair:
    if z.im is None:
        return Pair(z.real().exp(), None)
    turn = unit(z.im)
    return turn if z.re is None else turn.times(z.re.exp())


def _log(z: Pair) -> Pair:
    return Pair(z.size().log(), angle_of(z.imag(), z.real()))


def _sqrt(z: Pair) -> Pair:
    """The root with a real part that is not negative."""
    re, im = z.real(), z.imag()
    large = ((z.size() + re.abs()) * 0.5).sqrt()
    is_zero = large.equals(0)
    small = is_zero.where(large, im.abs() / (2 * is_zero.where(large.e.scalar(1, large), large)))
    is_left = re < 0
    height = is_left.where(large, small)
    return Pair(is_left.where(small, large), (im < 0).where(-height, height))


def _cosh(x: Value) -> Value:
    return double.cosh(x) if x.dtype == f64 else x.apply(onnx.CoshOp)


def _sinh(x: Value) -> Value:
    return double.sinh(x) if x.dtype == f64 else x.apply(onnx.SinhOp)


def _complex_sinh(z: Pair) -> Pair:
    turn = unit(z.imag())
    return Pair(turn.real() * _sinh(z.real()), turn.imag() * _cosh(z.real()))


def _complex_cosh(z: Pair) -> Pair:
    turn = unit(z.imag())
    return Pair(turn.real() * _cosh(z.real()), turn.imag() * _sinh(z.real()))


def _sin(z: Pair) -> Pair:
    return -_complex_sinh(z.turn()).turn()


def _cos(z: Pair) -> Pair:
    return _complex_cosh(z.turn())


def _one(z: Pair) -> Pair:
    return Pair(z.some.e.scalar(1, z.some), None)


def _reciprocal(z: Pair) -> Pair:
    return _one(z) / z


def _tanh(z: Pair) -> Pair:
    """(1 - q) / (1 + q) with q = e^(-2z), of the half plane where q is small."""
    is_left = z.real() < 0
    right = Pair(z.real().abs(), is_left.where(-z.imag(), z.imag()))
    q = _exp(right.times(-2))
    found = (_one(z) - q) / (_one(z) + q)
    return Pair(*(is_left.where(-part, part) for part in (found.real(), found.imag())))


def _tan(z: Pair) -> Pair:
    return -_tanh(z.turn()).turn()


def _sigmoid(z: Pair) -> Pair:
    return _reciprocal(_one(z) + _exp(-z))


def formula(of: Callable[[Pair], Pair]) -> ComplexRule:
    """Return the rule of a function of `self`."""
    return lambda f, e: of(f.pair(f.self))


def power(f: ComplexCall, e: Builder) -> Pair:
    """self ** exponent; of small whole exponents by products."""
    if _is_whole(f.exponent) and isinstance(f.self, Pair):
        found = _whole_power(f.pair(f.self), abs(int(f.exponent)))
        return _reciprocal(found) if f.exponent < 0 else found
    base, exponent = f.pair(f.self), f.pair(f.exponent)
    found = _exp(exponent * _log(base))
    zeros = base.size().equals(0), exponent.size().equals(0)
    return Pair(*(_power_of_zeros(part, zeros, at) for part, at in ((found.real(), 1), (found.imag(), 0))))


def _power_of_zeros(part: Value, zeros: tuple[Value, Value], at_zero: float) -> Value:
    """Return a part with that of 0 ** x, 0, and of x ** 0, 1."""
    is_zero, is_zeroth = zeros
    nothing, whole = part.e.scalar(0, part), part.e.scalar(at_zero, part)
    return is_zeroth.where(whole, is_zero.where(nothing, part))


def _is_whole(exponent: Any) -> bool:
    is_number = isinstance(exponent, int | float) and math.isfinite(exponent)
    return is_number and float(exponent).is_integer() and abs(exponent) <= MOST_MULTIPLIED


def _whole_power(z: Pair, exponent: int) -> Pair:
    if exponent == 0:
        return Pair(z.some.e.fill_like(1, z.some), None)
    half = _whole_power(z, exponent // 2) if exponent > 1 else None
    square = z if half is None else half * half
    return square * z if half is not None and exponent % 2 else square


FORMULAS: Mapping[str, ComplexRule] = MappingProxyType(
    {
        **dict.fromkeys(("add.Tensor", "add.Scalar"), add),
        **dict.fromkeys(("sub.Tensor", "sub.Scalar"), subtract),
        **dict.fromkeys(("rsub.Tensor", "rsub.Scalar"), subtract_reversed),
        **dict.fromkeys(("mul.Tensor", "mul.Scalar"), multiply),
        **dict.fromkeys(("div.Tensor", "div.Scalar"), divide),
        **dict.fromkeys(("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar"), power),
        **dict.fromkeys(("eq.Tensor", "eq.Scalar"), equal),
        **dict.fromkeys(("ne.Tensor", "ne.Scalar"), not_equal),
        "addcmul.default": add_product,
        "addcdiv.default": add_quotient,
        "mm.default": matrix_product("self", "mat2"),
        "bmm.default": matrix_product("self", "mat2"),
        "mv.default": matrix_product("self", "vec"),
        "dot.default": matrix_product("self", "tensor"),
        "vdot.default": matrix_product("self", "other", conjugates=True),
        "matmul.default": matrix_product("self", "other"),
        "addbmm.default": add_products,
        "addr.default": add_outer_product,
        "addmm.default": multiply_add("mat1", "mat2"),
        "baddbmm.default": multiply_add("batch1", "batch2"),
        "addmv.default": multiply_add("mat", "vec"),
        "_to_copy.default": cast,
        "abs.default": absolute,
        "angle.default": angle,
        "sgn.default": sign,
        "isnan.default": is_nan,
        "exp.default": formula(_exp),
        "log.default": formula(_log),
        "log2.default": formula(lambda z: _log(z).times(1 / math.log(2))),
        "log10.default": formula(lambda z: _log(z).times(1 / math.log(10))),
        "sqrt.default": formula(_sqrt),
        "rsqrt.default": formula(lambda z: _reciprocal(_sqrt(z))),
        "reciprocal.default": formula(_reciprocal),
        "square.default": formula(lambda z: z * z),
        "sin.default": formula(_sin),
        "cos.default": formula(_cos),
        "tan.default": formula(_tan),
        "sinh.default": formula(_complex_sinh),
        "cosh.default": formula(_complex_cosh),
        "tanh.default": formula(_tanh),
        "sigmoid.default": formula(_sigmoid),
    }
)
"""ATen op with overload -> its rule for complex tensors."""
