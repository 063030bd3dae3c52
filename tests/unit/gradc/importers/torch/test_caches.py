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


def scale(x: Any) -> Any:
    return x * table(x.shape[0])


@pytest.mark.parametrize("shapes", [None, ({0: "N"},)], ids=["fixed", "dynamic"])
def test_a_cached_table(shapes: Any):
    table.cache_clear()
    x = torch.tensor([1.0, 2.0, 3.0])
    compiled = gradc.torch.export(scale, (x,), dynamic_shapes=shapes)
    more = np.ones(3 if shapes is None else 5, np.float32)
    assert (compiled.run({"x": more})["output"] == np.arange(len(more)) + 1).all()
    assert scale(x).tolist() == [1, 4, 9]


def test_what_was_cached_before_stays():
    table.cache_clear()
    own = table(3)
    gradc.torch.export(scale, (torch.ones(3),))
    assert table(3) is own


TABLES: dict[int, Any] = {}


class OfGlobals(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        if x.shape[0] not in TABLES:
            TABLES[x.shape[0]] = torch.arange(x.shape[0]).float() + 1
        return x * TABLES[x.shape[0]]


class OfClass(torch.nn.Module):
    tables: dict[int, Any] = {}

    def forward(self, x: Any) -> Any:
        if x.shape[0] not in self.tables:
            self.tables[x.shape[0]] = torch.arange(x.shape[0]).float() + 1
        return x * self.tables[x.shape[0]]


def of_attribute(x: Any) -> Any:
    known: Any = of_attribute
    if not hasattr(known, "table"):
        known.table = torch.arange(x.shape[0]).float() + 1
    return x * known.table


@pytest.mark.parametrize(
    "function", [OfGlobals(), OfClass(), of_attribute], ids=["globals", "class", "function"]
)
def test_tables_that_a_call_leaves_are_taken_away(function: Any):
    TABLES.clear()
    compiled = gradc.torch.export(function, (torch.ones(3),))
    assert compiled.run({"x": np.ones(3, np.float32)})["output"].tolist() == [1, 2, 3]
    assert type(function(torch.ones(3))) is torch.Tensor
