"""How resizes sample an axis: against exact fractions, and against the library's measured results."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialects.grad.reference.resize import (
    HALF,
    Axis,
    Coordinate,
    _taps,
    resize_backward,
    scale_coordinate,
    size_coordinate,
)
from dialects.grad.sampling import (
    INTERPOLATIONS,
    STEP_DENOMINATOR,
    AxisSampling,
    ResizeRule,
    scale_step,
    size_step,
)

SIZES = range(1, 25)
MODES = ("half_pixel", "align_corners", "asymmetric")
RULES = [ResizeRule(i, m) for i in INTERPOLATIONS for m in MODES]
EACH_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda r: f"{r.interpolation}-{r.coordinate_mode}")


def oracle_matrix(x: int, y: int, coordinate: Callable[[int], Fraction], interpolation: str) -> np.ndarray:
    """The gradient of each output position by itself is that row of the matrix."""
    return resize_backward(np.eye(y), [Axis(1, x, coordinate, interpolation)])


@cache
def matrix(x: int, y: int, rule: ResizeRule) -> np.ndarray:
    return rule.sampling(x, y).matrix()


@EACH_RULE
def test_equals_the_oracle(rule: ResizeRule):
    for x in SIZES:
        for y in SIZES:
            expected = oracle_matrix(x, y, size_coordinate(rule.coordinate_mode, x, y), rule.interpolation)
            np.testing.assert_allclose(matrix(x, y, rule), expected, rtol=0, atol=1e-15, err_msg=f"{x}, {y}")


@EACH_RULE
def test_rows_are_weights(rule: ResizeRule):
    for x in SIZES:
        for y in SIZES:
            m = matrix(x, y, rule)
            assert m.shape == (y, x)
            assert m.min() >= 0
            np.testing.assert_allclose(m.sum(axis=1), 1, rtol=0, atol=1e-15)
            assert (np.count_nonzero(m, axis=1) <= (2 if rule.interpolation == "linear" else 1)).all()


@EACH_RULE
def test_monotone(rule: ResizeRule):
    """Output positions sample from left to right."""
    for x in SIZES:
        for y in SIZES:
            centres = matrix(x, y, rule) @ np.arange(x)
            assert (np.diff(centres) >= -1e-12).all()


@EACH_RULE
def test_equal_sizes_are_the_identity(rule: ResizeRule):
    for x in SIZES:
        sampling = rule.sampling(x, x)
        np.testing.assert_array_equal(sampling.matrix(), np.eye(x))
        # for X = Y = 1 align_corners has the step 0, so nobody says so, which costs next to nothing
        assert sampling.is_identity or (x == 1 and rule.coordinate_mode == "align_corners")


def test_a_step_is_no_identity():
    rule = ResizeRule("linear", "half_pixel")
    assert not rule.sampling(4, 4, Fraction(4, 5)).is_identity
    assert not rule.sampling(4, 2).is_identity


def test_nearest_is_the_integer_rule():
    """i = ((2 y + 1) X) div (2 Y), without a float in sight."""
    for x in SIZES:
        for y in SIZES:
            expected = [((2 * i + 1) * x) // (2 * y) for i in range(y)]
            lower, upper, fraction = ResizeRule("nearest_half_up", "half_pixel").sampling(x, y).taps()
            assert lower.tolist() == upper.tolist() == expected
            assert not fraction.any()


@pytest.mark.parametrize(
    ("x", "y"), [(22, 29), (26, 7), (28, 2), (30, 9), (36, 10), (38, 15), (40, 12), (1738, 485)]
)
def test_ties_where_float32_fails(x: int, y: int):
    """Sizes at which the library's float32 puts an exact tie one lower; integers do not."""
    lower, _, _ = ResizeRule("nearest_half_up", "half_pixel").sampling(x, y).taps()
    exact = [math.floor((i + Fraction(1, 2)) * Fraction(x, y)) for i in range(y)]
    assert lower.tolist() == exact
    assert any((2 * i + 1) * x % (2 * y) == 0 for i in range(y))


def test_the_tie():
    """28 -> 2, at output 1: t + 1/2 = 21 exactly."""
    for interpolation, index in (("nearest_half_up", 21), ("nearest_half_down", 20)):
        lower, _, _ = ResizeRule(interpolation, "half_pixel").sampling(28, 2).taps()
        assert lower.tolist() == [index - 14, index]


# Measured on oneDNN 3.13.2: diff_dst is 1, 10, 100, ..


@pytest.mark.parametrize(
    ("x", "y", "gradient"),
    [
        (4, 2, [0, 1, 0, 10]),
        (2, 1, [0, 1]),
        (3, 2, [1, 0, 10]),
        (2, 3, [1, 110]),
        (2, 5, [11, 11100]),
        (3, 4, [1, 110, 1000]),
    ],
)
def test_measured_nearest(x: int, y: int, gradient: list[float]):
    dy = 10.0 ** np.arange(y)
    assert (dy @ matrix(x, y, ResizeRule("nearest_half_up", "half_pixel"))).tolist() == gradient


@pytest.mark.parametrize(
    ("x", "y", "gradient"),
    [
        (2, 4, [33.5, 1077.5]),
        (2, 3, [6, 105]),
        (4, 2, [0.5, 0.5, 5, 5]),
        (3, 2, [0.75, 2.75, 7.5]),
    ],
)
def test_measured_linear(x: int, y: int, gradient: list[float]):
    dy = 10.0 ** np.arange(y)
    np.testing.assert_allclose(dy @ matrix(x, y, ResizeRule("linear", "half_pixel")), gradient)


# Steps


def test_size_step():
    assert size_step("half_pixel", 4, 6) == Fraction(2, 3)
    assert size_step("asymmetric", 4, 6) == Fraction(2, 3)
    assert size_step("align_corners", 4, 7) == Fraction(1, 2)
    assert size_step("align_corners", 4, 1) == 0
    assert size_step("align_corners", 1, 5) == 0


@pytest.mark.parametrize(
    ("scale", "step"), [(2.0, Fraction(1, 2)), (0.5, Fraction(2)), (1.25, Fraction(4, 5)), (1.0, Fraction(1))]
)
def test_scale_step(scale: float, step: Fraction):
    assert scale_step(scale) == step


@given(st.one_of(st.floats(2.0**-11, 2.0**11), st.integers(1, 2**34).map(lambda n: 1 + n / 2**40)))
def test_scale_steps_are_bounded_and_close(scale: float):
    step = scale_step(scale)
    assert step.denominator <= STEP_DENOMINATOR
    assert abs(step - 1 / Fraction(scale)) < Fraction(1, 2**31)
    # what taps() computes in 64 bits
    assert (2 * 2**20 + 1) * step.numerator < 2**63


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric"])
@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e-12, 1e-9, 1e-5, 1e5, 1e30, 1e300])
def test_extreme_scales_overflow_nothing(mode: str, scale: float):
    step = scale_step(scale)
    last = 2**20 - 1
    assert (2 * last + 1) * step.numerator < 2**63
    expected = oracle_matrix(7, 9, scale_coordinate(mode, scale), "linear")
    matrix = ResizeRule("linear", mode).sampling(7, 9, step).matrix()
    np.testing.assert_allclose(matrix, expected, rtol=0, atol=9 * 2.0**-31)


@given(st.floats(2.0**-11, 2.0**7, width=32))
def test_steps_of_float32_scales_are_exact(scale: float):
    assert scale_step(scale) == 1 / Fraction(scale)


@given(st.integers(1, 999), st.integers(0, 2))
def test_decimal_scales_are_the_numbers_that_they_show(digits: int, shift: int):
    scale = digits / 10**shift
    assert scale_step(scale) == Fraction(10**shift, digits)


@pytest.mark.parametrize("mode", ["half_pixel", "asymmetric"])
@given(
    scale=st.one_of(st.floats(0.25, 4.0), st.floats(0.25, 4.0, width=32)),
    x=st.integers(1, 30),
    y=st.integers(1, 30),
)
def test_scales_against_the_oracle(mode: str, scale: float, x: int, y: int):
    rule = ResizeRule("linear", mode)
    expected = oracle_matrix(x, y, scale_coordinate(mode, scale), "linear")
    np.testing.assert_allclose(
        rule.sampling(x, y, scale_step(scale)).matrix(), expected, rtol=0, atol=y * 2.0**-31
    )


@given(st.integers(1, 2000), st.integers(1, 2000), st.sampled_from(RULES))
def test_large_sizes(x: int, y: int, rule: ResizeRule):
    """Taps stay inside, and the fraction is that of the exact coordinate."""
    lower, upper, fraction = rule.sampling(x, y).taps()
    assert lower.min() >= 0
    assert upper.max() <= x - 1
    if rule.interpolation != "linear":
        return
    coordinate = size_coordinate(rule.coordinate_mode, x, y)
    for i in (0, y // 2, y - 1):
        t = min(max(coordinate(i), Fraction(0)), Fraction(x - 1))
        assert lower[i] == math.floor(t)
        assert fraction[i] == float(t - math.floor(t))


STEPS = st.none() | st.floats(1e-9, 1e9).map(scale_step)


@given(st.integers(1, 300), st.integers(1, 300), STEPS, st.sampled_from(RULES))
def test_readers_are_those_of_the_taps(x: int, y: int, step: Fraction | None, rule: ResizeRule):
    """What is computed per input is what counting per output gives."""
    sampling = rule.sampling(x, y, step)
    lower, upper, fraction = sampling.taps()
    inputs = np.arange(-1, x + 2)
    last = np.where(fraction > 0, upper, lower)
    np.testing.assert_array_equal(sampling.beginning(inputs), np.searchsorted(lower, inputs))
    np.testing.assert_array_equal(sampling.reaching(inputs), np.searchsorted(last, inputs))
    first, end = sampling.readers(range(x))
    np.testing.assert_array_equal(end - first, np.count_nonzero(sampling.matrix(), axis=0))


@given(st.integers(1, 60), st.integers(1, 60), STEPS, st.sampled_from(RULES), st.data())
def test_parts_of_the_matrix(x: int, y: int, step: Fraction | None, rule: ResizeRule, data: st.DataObject):
    sampling = rule.sampling(x, y, step)
    rows, columns = (range(*sorted(data.draw(st.tuples(*[st.integers(0, n)] * 2)))) for n in (y, x))
    whole = sampling.matrix()
    np.testing.assert_array_equal(
        sampling.part(rows, columns), whole[rows.start : rows.stop, columns.start : columns.stop]
    )


def test_sampling_is_a_value():
    a = ResizeRule("linear", "half_pixel").sampling(4, 6)
    assert a == AxisSampling(4, 6, Fraction(2, 3), "linear", "half_pixel")
    assert ResizeRule("linear", "align_corners").sampling(4, 6).coordinates == "corner"
    assert ResizeRule("linear", "asymmetric").sampling(4, 6).coordinates == "corner"


def exact_row(coordinate: Coordinate, x: int, interpolation: str, y: int) -> tuple[int, int, Fraction]:
    """(lower neighbour, upper neighbour, weight of the upper) of one output, as the forward op reads it."""
    t, last = coordinate(y), x - 1
    if interpolation == "linear":
        t = min(max(t, Fraction(0)), Fraction(last))
        lower = math.floor(t)
        return lower, min(lower + 1, last), t - lower
    rounded = {
        "nearest_half_up": lambda: math.floor(t + HALF),
        "nearest_half_down": lambda: math.ceil(t - HALF),
        "nearest_floor": lambda: math.floor(t),
    }[interpolation]()
    index = min(max(rounded, 0), last)
    return index, index, Fraction(0)


SCALES = (0.1, 3.3, 1 / 3, 1e-12, 1e12, 7.6e-7, 99.99, float(np.float32(1 / 3)))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_the_oracle_takes_the_taps_of_one_position_after_the_other(interpolation: str):
    """Its arrays, of 64 bits or of Python's integers, hold what fractions give."""
    outputs = 40
    for x in (1, 2, 3, 7, 50, 10**6, 2**25):
        sizes = [size_coordinate(mode, x, y) for mode in MODES for y in (1, 2, 37, outputs, 2**24 + 1)]
        scales = [scale_coordinate(mode, scale) for mode in ("half_pixel", "asymmetric") for scale in SCALES]
        for coordinate in (*sizes, *scales):
            taps = _taps(Axis(0, x, coordinate, interpolation), range(outputs))
            rows = [exact_row(coordinate, x, interpolation, y) for y in range(outputs)]
            expected = [
                [(row[0], float(1 - row[2])) for row in rows],
                [(row[1], float(row[2])) for row in rows],
            ]
            for (positions, weights), wanted in zip(taps, expected, strict=False):
                assert list(zip(positions.tolist(), weights.tolist(), strict=True)) == wanted, coordinate
