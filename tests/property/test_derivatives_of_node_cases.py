"""The cases that onnx ships for each op: the gradient by every float input against differences in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.onnx_node_cases import Case, cases, op_of, operands_of
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.onnx.ops import op_names
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.dtypes import of_numpy
from dialects.support.entry import set_names, update_function_type
from dialects.support.shapes import element_type_of, tensor_type
from passes.autodiff.activity.non_differentiable import ZERO_BY_DEFINITION
from passes.builder.values import Builder
from passes.differentiate import Request, differentiate

STEP, MOST = 1e-5, 20_000
REFUSED = {
    "Resize": "the region",
}
"""Op -> what some of its cases are refused for."""
AS_THEY_ARE = {"Resize": (1, 2)}
"""Op -> floats that have to be f32."""


def module_of(
    node: Any, arrays: Sequence[np.ndarray | None], unknown: bool
) -> tuple[ModuleOp, list[np.ndarray]]:
    """The op in f64: its floats are inputs, of unknown sizes, maybe."""
    kept = AS_THEY_ARE.get(node.op_type, ())
    floats = [a is not None and a.dtype.kind == "f" and i not in kept for i, a in enumerate(arrays)]
    inputs = [a.astype(np.float64) for a, f in zip(arrays, floats, strict=True) if f and a is not None]
    types = [tensor_type(f64, [None] * a.ndim if unknown else a.shape) for a in inputs]
    block, e = Block(arg_types=types), Builder()
    given = iter(block.args)
    values = [
        None if a is None else next(given) if f else e.emit.constant(a)
        for a, f in zip(arrays, floats, strict=True)
    ]
    op = op_of(node, values)
    named = zip(e.emit.all(op), node.output, strict=False)
    results = [result for result, name in named if name and element_type_of(result) == f64]
    block.add_ops([*e.emit.ops, ReturnOp(*results)])
    function = FuncOp("main", ([], []), Region(block))
    set_names(function, [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(results))])
    update_function_type(function)
    return ModuleOp([function]), inputs


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
    cotangents = [rng.normal(size=result.shape) for result in results]
    gradient = module.clone()
    wrt, of = ([f"{letter}{i}" for i in range(len(x))] for letter, x in (("x", inputs), ("y", results)))
    try:
        differentiate(gradient, Request(of=of, wrt=wrt, cotangents=True, allow_unused=True))
    except UnsupportedError as error:
        if REFUSED.get(node.op_type, "nothing") in str(error) or (unknown and "known" in str(error)):
            return
        raise
    found = evaluate(gradient, [*inputs, *cotangents])
    for i, one in enumerate(found):
        assert one.shape == inputs[i].shape, (case.name, i)
        check_one(case, module, inputs, i, cotangents, one, rng)


def check_one(
    case: Case,
    module: ModuleOp,
    inputs: list[np.ndarray],
    index: int,
    cotangents: list[np.ndarray],
    gradient: np.ndarray,
    rng: np.random.Generator,
) -> None:
    """Along one direction; where two steps differ there is a kink."""
    direction = rng.normal(size=gradient.shape)

    def quotient(step: float) -> tuple[float, float]:
        ends = [
            evaluate(module, [a + sign * step * direction if i == index else a for i, a in enumerate(inputs)])
            for sign in (1, -1)
        ]
        with np.errstate(invalid="ignore"):  # inf - inf
            parts = [c * (a - b) / (2 * step) for c, a, b in zip(cotangents, *ends, strict=True)]
        return sum(p.sum() for p in parts), sum(np.abs(p).sum() for p in parts)

    (want, scale), (nearer, _) = quotient(STEP), quotient(STEP / 4)
    bound = 1e-5 * (scale + 1e-3)
    if np.isfinite(want) and abs(want - nearer) <= bound:
        got = (gradient * direction).sum()
        assert abs(want - got) <= bound, f"{case.name}: input {index}: {got} for {want}"


@pytest.mark.heavy
@pytest.mark.parametrize("name", [name for name in op_names() if name not in ZERO_BY_DEFINITION])
def test_the_cases_of_an_op(name: str):
    """By turns with known and with unknown sizes."""
    for turn, case in enumerate(cases()[name]):
        check(case, unknown=bool(turn % 2))
