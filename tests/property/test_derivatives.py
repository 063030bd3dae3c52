"""Every rule of the table of derivatives through the reverse walk, by one property: <u, J v> = <J^T u, v>.

J v is a difference quotient of the op's own numpy kernel in float64, independent of every rule; J^T u is
what `differentiate` writes, executed with numpy. What it writes is differentiated again, and held against
the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.adjoint import is_adjoint
from support.float64 import evaluate_in_float64
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.onnx.ops import op_names
from passes.autodiff.activity import non_differentiable
from passes.autodiff.control_flow import sequences
from passes.autodiff.table import REGION_RULES, RULES
from passes.decompositions.registry import Reason, table_of


def test_every_op_has_a_rule_or_a_reason():
    """An op without a rule leaves the list as soon as it has a rule."""
    lists = (
        RULES,
        table_of(Reason.GRADIENT),
        REGION_RULES,
        non_differentiable.ZERO_BY_DEFINITION,
        non_differentiable.REFUSED,
        non_differentiable.MISSING,
    )
    known = {name for one in lists for name in one}
    for name in sorted(set(op_names()) - known):
        pytest.fail(f"missing: rule for {name}")
    assert known == set(op_names())
    twice = [name for name in op_names() if sum(name in one for one in lists) > 1]
    assert not twice, f"{twice} stand in two lists of passes/autodiff"


def test_every_rule_has_a_problem():
    of_tensors = {*RULES, *table_of(Reason.GRADIENT)} - {
        *sequences.RULES
    }  # tests/e2e/test_dynamic_sequences.py has those
    without = of_tensors - {problem.op for problem in problems()}
    assert not without, f"missing: problem for {', '.join(sorted(without))} in tests/support/vjp_problems.py"


WITHOUT_F64 = (
    *("CausalConvWithState", "DequantizeLinear", "DynamicQuantizeLinear", "LinearAttention"),
    "RotaryEmbedding",
)
"""They are built and differentiated in f32, and executed in float64."""


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("problem", list(problems()), ids=str)
def test_a_rule_is_the_adjoint_and_so_is_that_of_what_it_gives(problem: Problem):
    narrow = problem.op in WITHOUT_F64
    module, inputs = module_of(problem, np.float32 if narrow else np.float64)
    if narrow:
        inputs = [array.astype(np.float64) if array.dtype == np.float32 else array for array in inputs]
    rng = np.random.default_rng(0)
    strict = problem.sizes == "unknown"  # the other form of a mask
    run = _widely if narrow else evaluate
    gradient, cotangents = is_adjoint(module, inputs, rng, strict, run)
    is_adjoint(gradient, [*inputs, *cotangents], rng, strict, run)


def _widely(module: ModuleOp, inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    return evaluate_in_float64(module, inputs)
