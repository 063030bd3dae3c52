"""The numpy meaning of Resize on long axes: exact, and without a matrix of an axis."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dialects.onnx import numpy
from dialects.onnx.call import Call
from dialects.onnx.numpy import resizes
from dialects.onnx.numpy.resizes import AxisResize, resize_matrix
from dialects.support.limits import LimitError, Limits, using

MODES: list[dict[str, Any]] = [
    {"mode": "nearest", "nearest_mode": "floor"},
    {"mode": "nearest"},
    {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
    {"mode": "cubic", "exclude_outside": 1},
    {"mode": "linear", "antialias": 1},
    {"mode": "cubic", "antialias": 1, "coordinate_transformation_mode": "pytorch_half_pixel"},
]


def resized(data: np.ndarray, size: int, **attributes: Any) -> np.ndarray:
    """Along the last axis."""
    call = Call("Resize", (), {"axes": [data.ndim - 1], **attributes})
    (found,) = numpy.evaluate(call, [data, None, None, np.array([size])], [data.dtype])
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("attributes", MODES)
@pytest.mark.parametrize(("x", "y"), [(20_000, 19_999), (20_000, 3), (3, 20_000)])
def test_takes_memory_of_the_data_alone(attributes: dict[str, Any], x: int, y: int):
    """A matrix of the first would have 3.2 GB."""
    data = np.ones((1, 1, x), np.float32)
    tracemalloc.start()
    try:
        found = resized(data, y, **attributes)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found, 1, rtol=1e-6)
    assert taken < 64 * 2**20


@pytest.mark.parametrize("attributes", MODES)
def test_is_the_same_by_parts_and_with_integers_of_any_size(
    attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
):
    data = np.random.default_rng(0).normal(size=(2, 3, 17)).astype(np.float32)
    expected = [resized(data, y, **attributes) for y in (5, 17, 41)]
    monkeypatch.setattr(resizes, "PART", 7)
    monkeypatch.setattr(resizes, "WORD", 1)
    for y, want in zip((5, 17, 41), expected, strict=True):
        np.testing.assert_array_equal(resized(data, y, **attributes), want)


@pytest.mark.parametrize("attributes", MODES)
def test_the_matrix_is_what_is_applied(attributes: dict[str, Any]):
    axis = AxisResize(attributes, 17, 41, Fraction(41, 17))
    data = np.random.default_rng(0).normal(size=(2, 17))
    np.testing.assert_allclose(axis.of(data, 1), data @ resize_matrix(axis).T, atol=1e-14)


def test_the_matrix_is_not_made_beyond_the_limit():
    with using(Limits(constant_elements=100)), pytest.raises(LimitError, match="constant_elements=697"):
        resize_matrix(AxisResize({}, 17, 41, Fraction(41, 17)))


def test_nearest_moves_integers_as_they_are():
    data = np.array([2**60 + 1, 2**60 + 3])
    np.testing.assert_array_equal(resized(data, 4), np.repeat(data, 2))


def test_what_has_no_weight_has_no_part():
    data = np.array([1, np.inf, 3], np.float32)
    found = resized(data, 5, mode="linear", coordinate_transformation_mode="align_corners")
    np.testing.assert_array_equal(found, [1, np.inf, np.inf, np.inf, 3])
