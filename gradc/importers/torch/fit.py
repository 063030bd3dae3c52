"""Expressions over dims that have given values in all traces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import gcd, isfinite, lcm

from dialects.aten.ratios import Ratio
from dialects.shapes.forms import Form, Size, name
from dialects.shapes.sizes import floordiv, largest, mod, smallest, substitute

MAX_DENOMINATOR = 64
MAX_DIVISOR = 64
MAX_FACTORS = 3

Values = tuple[int, ...]
Known = dict[Values, Form]
"""Values in all traces -> the expression that has them."""


class Fitter:
    """Finds expressions; `traces` are the sizes of the dims in each trace. What was found is found again."""

    def __init__(self, traces: Sequence[Mapping[str, int]]):
        self.traces = traces
        self.count = len(traces)
        self.known: Known = {}
        for dim in traces[0]:
            self.known.setdefault(tuple(trace[dim] for trace in traces), name(dim))
        self.dims: Known = dict(self.known)

    def values_of(self, form: Form) -> Values:
        if not isinstance(form, Size):
            return (form,) * self.count
        found = [substitute(form, trace) for trace in self.traces]
        return tuple(value if isinstance(value, int) else -1 for value in found)

    def learn(self, form: Form) -> None:
        """Add an expression that integers to come may be equal to."""
        if isinstance(form, Size):
            self.known.setdefault(self.values_of(form), form)

    def integer(self, values: Sequence[int], near: Sequence[Form] = ()) -> Form | None:
        """Return an expression with given values, None if none was found.

        `near` are sizes of the op's operands, which are tried before combinations of dims.
        """
        key = tuple(values)
        if len(set(key)) == 1:
            return key[0]
        found = self.known.get(key)
        if found is not None:
            return found
        sign = -1 if max(key) <= 0 else 1  # as of a shift back; the searches expect growth
        found = self._search(tuple(sign * value for value in key), near)
        if found is None:
            return None
        found = found * sign
        self.learn(found)
        return found

    def _search(self, values: Values, near: Sequence[Form]) -> Form | None:
        atoms = {self.values_of(form): form for form in near if isinstance(form, Size)}
        for terms in (atoms, self.dims, {**atoms, **self.dims}):
            products = dict(_products(terms))
            for find in (_affine, _floor, _extreme, _rest):
                found = find(values, products)
                if found is not None:
                    return found
        products = dict(_products({**atoms, **self.dims}))
        return _sum_of_two(values, products)

    def real(
        self, values: Sequence[float], near: Sequence[Form] = (), relative: float = 1e-12
    ) -> Ratio | None:
        """Return a quotient with given values, None if none was found."""
        if not all(map(isfinite, values)):
            return None
        as_integers = [int(value) for value in values]
        if all(value == number for value, number in zip(values, as_integers, strict=True)):
            found = self.integer(as_integers, near)
            return None if found is None else Ratio(found, 1.0)
        atoms = {self.values_of(form): form for form in near if isinstance(form, Size)}
        for key, form in _products({**self.dims, **atoms}):
            found = _quotient(values, key, form, relative)
            if found is not None:
                return found
        return None


def _products(terms: Mapping[Values, Form]) -> Iterator[tuple[Values, Form]]:
    """Yield the products of at most three terms, small ones first."""
    items = list(terms.items())[:12]
    for count in range(1, MAX_FACTORS + 1):
        for factors in combinations_with_replacement(items, count):
            values, form = factors[0]
            for more, other in factors[1:]:
                values = tuple(a * b for a, b in zip(values, more, strict=True))
                form = form * other
            yield values, form


def _affine(values: Values, products: Mapping[Values, Form]) -> Form | None:
    """Return (p x + q) / d, without remainder, for a product x."""
    for key, form in products.items():
        line = _line(key, values)
        if line is not None:
            return _over_one_denominator([(line[0], form)], line[1])
    return None


def _line(xs: Sequence[int], ys: Sequence[float]) -> tuple[Fraction, Fraction] | None:
    """Return slope and constant of the line through all points, None if there is none or x is constant."""
    pairs = sorted(set(zip(xs, ys, strict=True)))
    if len(pairs) < 2 or len({x for x, _ in pairs}) < len(pairs):
        return None
    (x0, y0), (x1, y1) = pairs[0], pairs[-1]
    slope = Fraction(int(y1 - y0), x1 - x0)
    if slope == 0 or slope.denominator > MAX_DENOMINATOR:
        return None
    constant = int(y0) - slope * x0
    if constant.denominator > MAX_DENOMINATOR:
        return None
    return (slope, constant) if all(slope * x + constant == y for x, y in pairs) else None


def _over_one_denominator(terms: Sequence[tuple[Fraction, Form]], constant: Fraction) -> Form:
    denominator = constant.denominator
    for factor, _ in terms:
        denominator = denominator * factor.denominator // gcd(denominator, factor.denominator)
    total: Form = int(constant * denominator)
    for factor, form in terms:
        total = form * int(factor * denominator) + total
    return floordiv(total, denominator)


def _floor(values: Values, products: Mapping[Values, Form]) -> Form | None:
    """Return (p x + k) // d + c, with the smallest d; k = 0 and k = d - 1 are tried first."""
    for key, form in products.items():
        step = max(values) - min(values)
        if not step:
            continue
        slope = (max(key) - min(key)) / step
        for divisor, factor in _slopes(slope):
            scaled = [factor * x for x in key]
            for shift in (0, divisor - 1, *range(1, divisor - 1)):
                offset = values[0] - (scaled[0] + shift) // divisor
                if all((x + shift) // divisor + offset == y for x, y in zip(scaled, values, strict=True)):
                    return floordiv(form * factor + shift, divisor) + offset
    return None


def _slopes(slope: float) -> Iterator[tuple[int, int]]:
    """Yield divisor and factor near a slope: factor 1, as of strides, then small fractions, as of scales."""
    for divisor in range(max(2, int(slope / 2)), min(MAX_DIVISOR, int(slope * 2) + 2) + 1):
        yield divisor, 1
    for divisor in range(2, 9):
        for factor in range(2, 4 * divisor):
            if gcd(divisor, factor) == 1 and abs(divisor / factor - slope) < 0.1 * slope:
                yield divisor, factor


def _rest(values: Values, products: Mapping[Values, Form]) -> Form | None:
    """Return -x mod d or x mod d for a power of two, as of padding to a multiple.

    Other divisors and shifts would fit many a list of small numbers by chance.
    """
    if min(values) < 0 or len(set(values)) < 3:
        return None
    for key, form in list(products.items())[:6]:
        for divisor in (4, 8, 16, 32, 64):
            for sign in (-1, 1):
                if all(sign * x % divisor == y for x, y in zip(key, values, strict=True)):
                    return mod(form * sign, divisor)
    return None


def _extreme(values: Values, products: Mapping[Values, Form]) -> Form | None:
    """Return min(x + k, c), as a slice has, max(x + k, 0), or min(x, y)."""
    items = list(products.items())[:12]
    most, least = max(values), min(values)
    for key, form in items:
        low, high = values[key.index(min(key))] - min(key), values[key.index(max(key))] - max(key)
        if all(min(x + low, most) == y for x, y in zip(key, values, strict=True)):
            return smallest(form + low, most)
        if least == 0 and all(max(x + high, 0) == y for x, y in zip(key, values, strict=True)):
            return largest(form + high, 0)
    for (first, one), (second, two) in combinations(items, 2):
        if all(min(x, y) == z for x, y, z in zip(first, second, values, strict=True)):
            return smallest(one, two)
    return None


def _sum_of_two(values: Values, products: Mapping[Values, Form]) -> Form | None:
    """Return (p x + q y + r) / d, without remainder, for two products x and y."""
    if len(set(values)) < 4:
        return None
    for (first, one), (second, two) in combinations(products.items(), 2):
        found = _plane(first, second, values)
        if found is not None:
            return _over_one_denominator([(found[0], one), (found[1], two)], found[2])
    return None


def _plane(xs: Values, ys: Values, zs: Values) -> tuple[Fraction, Fraction, Fraction] | None:
    """Return p, q, r of z = p x + q y + r, which three traces decide and all must fulfil."""
    a, b = xs[1] - xs[0], ys[1] - ys[0]
    c, d = xs[2] - xs[0], ys[2] - ys[0]
    determinant = a * d - b * c
    if determinant == 0:
        return None
    u, v = zs[1] - zs[0], zs[2] - zs[0]
    p, q = Fraction(u * d - b * v, determinant), Fraction(a * v - u * c, determinant)
    if p == 0 or q == 0 or max(p.denominator, q.denominator) > 2:
        return None
    r = zs[0] - p * xs[0] - q * ys[0]
    if r.denominator > 2:
        return None
    fits = all(p * x + q * y + r == z for x, y, z in zip(xs, ys, zs, strict=True))
    return (p, q, r) if fits else None


def _quotient(values: Sequence[float], key: Values, form: Form, relative: float) -> Ratio | None:
    """Return c x, c / (x + k) or (x + a) / (x + b)."""
    if not all(key):
        return None
    if factor := _constant([value / x for value, x in zip(values, key, strict=True)], relative):
        return _times(form, factor)
    for shift in (0, -1, 1, -2, 2):
        divisor = [x + shift for x in key]
        if not all(divisor):
            continue
        inverse = _inverse(values, key, form, relative) if not shift else None
        if inverse is not None:
            return inverse
        dividend = [value * x for value, x in zip(values, divisor, strict=True)]
        if factor := _constant(dividend, relative):
            return Ratio(factor, form + shift)
        rounded = tuple(round(value) for value in dividend)
        near = all(abs(a - b) <= relative * abs(a) for a, b in zip(dividend, rounded, strict=True))
        line = _line(key, rounded) if near else None
        if line is not None and line[0].denominator == line[1].denominator == 1:
            return Ratio(form * int(line[0]) + int(line[1]), form + shift)
    return None


def _inverse(values: Sequence[float], key: Values, form: Form, relative: float) -> Ratio | None:
    """Return d / (p x + q)."""
    if not all(values):
        return None
    fractions = [Fraction(1 / value).limit_denominator(MAX_DENOMINATOR) for value in values]
    if any(abs(float(f) * value - 1) > 4 * relative for f, value in zip(fractions, values, strict=True)):
        return None
    denominator = lcm(*(fraction.denominator for fraction in fractions))
    line = _line(key, [int(fraction * denominator) for fraction in fractions])
    if line is None or line[0].denominator != 1 or line[1].denominator != 1:
        return None
    return Ratio(float(denominator), form * int(line[0]) + int(line[1]))


def _constant(values: Sequence[float], relative: float) -> float | None:
    """Return the value that all have within a relative bound, without its rounding error if it is short."""
    first = values[0]
    if not all(abs(value - first) <= relative * abs(first) for value in values):
        return None
    short = Fraction(first).limit_denominator(4096)
    return float(short) if abs(float(short) - first) <= relative * abs(first) else first


def _times(form: Form, factor: float) -> Ratio:
    fraction = Fraction(factor).limit_denominator(4096)
    if float(fraction) == factor:
        return Ratio(form * fraction.numerator, float(fraction.denominator))
    return Ratio(form, 1 / factor)
