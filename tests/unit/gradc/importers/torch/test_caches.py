"""Functions with a cache of functools: what a capture computes is not left in it."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")

import gradc  # noqa: E402


@functools.lru_cache
def table(size: int) -> Any:
    return torch.arange(size).float() + 1


def scaled(x: Any) -> Any:
    return x * table(x.shape[0])


@pytest.mark.parametrize("shapes", [None, ({0: "N"},)], ids=["fixed", "dynamic"])
def test_a_cached_table(shapes: Any):
    table.cache_clear()
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = gradc.torch.export(scaled, (x,), dynamic_shapes=shapes)
    more = np.ones(3 if shapes is None else 5, np.float32)
    assert (compiled.run({"x": more})["output"] == np.arange(len(more)) + 1).all()
    assert scaled(x).tolist() == [1, 4, 9]


def test_what_was_cached_before_stays():
    table.cache_clear()
    own = table(3)
    gradc.torch.export(scaled, (torch.ones(3),))
    assert table(3) is own
