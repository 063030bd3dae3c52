"""Right gradients are never found to be wrong: random graphs, small problems of each op, onnx's node cases.

Heavy runs print how many gradients the check did not decide, and why, and how many gradc refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from support.injected_faults import undecided
from support.onnx_node_cases import Case, cases, module_of
from support.proof.random_graphs import random_graph
from support.vjp_problems import module_of as module_of_problem
from support.vjp_problems import problems
from xdsl.dialects.builtin import ModuleOp

import gradc
from dialects.onnx.ops import op_names
from dialects.support.diagnostics import GradcError
from dialects.support.entry import entry_function, output_names, return_op, set_names
from passes.autodiff.activity.active_values import is_float
from passes.autodiff.activity.non_differentiable import ZERO_BY_DEFINITION

QUICK, MANY, CHUNK = 12, 320, 10


def remarks_of(module: ModuleOp) -> list[str] | None:
    """What the check of the gradient of all float results did not decide; None for a module that has no
    gradient or that gradc refuses. Raises CheckError for a false alarm."""
    function = entry_function(module)
    results = zip(output_names(function), return_op(function).arguments, strict=True)
    of = [name for name, value in results if is_float(value)]
    if not of or not any(map(is_float, function.args)):
        return None
    try:
        return undecided(gradc.vjp(module, of=of, check=True, allow_unused=True))
    except gradc.CheckError:
        raise
    except GradcError:
        return None


def report(capsys: pytest.CaptureFixture[str], found: Mapping[str, list[str] | None]) -> None:
    lines = [f"{name}: {'; '.join(remarks)}" for name, remarks in found.items() if remarks]
    refused = sum(remarks is None for remarks in found.values())
    with capsys.disabled():
        print("\n".join([f"\n{len(found)} gradients, {refused} refused, {len(lines)} not decided", *lines]))


@pytest.mark.sweep(parts=4)
@pytest.mark.parametrize("seed", range(QUICK))
def test_a_random_graph(seed: int):
    assert not undecided(random_graph(seed).gradient(check=True))


@pytest.mark.heavy
@pytest.mark.parametrize("first", range(QUICK, MANY, CHUNK))
def test_random_graphs(first: int, capsys: pytest.CaptureFixture[str]):
    seeds = range(first, first + CHUNK)
    report(capsys, {f"seed {seed}": undecided(random_graph(seed).gradient(check=True)) for seed in seeds})


PROBLEMS = list(problems())


@pytest.mark.heavy
@pytest.mark.parametrize("op", sorted({problem.op for problem in PROBLEMS}))
def test_the_problems_of_an_op(op: str, capsys: pytest.CaptureFixture[str]):
    own = [problem for problem in PROBLEMS if problem.op == op]
    report(capsys, {str(one): remarks_of(module_of_problem(one, np.float32)[0]) for one in own})


@pytest.mark.heavy
@pytest.mark.parametrize("op", [name for name in op_names() if name not in ZERO_BY_DEFINITION])
def test_the_node_cases_of_an_op(op: str, capsys: pytest.CaptureFixture[str]):
    report(capsys, {case.name: remarks_of(named_module(case)) for case in cases()[op]})


def named_module(case: Case) -> ModuleOp:
    """The module of a node case, with names of inputs and results."""
    module = module_of(case)
    function = entry_function(module)
    inputs, results = function.args, return_op(function).arguments
    set_names(function, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(results))])
    return module
