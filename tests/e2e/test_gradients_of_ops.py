"""The gradients of single ops on onnxruntime, held against numpy in float64."""

from __future__ import annotations

import numpy as np
import pytest
from support.vjp_problems import Problem, module_of, problems

import gradc
from dialects.evaluate import evaluate
from passes.differentiate import Request, differentiate

OPS = {
    "AffineGrid": 20,
    "AveragePool": 19,
    "Conv": 18,
    "ConvTranspose": 18,
    "Einsum": 18,
    "GridSample": 18,
    "MaxPool": 18,
}
"""Op -> the opset of the model that is written."""


def _chosen() -> list[Problem]:
    return [problem for problem in problems() if problem.op in OPS and problem.sizes == "unknown"]


@pytest.mark.parametrize("problem", _chosen(), ids=str)
def test_the_gradient_of_an_op(problem: Problem):
    exact, inputs = module_of(problem)
    module, narrow = module_of(problem, np.float32)
    rng = np.random.default_rng(0)
    cotangents = [rng.normal(size=result.shape) for result in evaluate(exact, inputs)]
    for one in (exact, module):
        differentiate(one, Request(of=["y0"], cotangents=True, allow_unused=True))
    want = evaluate(exact, [*inputs, *cotangents])
    compiled = gradc.compile(module, opset=OPS[problem.op])
    names = [info.name for info in compiled.inputs]
    given = [*narrow, *(cotangent.astype(np.float32) for cotangent in cotangents)]
    got = compiled.run(dict(zip(names, given, strict=True)))
    for info, exactly in zip(compiled.outputs, want, strict=True):
        found = got[info.name]
        assert found.shape == exactly.shape
        np.testing.assert_allclose(
            found, exactly, rtol=2e-4, atol=1e-4 * (np.abs(exactly).max(initial=0) + 1e-2)
        )
