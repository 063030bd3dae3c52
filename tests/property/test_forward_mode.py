"""Forward mode against reverse mode: <u, J v> = <J^T u, v> for the cases that onnx ships for each op."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_node_cases import Case, cases, operands_of
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from dialects.onnx.ops import op_names
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import of_numpy
from dialects.support.entry import entry_function, input_names
from gradc.compiler.options import Options
from gradc.derivatives.derivation import Derivation
from gradc.derivatives.forward import transpose
from gradc.derivatives.request import GradientRequest
from passes.autodiff.activity.non_differentiable import ZERO_BY_DEFINITION
from passes.differentiate import Request, differentiate
from tests.property.test_derivatives_of_node_cases import MOST, REFUSED, module_of


def forward(module: ModuleOp, of: list[str], wrt: list[str]) -> tuple[ModuleOp, list[str], list[str]]:
    """Return the function with tangent inputs, the names of these inputs, and those of the results."""
    request = GradientRequest(wrt=wrt, of=of, allow_unused=True, check=False)
    derivation = Derivation.begin(module.clone(), request, Options())
    once, twice = transpose(derivation)
    tangents = [twice.cotangents[once.gradients[name]] for name in wrt]
    return derivation.module, tangents, [twice.gradients[once.cotangents[name]] for name in of]


def check(case: Case, unknown: bool) -> None:
    (node,) = case.model.graph.node
    arrays = operands_of(case)
    numeric = all(a is None or (a.dtype.kind in "fiub" and of_numpy(a.dtype)) for a in arrays)
    if not numeric or sum(a.size for a in arrays if a is not None) > MOST:
        return
    try:
        module, inputs = module_of(node, arrays, unknown)
        rng = np.random.default_rng(0)
        inputs = [a + rng.uniform(-1e-3, 1e-3, a.shape) for a in inputs]
        results = evaluate(module, inputs)
    except GradcError:  # no f64, or no meaning in numpy
        return
    if not inputs or not results:
        return
    wrt, of = ([f"{letter}{i}" for i in range(len(x))] for letter, x in (("x", inputs), ("y", results)))
    backward = module.clone()
    try:
        differentiate(backward, Request(of=of, wrt=wrt, cotangents=True, allow_unused=True))
        product, names, _ = forward(module, of, wrt)
    except UnsupportedError as error:
        if REFUSED.get(node.op_type, "nothing") in str(error) or (unknown and "known" in str(error)):
            return
        raise
    tangents = [rng.normal(size=one.shape) for one in inputs]
    defined = [np.isfinite(one) for one in results]
    cotangents = [np.where(known, rng.normal(size=known.shape), 0) for known in defined]
    fed = dict(zip([*wrt, *names], [*inputs, *tangents], strict=True))
    function = entry_function(product)
    assert all(a.uses for name, a in zip(input_names(function), function.args, strict=True) if name in names)
    found = evaluate(product, [fed[name] for name in input_names(function)])
    gradients = evaluate(backward, [*inputs, *cotangents])
    assert [one.shape for one in found] == [one.shape for one in results], case.name
    finite = map(np.isfinite, results)  # others have no derivative
    forward_terms = [np.where(known, u * y, 0) for known, u, y in zip(finite, cotangents, found, strict=True)]
    backward_terms = [g * v for g, v in zip(gradients, tangents, strict=True)]
    left, right = (sum(float(part.sum()) for part in side) for side in (forward_terms, backward_terms))
    size = sum(float(np.abs(part).sum()) for part in (*forward_terms, *backward_terms))
    bound = (1e-6 if "softmax_precision" in case.name else 1e-9) * size + 1e-12  # that is f32
    if np.isfinite(right):
        assert abs(left - right) <= bound, f"{case.name}: <u, J v> = {left}, <J^T u, v> = {right}"


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in op_names() if name not in ZERO_BY_DEFINITION])
def test_the_cases_of_an_op(name: str):
    """By turns with unknown and with known sizes."""
    for turn, case in enumerate(cases()[name]):
        check(case, unknown=not turn % 2)
