"""The vectorised error function against that of the C library."""

from __future__ import annotations

import math

import numpy as np

from dialects.onnx.numpy.error_function import erf


def test_it_is_within_two_units_of_the_last_place():
    chance = np.random.default_rng(0)
    wide, tiny = chance.uniform(-6.5, 6.5, 60_000), 10.0 ** chance.uniform(-300, 0, 20_000)
    x = np.concatenate([wide, tiny, -tiny, np.arange(-1600, 1601) / 512])
    expected = np.array([math.erf(each) for each in x.tolist()])
    # the C library's own result may be one unit off
    assert np.max(np.abs(erf(x) - expected) / np.spacing(np.abs(expected))) <= 3


def test_signs_infinities_and_what_is_no_number():
    x = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, 40.0]])
    with np.errstate(invalid="ignore"):
        found = erf(x)
    np.testing.assert_array_equal(found, [[0, 0, 1], [-1, np.nan, 1]])
    np.testing.assert_array_equal(np.signbit(found[0]), [False, True, False])
    assert erf(np.zeros((0, 3))).shape == (0, 3)
    assert erf(np.array(0.5)).shape == ()
