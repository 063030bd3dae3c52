"""Lower and upper bounds of sizes, given that names and fresh symbols are non-negative."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dialects.shapes.forms import (
    MAX_DEPTH,
    Atom,
    Extreme,
    Form,
    Monomial,
    Quotient,
    Size,
    terms_of,
)

Bound = int | float
"""A number, or an infinity of the floats."""

Interval = tuple[Bound, Bound]


def is_at_least(form: Form, least: int) -> bool:
    """Return whether all values of a form are provably `least` or more; False if that is unknown."""
    return lower(form) >= least


def lower(form: Form) -> Bound:
    """Return a lower bound of the form's values; -inf if none is found."""
    return form if isinstance(form, int) else _lower(form)


def upper(form: Form) -> Bound:
    """Return an upper bound of the form's values; inf if none is found."""
    return -lower(-form)


@lru_cache(2**12)
def _lower(size: Size) -> Bound:
    return max(interval(size)[0], _relax(size, lambda factor: True), _relax(size, lambda factor: factor < 0))


@lru_cache(2**12)
def interval(form: Form) -> Interval:
    """Return the sum of the bounds of each term."""
    low: Bound = 0
    high: Bound = 0
    for monomial, factor in terms_of(form):
        bounds: Interval = (factor, factor)
        for atom in monomial:
            bounds = _product(bounds, _of_atom(atom))
        low, high = low + bounds[0], high + bounds[1]
    return low, high


def _product(a: Interval, b: Interval) -> Interval:
    # 0 times infinity is 0: an infinite end is never reached
    corners = [x * y if x and y else 0 for x in a for y in b]
    return min(corners), max(corners)


def _of_atom(atom: Atom) -> Interval:
    if isinstance(atom, Quotient):
        return _of_quotient(atom)
    if isinstance(atom, Extreme):
        best: Callable[..., Bound] = min if atom.function == "min" else max
        return best(map(lower, atom.forms)), best(map(upper, atom.forms))
    return 0, math.inf


def _of_quotient(atom: Quotient) -> Interval:
    low, high = lower(atom.dividend), upper(atom.dividend)
    if isinstance(atom.divisor, int):
        return _floor(low, atom.divisor), _floor(high, atom.divisor)
    if lower(atom.divisor) < 0:
        return -math.inf, math.inf
    # the quotient is defined for divisors >= 1 only
    return (0 if low >= 0 else low), (high if high >= 0 else -1)


def _floor(bound: Bound, divisor: int) -> Bound:
    return bound // divisor if isinstance(bound, int) else bound


def _relax(size: Size, chosen: Callable[[Fraction], bool]) -> Bound:
    """Return a lower bound with quotients by numbers relaxed to fractions: a - n + 1 <= n (a//n) <= a.

    This proves `N - 2*(N//2) >= 0`, whose separate terms have no bound.
    """
    terms: Counter[Monomial] = Counter()
    waiting = [(monomial, Fraction(factor)) for monomial, factor in size.terms]
    for _ in range(MAX_DEPTH * len(size.terms) ** 2):
        if not waiting:
            break
        monomial, factor = waiting.pop()
        inner = monomial[0] if len(monomial) == 1 else None
        if not isinstance(inner, Quotient) or not isinstance(inner.divisor, int) or not chosen(factor):
            terms[monomial] += factor  # pyright: ignore[reportArgumentType]
            continue
        part = factor / inner.divisor
        waiting += [(m, part * f) for m, f in terms_of(inner.dividend)]
        if factor > 0:
            waiting.append(((), -part * (inner.divisor - 1)))
    if waiting:
        return -math.inf
    total: Bound | Fraction = 0
    for monomial, factor in terms.items():
        bounds: Interval = (1, 1)
        for atom in monomial:
            bounds = _product(bounds, _of_atom(atom))
        end = bounds[0] if factor > 0 else bounds[1]
        total += factor * end if factor and end else 0
    return total if isinstance(total, float) else math.ceil(total)
