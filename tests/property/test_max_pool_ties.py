"""The gradient of a maximum goes to the first of equal ones, whichever strategy writes it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import gradc
from dialects.evaluate import evaluate
from gradc.problems import parse_problem
from passes.strategies import by_name

PROBLEMS = (
    "max_pool_backward,f32,NCX,diff_dst=2x3x3x2,src=2x3x6x5,kernel=2x2,strides=2x2",
    "max_pool_backward,f32,NXC,diff_dst=2x3x4x3,src=2x3x4x5,kernel=3x2,strides=1x2,pads_begin=1x1",
    "max_pool_backward,f32,NCX,diff_dst=1x2x3x2x2,src=1x2x5x4x3,kernel=3x2x2,strides=2x2x1,dilations=1x2x1",
)
"""Tiles, windows that overlap, three axes with gaps."""

STRATEGIES = tuple(name for name in by_name() if name.startswith("max-pool-"))
SPECIAL = (np.nan, np.inf, -np.inf)


@pytest.mark.parametrize(("text", "name"), list(product(PROBLEMS, STRATEGIES)))
def test_of_equal_ones_the_first(text: str, name: str):
    """Data of 0 and 1 alone, and rows that are -inf throughout."""
    if name == "max-pool-to-tiles" and text is not PROBLEMS[0]:
        pytest.skip("no tiles")
    problem = parse_problem(text)
    module, rng = problem.module(), np.random.default_rng(5)
    fed = problem.feeds()
    fed["src"] = rng.integers(0, 2, fed["src"].shape).astype(np.float32)
    fed["src"][:, 1:2] = -np.inf
    (want,) = evaluate(module, list(fed.values()))
    (got,) = gradc.compile(module, strategy=name).run(fed).values()
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("text", PROBLEMS)
def test_strictly_what_is_no_number_stays_where_it_is(text: str):
    """NaN and inf in src and in diff_dst."""
    problem = parse_problem(text)
    module, rng = problem.module(), np.random.default_rng(6)
    fed = {
        name: rng.choice([0.0, 1.0, 2.0, *SPECIAL], a.shape).astype(a.dtype)
        for name, a in problem.feeds().items()
    }
    (want,) = evaluate(module, list(fed.values()))
    (got,) = gradc.compile(module, strict_ieee=True).run(fed).values()
    np.testing.assert_array_equal(got, want)
