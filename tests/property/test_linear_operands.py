"""Every entry of the table of linear operands against differences of the op: a wrong fact fails."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.adjoint import name_results
from support.float64 import widen_copy
from support.single_ops import Step, runner, steps
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import Block

from dialects.grad.conv import conv_transpose_backward_data
from dialects.grad.geometry import ConvAxis, Window
from dialects.onnx.base import OnnxOp
from dialects.support.entry import entry_function, input_names
from dialects.support.shapes import tensor_type
from gradc.verification.tangents.linear import RULES, Linear, along, groups_of
from gradc.verification.tangents.tangent import Tangent
from gradc.verification.tangents.whole import whole
from gradc.verification.widening import wide
from passes.differentiate import Request, differentiate

BOUND = 1e-6

OF_SEQUENCES = frozenset((
    "ConcatFromSequence", "Optional", "OptionalGetElement", "SequenceAt", "SequenceConstruct",
    "SequenceErase", "SequenceInsert", "SplitToSequence",
))  # fmt: skip
"""tests/unit/gradc/verification/test_tangents.py has these."""

GRADIENTS = ("Conv", "ConvTranspose", "AveragePool", "MaxPool", "Resize")
"""Ops whose gradients have the ops of the grad dialect."""

FACTS: set[str] = set()


def name_of(step: Step) -> str:
    return step.op.onnx_name() if isinstance(step.op, OnnxOp) else step.op.name


def modules(problem: Problem) -> Iterator[tuple[ModuleOp, list[Any]]]:
    """The problem, and its gradient where that has ops of its own."""
    module, inputs = module_of(problem, np.float32)
    inputs = [wide(array) for array in inputs]
    yield widen_copy(module), inputs
    if problem.op in GRADIENTS:
        function = entry_function(module)
        count = len(function.function_type.outputs.data)
        names = [f"y{i}" for i in range(count)]
        name_results(module, names)
        pairs = zip(input_names(function), inputs, strict=True)
        wrt = [name for name, array in pairs if array.dtype == np.float64]
        shapes = [step.results for step in steps(widen_copy(module), inputs, [None] * len(inputs), {})]
        differentiate(module, Request(of=names, wrt=wrt, cotangents=True, allow_unused=True))
        cotangents = [np.random.default_rng(2).normal(size=r.shape) for r in shapes[-1][:count]]
        yield widen_copy(module), [*inputs, *cotangents]


PROBLEMS = [p for p in problems() if p.sizes == "static" or (p.op in GRADIENTS and not p.given)]


@pytest.mark.sweep
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_an_op_is_linear_in_what_the_table_says(problem: Problem):
    for module, inputs in modules(problem):
        for step in steps(module, inputs, [None] * len(inputs), {}):
            check(step)


def test_the_gradient_of_a_transposed_convolution_by_its_data():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(2, 4, 7)), rng.normal(size=(4, 2, 3))]
    block = Block(arg_types=[tensor_type(f64, array.shape) for array in arrays])
    axes = [ConvAxis(Window(3, 2, 1), 1, 0)]
    op = conv_transpose_backward_data(*block.args, axes, groups=2, layout="NCX")
    run = runner(ModuleOp([]), op)
    check(Step(op, arrays, [None, None], run, run(arrays), [None]))


def check(step: Step) -> None:
    rng = np.random.default_rng(1)
    attributes = step.op.onnx_attributes() if isinstance(step.op, OnnxOp) else {}
    listed = list(step.op.onnx_inputs()) if isinstance(step.op, OnnxOp) else list(step.op.operands)
    places = [position for position, value in enumerate(listed) if value is not None]
    for group in groups_of(name_of(step), attributes, len(step.operands)):
        chosen = [
            index
            for index, operand in enumerate(step.operands)
            if places[index] in group.operands and operand.dtype == np.float64
        ]
        if not chosen:
            continue
        FACTS.add(name_of(step))
        tangents = [
            rng.normal(size=np.shape(x)) if i in chosen else None for i, x in enumerate(step.operands)
        ]
        by_index = Linear(
            [places.index(p) for p in group.operands if p in places], group.results, group.affine
        )
        moved = {index: tangents[index] for index in chosen}
        with np.errstate(all="ignore"):
            exact = along(step.run, step.operands, tangents, chosen, by_index)
            differences = whole(name_of(step), step.operands, moved, step.run, step.results)
        for one, other, value in zip(exact, differences, step.results, strict=True):
            if not isinstance(one, Tangent) or other is None:
                assert one is other
                continue
            unknown = np.zeros(other.found.shape, bool) if other.open is None else other.open
            assert (unknown & np.isfinite(value)).sum() <= value.size / 2
            bound = BOUND * (np.abs(one.found).max(initial=0.0) + 1e-9) + other.noise
            assert (unknown | (np.abs(one.found - other.found) <= bound)).all()


def test_every_entry_has_been_held_against_differences(request: pytest.FixtureRequest):
    """Of a run of the whole file in one process."""
    ran = {item.name.split("[")[0] for item in request.session.items}
    if "test_an_op_is_linear_in_what_the_table_says" not in ran or len(request.session.items) <= len(
        PROBLEMS
    ):
        pytest.skip("a part of the file runs")
    if hasattr(request.config, "workerinput"):
        pytest.skip("other processes run parts of the file")
    assert set(RULES) - FACTS == OF_SEQUENCES
