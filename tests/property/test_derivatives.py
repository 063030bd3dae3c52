"""Every rule of the table of derivatives through the reverse walk, by one property: <u, J v> = <J^T u, v>.

J v is a difference quotient of the op's own numpy kernel in float64, independent of every rule; J^T u is
what `differentiate` writes, executed with numpy. What it writes is differentiated again, and held against
the same.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.onnx.ops import op_names
from dialects.support.entry import entry_function, input_names, set_names
from passes.differentiate import Request, differentiate
from passes.vjp import listed
from passes.vjp.table import BODIES, RULES

STEP = 1e-5


def test_every_op_has_a_rule_or_a_reason():
    """An op that is owed leaves the list as soon as it has a rule."""
    known = set(RULES) | set(BODIES) | set(listed.REASONS) | set(listed.REFUSED) | listed.OWED
    for name in sorted(set(op_names()) - known):
        pytest.fail(f"owed: rule for {name}")
    assert known == set(op_names())
    lists = (RULES, BODIES, listed.REASONS, listed.REFUSED, listed.OWED)
    twice = [name for name in op_names() if sum(name in one for one in lists) > 1]
    assert not twice, f"{twice} stand in two lists of passes/vjp"


def test_every_rule_has_a_problem():
    owed = {*RULES, *BODIES} - {problem.op for problem in problems()}
    assert not owed, f"owed: problem for {', '.join(sorted(owed))} in tests/support/vjp_problems.py"


@pytest.mark.parametrize("problem", list(problems()), ids=str)
def test_a_rule_is_the_adjoint_and_so_is_that_of_what_it_gives(problem: Problem):
    module, inputs = module_of(problem)
    rng = np.random.default_rng(0)
    strict = problem.sizes == "unknown"  # the other form of a mask
    gradient, cotangents = is_adjoint(module, inputs, rng, strict)
    is_adjoint(gradient, [*inputs, *cotangents], rng, strict)


def is_adjoint(
    module: ModuleOp, inputs: list[np.ndarray], rng: np.random.Generator, strict: bool
) -> tuple[ModuleOp, list[np.ndarray]]:
    """Hold the gradient of all results by all floats against differences; it, and its cotangents."""
    module.verify()
    ahead, behind, directions = [], [], []
    for array in inputs:
        direction = rng.normal(size=array.shape) if array.dtype == np.float64 else None
        directions.append(direction)
        ahead.append(array if direction is None else array + STEP * direction)
        behind.append(array if direction is None else array - STEP * direction)
    results = evaluate(module, inputs)
    cotangents = [rng.normal(size=result.shape) for result in results]
    moved = zip(cotangents, evaluate(module, ahead), evaluate(module, behind), strict=True)
    products = [u * (a - b) / (2 * STEP) for u, a, b in moved]
    want, scale = sum(p.sum() for p in products), sum(np.abs(p).sum() for p in products)

    gradient = module.clone()
    names = [f"y{i}" for i in range(len(results))]
    _name_results(gradient, names)
    differentiate(gradient, Request(of=names, cotangents=True, allow_unused=True), strict_ieee=strict)
    gradient.verify()
    found = iter(evaluate(gradient, [*inputs, *cotangents]))
    got = 0.0
    for array, direction in zip(inputs, directions, strict=True):
        if direction is None:
            continue
        one = next(found)
        assert one.shape == array.shape
        assert one.dtype == array.dtype
        got += (one * direction).sum()
    assert abs(want - got) <= 2e-6 * (scale + 1e-3), (want, got)
    return gradient, cotangents


def _name_results(module: ModuleOp, names: list[str]) -> None:
    function = entry_function(module)
    set_names(function, [f"in{i}" for i in range(len(input_names(function)))], names)
