"""A vectorized function is the function of each row, stacked: for each op, and for whole gradients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import pytest
from support.adjoint import name_results
from support.onnx_node_cases import Case, cases, operands_of
from support.onnx_node_cases import module_of as case_module
from support.vectorized import ROWS, assert_rows
from support.vjp_problems import Problem, module_of, problems
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.support.diagnostics import UnsupportedError
from dialects.support.entry import entry_function, input_names
from passes.differentiate import Request, differentiate
from passes.infer_types import infer_types

WITHOUT_F64 = frozenset(
    ("CausalConvWithState", "DequantizeLinear", "DynamicQuantizeLinear", "LinearAttention", "RotaryEmbedding")
)


BY_INDICES = frozenset(("Gather", "GatherElements", "GatherND", "OneHot", "ScatterElements", "ScatterND"))
"""Ops whose integers are indices, which may differ between rows; others read sizes and axes."""


def patterns(op: str, inputs: Sequence[np.ndarray]) -> Iterator[tuple[int, ...]]:
    """Sets of inputs to batch: each one, each pair, and all of them."""
    kinds = "fi" if op in BY_INDICES else "f"
    chosen = [i for i, array in enumerate(inputs) if array.dtype.kind in kinds]
    yield from {some: None for n in (1, 2, len(chosen)) for some in combinations(chosen, n) if some}


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("problem", list(problems()), ids=str)
def test_an_op_is_vectorized_over_any_operands(problem: Problem):
    module, inputs = module_of(problem, np.float32 if problem.op in WITHOUT_F64 else np.float64)
    for index, batched in enumerate(patterns(problem.op, inputs)):
        assert_rows(module, inputs, batched, ROWS if index % 2 == 0 else "K")


_CASES = [case for of_op in cases().values() for case in of_op]
_NOT_REPEATED = frozenset(("CastLike",))
"""Ops with results of types that Expand does not take."""


@pytest.mark.sweep(entries=r"test_[a-z]+")
@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
def test_a_node_case_is_vectorized(case: Case):
    """The cases that onnx ships: each operand is an input, and sizes are those that inference finds."""
    module, inputs = case_module(case), [array for array in operands_of(case) if array is not None]
    infer_types(module)
    try:
        evaluate(module, inputs)
    except UnsupportedError as error:
        pytest.skip(f"no numpy semantics: {error}")
    (op,) = (node.op_type for node in case.model.graph.node)
    for batched in patterns(op, inputs):
        if op not in _NOT_REPEATED or 0 in batched:
            assert_rows(module, inputs, batched, ROWS if len(batched) == 1 else "K")


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("problem", list(problems()), ids=str)
def test_the_gradient_of_an_op_is_vectorized_over_its_cotangents_without_a_fallback(problem: Problem):
    module, inputs = module_of(problem, np.float32 if problem.op in WITHOUT_F64 else np.float64)
    gradient, cotangents = gradient_of(module, inputs)
    batched = range(len(inputs), len(inputs) + len(cotangents))
    size = ROWS if problem.sizes == "static" else "K"
    assert assert_rows(gradient, [*inputs, *cotangents], batched, size) == 0


def gradient_of(module: ModuleOp, inputs: Sequence[np.ndarray]) -> tuple[ModuleOp, list[np.ndarray]]:
    """The gradient with cotangents as last inputs, and values for these."""
    rng = np.random.default_rng(1)
    gradient, results = module.clone(), evaluate(module, inputs)
    names = [f"y{i}" for i in range(len(results))]
    name_results(gradient, names)
    given = input_names(entry_function(gradient))
    wrt = [n for n, array in zip(given, inputs, strict=True) if array.dtype == results[0].dtype]
    differentiate(gradient, Request(of=names, wrt=wrt, cotangents=True, allow_unused=True))
    return gradient, [rng.normal(size=result.shape).astype(result.dtype) for result in results]
