"""Right gradients are never found to be wrong: random graphs, small problems of each op, onnx's node cases.

Heavy runs print how many gradients the check could not decide, and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support.injected_faults import undecided
from support.onnx_node_cases import cases, module_of
from support.proof.random_graphs import random_graph
from support.vjp_problems import module_of as module_of_problem
from support.vjp_problems import problems

import gradc
from dialects.onnx.ops import op_names
from dialects.support.diagnostics import GradcError
from passes.vjp.reach.listed import REASONS

QUICK, MANY, CHUNK = 12, 320, 10


def open_remarks(make: Callable[[], gradc.Compiled]) -> list[str]:
    """What the check did not decide. Raises CheckError for a false alarm; models that gradc refuses count as
    decided."""
    try:
        return undecided(make())
    except gradc.CheckError:
        raise
    except GradcError:
        return []


def report(capsys: pytest.CaptureFixture[str], found: Iterable[tuple[str, list[str]]]) -> None:
    rows = list(found)
    lines = [f"{name}: {'; '.join(remarks)}" for name, remarks in rows if remarks]
    with capsys.disabled():
        print("\n".join([f"\n{len(rows)} gradients, {len(lines)} not decided", *lines]))


@pytest.mark.parametrize("seed", range(QUICK))
def test_a_random_graph(seed: int):
    assert not undecided(random_graph(seed).gradient(check=True))


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(QUICK, MANY, CHUNK))
def test_random_graphs(first: int, capsys: pytest.CaptureFixture[str]):
    graphs = {seed: random_graph(seed) for seed in range(first, first + CHUNK)}
    found = [(f"seed {seed}", undecided(graph.gradient(check=True))) for seed, graph in graphs.items()]
    report(capsys, found)


@pytest.mark.heavy
def test_the_problems_of_each_op(capsys: pytest.CaptureFixture[str]):
    def compiled(problem) -> gradc.Compiled:
        return gradc.vjp(module_of_problem(problem, np.float32)[0], check=True, allow_unused=True)

    report(capsys, [(str(one), open_remarks(lambda one=one: compiled(one))) for one in problems()])


@pytest.mark.heavy
@pytest.mark.parametrize("op", [name for name in op_names() if name not in REASONS])
def test_the_node_cases_of_an_op(op: str, capsys: pytest.CaptureFixture[str]):
    def compiled(case) -> gradc.Compiled:
        return gradc.vjp(module_of(case), check=True, allow_unused=True)

    report(capsys, [(case.name, open_remarks(lambda case=case: compiled(case))) for case in cases()[op]])
