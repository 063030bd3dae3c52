"""Every VJP rule against the tangents of single ops: <u, push(t)> = <vjp(u), t>, to roundings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.adjoint import name_results
from support.float64 import widen_copy
from support.single_ops import steps
from support.vjp_problems import Problem, module_of, problems
from xdsl.ir import SSAValue

from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names, return_op
from gradc.verification.widening import wide
from passes.differentiate import Request, differentiate

BOUND = 1e-7

WITHOUT_F64 = (
    *("CausalConvWithState", "DequantizeLinear", "DynamicQuantizeLinear", "LinearAttention"),
    "RotaryEmbedding",
)
"""They are built and differentiated in f32, and executed in float64."""

MOVES_A_SIZE = ("Range",)
"""A direction along the limit of a Range is open; the rule takes it for 0."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "problem", [p for p in problems() if p.sizes == "static" and p.op not in MOVES_A_SIZE], ids=str
)
def test_a_tangent_meets_the_rule(problem: Problem):
    module, given = module_of(problem, np.float32 if problem.op in WITHOUT_F64 else np.float64)
    module_ = widen_copy(module)
    inputs = [wide(array) for array in given]
    rng = np.random.default_rng(0)
    tangents = [rng.normal(size=a.shape) if a.dtype == np.float64 else None for a in inputs]
    found: dict[SSAValue, tuple[Any, Any]] = {}
    for step in steps(module_, inputs, tangents, found):
        for result, tangent in zip(step.results, step.pushed, strict=True):
            assert tangent is None or tangent.found.shape == result.shape
            assert tangent is None or tangent.open is None
    results = [found[value] for value in return_op(entry_function(module_)).arguments]
    cotangents = [rng.normal(size=value.shape) for value, _ in results]
    products = [u * t for u, (_, t) in zip(cotangents, results, strict=True) if t is not None]
    want, scale = sum(p.sum() for p in products), sum(np.abs(p).sum() for p in products)

    names = [f"y{i}" for i in range(len(results))]
    name_results(module, names)
    inputs_by_name = zip(input_names(entry_function(module)), tangents, strict=True)
    wrt = [name for name, tangent in inputs_by_name if tangent is not None]
    differentiate(module, Request(of=names, wrt=wrt, cotangents=True, allow_unused=True))
    gradients = evaluate(widen_copy(module), [*inputs, *cotangents])
    pairs = zip(gradients, (t for t in tangents if t is not None), strict=True)
    got = sum((gradient * tangent).sum() for gradient, tangent in pairs)
    assert abs(want - got) <= BOUND * scale + 1e-12, (want, got)
