"""Complex values as real and imaginary parts, and their arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from dialects.onnx import ops as onnx
from passes.builder.values import Value

Part: TypeAlias = Value | None
"""A real or an imaginary part; None is 0."""


@dataclass(frozen=True)
class Pair:
    """A complex value. Its parts broadcast to its shape; one of them is not None."""

    re: Part
    im: Part

    @property
    def some(self) -> Value:
        """A part that is not None, for its dtype and builder."""
        found = self.im if self.re is None else self.re
        assert found is not None, "a pair without parts"
        return found

    def real(self) -> Value:
        """Return the real part."""
        return self.some.e.fill_like(0, self.some) if self.re is None else self.re

    def imag(self) -> Value:
        """Return the imaginary part."""
        return self.some.e.fill_like(0, self.some) if self.im is None else self.im

    def map(self, of: Callable[[Value], Value]) -> Pair:
        """Return the pair with a function applied to each part that is not 0."""
        return Pair(*(None if part is None else of(part) for part in (self.re, self.im)))

    def conjugate(self) -> Pair:
        """Return the pair with the other sign of its imaginary part."""
        return Pair(self.re, negative(self.im))

    def turn(self) -> Pair:
        """Return i z."""
        return Pair(negative(self.im), self.re)

    def swap_parts(self) -> Pair:
        """Return i times the conjugate."""
        return Pair(self.im, self.re)

    def __neg__(self) -> Pair:
        return self.map(lambda part: -part)

    def __add__(self, other: Pair) -> Pair:
        return Pair(total(self.re, other.re), total(self.im, other.im))

    def __sub__(self, other: Pair) -> Pair:
        return Pair(difference(self.re, other.re), difference(self.im, other.im))

    def __mul__(self, other: Pair) -> Pair:
        re = total(product(self.re, other.re), negative(product(self.im, other.im)))
        im = total(product(self.re, other.im), product(self.im, other.re))
        return Pair(re, im)

    def __truediv__(self, other: Pair) -> Pair:
        if other.im is None:
            return self.over(other.real())
        return (self * other.conjugate()).over(other.square_of_size())

    def __matmul__(self, other: Pair) -> Pair:
        re = total(matrix_product(self.re, other.re), negative(matrix_product(self.im, other.im)))
        im = total(matrix_product(self.re, other.im), matrix_product(self.im, other.re))
        return Pair(re, im)

    def times(self, factor: Value | float) -> Pair:
        """Return the product with a real number."""
        return self.map(lambda part: part * factor)

    def over(self, divisor: Value) -> Pair:
        """Return the quotient by a real value."""
        return self.map(lambda part: part / divisor)

    def square_of_size(self) -> Value:
        """Return re * re + im * im."""
        found = total(product(self.re, self.re), product(self.im, self.im))
        assert found is not None
        return found

    def size(self) -> Value:
        """Return the absolute value."""
        if self.re is None or self.im is None:
            return self.some.abs()
        return self.square_of_size().sqrt()


def total(a: Part, b: Part) -> Part:
    """Return the sum of two parts."""
    if a is None or b is None:
        return b if a is None else a
    return a + b


def difference(a: Part, b: Part) -> Part:
    """Return the difference of two parts."""
    return negative(b) if a is None else a if b is None else a - b


def product(a: Part, b: Part) -> Part:
    """Return the product of two parts."""
    return None if a is None or b is None else a * b


def matrix_product(a: Part, b: Part) -> Part:
    """Return the matrix product of two parts."""
    return None if a is None or b is None else a @ b


def negative(a: Part) -> Part:
    """Return a part with the other sign."""
    return None if a is None else -a


def unit(angle: Value) -> Pair:
    """Return e^(i angle)."""
    return Pair(angle.apply(onnx.CosOp), angle.apply(onnx.SinOp))
