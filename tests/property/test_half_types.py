"""Half types: a graph is computed in f32 from end to end, and rounds what leaves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from support.examples import examples
from support.generate import KINDS, problems
from support.pipeline import apply
from support.problems import Problem, Value
from xdsl.dialects.builtin import TensorType

from dialects.evaluate import evaluate
from dialects.onnx.ops import CastOp
from dialects.support.dtypes import HALVES, name_of
from passes import pipelines
from passes.kernels.target import Target

HALF = ("f16", "bf16")


def widened(problem: Problem) -> Problem:
    """The same graph and data in f32."""

    def wide(value: Value) -> Value:
        return replace(value, dtype="f32") if value.dtype in HALVES else value

    def array(given: np.ndarray) -> np.ndarray:
        return given if given.dtype.kind in "iu" else given.astype(np.float32)

    return Problem(
        problem.seed,
        problem.runs,
        [wide(value) for value in problem.inputs],
        {name: [array(a) for a in arrays] for name, arrays in problem.given.items()},
        {name: (form, array(a)) for name, (form, a) in problem.constants.items()},
        [
            replace(node, operands=tuple(map(wide, node.operands)), result=wide(node.result))
            for node in problem.nodes
        ],
        [wide(value) for value in problem.outputs],
    )


@examples(80)
@given(problems(kinds=tuple(KINDS), dtypes=HALF, most_ops=4))
def test_what_leaves_is_the_f32_result_rounded_once(problem: Problem):
    """Bit for bit: no rounding lies in between, whatever is read inside and given out as well."""
    module = apply(problem.module(), pipelines.to_grad(Target(threads=1)))
    wide = apply(widened(problem).module(), pipelines.to_grad(Target(threads=1)))
    for run in range(problem.runs):
        with np.errstate(over="ignore", invalid="ignore"):
            rows = zip(
                evaluate(module, problem.feeds(run)), evaluate(wide, widened(problem).feeds(run)), strict=True
            )
            for got, want in rows:
                np.testing.assert_array_equal(got, want.astype(got.dtype))


@pytest.mark.parametrize("stage", [pipelines.to_grad, pipelines.lower])
def test_no_cast_reads_what_a_cast_narrowed(stage):
    @examples(40)
    @given(problems(kinds=tuple(KINDS), dtypes=HALF, most_ops=4))
    def check(problem: Problem):
        module = apply(problem.module(), stage(Target(threads=1)))
        casts = [op for op in module.walk() if isinstance(op, CastOp)]
        widening = [op for op in casts if name_of(_dtype(op.input.type)) in HALVES]
        assert not [op for op in widening if isinstance(op.input.owner, CastOp)]
        inputs = [op.input for op in widening]
        assert len(inputs) == len(set(inputs))

    check()


def _dtype(type_):
    assert isinstance(type_, TensorType)
    return type_.element_type
