"""What a static graph is refused for, a run of a dynamic one is refused for, in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.contradictions import disturbed, refusal, static
from support.generate import seeded
from support.generator import BATCH, SPATIAL
from support.tiers import some

import gradc
from gradc.runtime.session import Session

pytest.importorskip("onnxruntime")

SEEDS = 24


def unwatched(compiled: gradc.Compiled) -> Session:
    """The model on onnxruntime alone: without the graph, gradc does not look at sizes before it runs."""
    model = type(compiled.model).FromString(compiled.model.SerializeToString())
    del model.metadata_props[:]
    return Session(model, threads=1)


def check(seed: int, **options: Any) -> list[str | None]:
    """The refusals of the runs of a random problem: of the static graph, a run, the reference, and of the
    checked model on its own, which gives the unchecked one's bits where there is none."""
    problem = seeded([31, seed], dynamics=(BATCH, SPATIAL), most_ops=2)
    module = problem.module()
    compiled = gradc.compile(module, threads=1, **options)
    checked = unwatched(gradc.compile(module, threads=1, checked=True, **options))
    rng = np.random.default_rng(seed)
    found = []
    for run in range(problem.runs):
        feeds = disturbed(problem, run, rng)
        wanted = refusal(static(problem, feeds).module)
        found.append(wanted)
        context = (problem, {name: array.shape for name, array in feeds.items()}, wanted)
        assert refusal(lambda feeds=feeds: compiled.run(feeds)) == wanted, context
        assert refusal(lambda feeds=feeds: compiled.reference(feeds)) == wanted, context
        if wanted is not None:
            assert refusal(lambda feeds=feeds: checked.run(feeds)) is not None, context
            continue
        for name, array in checked.run(feeds).items():
            np.testing.assert_array_equal(array, compiled.run(feeds)[name], str(context))
    return found


@pytest.mark.sweep
def test_a_run_is_refused_as_a_static_graph_is():
    seeds = some(range(SEEDS), 4)
    found = [wanted for seed in seeds for wanted in check(seed)]
    least = len(seeds) // 2 if len(seeds) == SEEDS else 0
    assert found.count(None) > least
    assert len(found) - found.count(None) > least


@pytest.mark.heavy
@pytest.mark.parametrize("options", [{}, {"opset": 13}, {"target": "portable"}, {"opset": 24}], ids=str)
@pytest.mark.parametrize("seed", range(SEEDS, 400))
def test_more_of_them(seed: int, options: dict[str, Any]):
    check(seed, **options)
