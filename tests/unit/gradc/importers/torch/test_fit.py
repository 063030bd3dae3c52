"""Expressions of sizes, found from their values at a few sizes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest

from dialects.aten.ratios import Ratio
from dialects.shapes.forms import Size, name
from dialects.shapes.sizes import floordiv, substitute
from gradc.importers.torch.fit import Fitter

TRACES = [
    {"N": 5, "M": 7},
    {"N": 41, "M": 44},
    {"N": 52, "M": 38},
    {"N": 69, "M": 77},
    {"N": 4112, "M": 4144},
]
FRESH = [{"N": n, "M": m} for n, m in ((8, 11), (15, 9), (16, 16), (100, 33), (127, 640))]

INTEGERS: dict[str, Callable[[int, int], int]] = {
    "constant": lambda n, m: 3,
    "dim": lambda n, m: m,
    "affine": lambda n, m: 3 * n - 4,
    "product": lambda n, m: 4 * n * m,
    "square": lambda n, m: n * n,
    "pairs": lambda n, m: n * (n - 1) // 2,
    "sum": lambda n, m: 2 * n + m + 1,
    "difference": lambda n, m: n * n - m,
    "half": lambda n, m: n // 2,
    "half, negative": lambda n, m: -(n // 2),
    "ceiling": lambda n, m: (n + 1) // 2,
    "scaled": lambda n, m: 3 * n // 2,
    "padding": lambda n, m: -n % 8,
    "at most": lambda n, m: min(n, 50),
    "at least": lambda n, m: max(n - 6, 0),
    "smaller": lambda n, m: min(n, m),
}


def number(form: int | Size | float, sizes: dict[str, int]) -> float:
    found = substitute(form, sizes) if isinstance(form, Size) else form
    assert isinstance(found, int | float)
    return found


@pytest.mark.parametrize("case", INTEGERS)
def test_an_integer_is_right_at_sizes_that_were_not_traced(case: str):
    expected = INTEGERS[case]
    form = Fitter(TRACES).integer([expected(trace["N"], trace["M"]) for trace in TRACES])
    assert form is not None
    for sizes in FRESH:
        assert number(form, sizes) == expected(sizes["N"], sizes["M"])


@pytest.mark.parametrize("case", ["chaos", "root", "logarithm", "fourth power", "flag", "parity"])
def test_other_integers_have_no_expression(case: str):
    draw = random.Random(0)
    values = {
        "chaos": lambda n: draw.randrange(1000),
        "root": math.isqrt,
        "logarithm": lambda n: n.bit_length(),
        "fourth power": lambda n: n**4,
        "flag": lambda n: 1 if n > 1000 else 2,
        "parity": lambda n: (n + 1) % 2,
    }[case]
    assert Fitter(TRACES).integer([values(trace["N"]) for trace in TRACES]) is None


def test_sizes_of_operands_are_factors():
    near = [floordiv(name("N") + 1, 2), name("M") + 3]
    values = [((t["N"] + 1) // 2) * (t["M"] + 3) * t["M"] for t in TRACES]
    form = Fitter(TRACES).integer(values, near)
    assert form is not None
    assert all(number(form, t) == ((t["N"] + 1) // 2) * (t["M"] + 3) * t["M"] for t in FRESH)


REALS: dict[str, Callable[[int, int], float]] = {
    "mean": lambda n, m: 1 / n,
    "scale": lambda n, m: 0.25 * n,
    "unbiased": lambda n, m: n / (n - 1),
    "pairs": lambda n, m: 2.0 / (n * m),
    "reciprocal": lambda n, m: 2 / (3 * n - 1),
    "whole": lambda n, m: float(n),
}


@pytest.mark.parametrize("case", REALS)
def test_a_float_is_a_quotient(case: str):
    expected = REALS[case]
    found = Fitter(TRACES).real([expected(trace["N"], trace["M"]) for trace in TRACES])
    assert isinstance(found, Ratio)
    for sizes in FRESH:
        value = number(found.dividend, sizes) / number(found.divisor, sizes)
        assert value == pytest.approx(expected(sizes["N"], sizes["M"]), rel=1e-12)


@pytest.mark.parametrize("case", [math.sqrt, math.log, lambda n: math.nan])
def test_other_floats_have_no_expression(case: Callable[[int], float]):
    assert Fitter(TRACES).real([case(trace["N"]) for trace in TRACES]) is None
