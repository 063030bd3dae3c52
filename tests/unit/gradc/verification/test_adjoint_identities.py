"""Inner products of cotangents and tangents, against plain numpy."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.verification.adjoint_identities import PART, Balance, InnerProducts, add_open
from gradc.verification.tangents import Tangent


@pytest.mark.parametrize("size", [0, 1, PART - 1, PART, 2 * PART + 3])
def test_an_inner_product_and_its_norm(size: int):
    generator = np.random.default_rng(size)
    cotangent, tangent = generator.standard_normal((2, size))
    found = InnerProducts(cotangent).along(tangent)
    assert found.total == pytest.approx(np.dot(cotangent, tangent))
    assert found.norm == pytest.approx(np.linalg.norm(cotangent * tangent))


def test_arrays_of_different_strides():
    cotangent, tangent = np.random.default_rng(0).standard_normal((2, 3, 4, 5))
    found = InnerProducts(cotangent.T).along(np.ascontiguousarray(tangent.T))
    assert found.total == pytest.approx((cotangent * tangent).sum())


def test_an_infinite_cotangent_counts_only_where_the_tangent_moves():
    found = InnerProducts(np.array([np.inf, 2.0])).along(np.array([0.0, 3.0]))
    assert (found.total, found.norm) == (6.0, 6.0)


def test_elements_outside_of_a_mask_do_not_count():
    products = InnerProducts(np.array([2.0, 5.0]))
    tangent = np.array([3.0, 7.0])
    assert products.along(tangent).total == 41.0
    assert products.along(tangent, np.array([True, False])).total == 6.0


def test_tangents_are_told_apart():
    products = InnerProducts(np.array([2.0]))
    assert [products.along(np.array([x])).total for x in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert products.along(None).total == 0.0


def test_the_noise_of_finite_terms():
    balance, errors = Balance(), np.array([1.0, np.inf, 2.0])
    add_open(balance, np.array([3.0, 1.0, 2.0]), Tangent(np.zeros(3), errors))
    assert balance.noise == pytest.approx(5.0)


def test_terms_whose_squares_are_no_floats_are_no_error():
    balance = Balance(contributes=True, moved=True)
    balance.contributed.add(np.array([1.5e-100]), np.array([1e-62]))
    balance.passed.add(np.array([1.5e-90]), np.array([1.00001e-72]))
    assert balance.norm == 0.0 != balance.difference
    assert balance.verdict() == "idle"
