"""Negations that a later sum or factor absorbs: fewer ops, equal results."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from dialects.evaluate import evaluate
from gradc.compiler.driver import load
from passes.autodiff.sink_negations import SinkNegationsPass

HEAD = '<ir_version: 8, opset_import: ["": 18]> f (float[2,3] x, float[2,3] z) => (float[2,3] y)'
CONSTANTS = "<int64[1] last = {1}, float third = {0.333}, int64[2] sizes = {3, 2}, int64[2] back = {2, 3}>"

ABSORBED = {
    "an addend": "n = Neg(x) y = Add(z, n)",
    "the first addend": "n = Neg(x) y = Add(n, z)",
    "a subtrahend": "n = Neg(x) y = Sub(z, n)",
    "a constant factor": "n = Neg(x) y = Mul(n, third)",
    "a product and a sum": "n = Neg(x) p = Mul(n, z) s = ReduceSum(p, last) y = Add(z, s)",
    "a quotient": "n = Neg(x) p = Div(n, z) y = Sub(z, p)",
    "moves": "n = Neg(x) t = Transpose <perm = [1, 0]> (n) r = Reshape(t, back) y = Add(r, z)",
    "two in a row": "a = Neg(x) b = Neg(z) p = Mul(a, b) y = Add(p, z)",
}
KEPT = {
    "a divisor": "n = Neg(x) p = Div(z, n) y = Add(z, p)",
    "a minuend": "n = Neg(x) y = Sub(n, z)",
    "an even function": "n = Neg(x) e = Exp(n) y = Add(e, z)",
    "two readers": "n = Neg(x) p = Mul(n, z) y = Add(n, p)",
    "a result": "n = Neg(x) y = Mul(n, z)",
}


def negations(text: str) -> tuple[int, int]:
    """Run the pass, compare the results bit by bit, and return the numbers of Negs before and after."""
    model = onnx.parser.parse_model(f"{HEAD} {CONSTANTS} {{ {text} }}")
    module = load(model, for_gradients=())
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(2, 3)).astype(np.float32) for _ in range(2)]
    before, count = evaluate(module, inputs), _count(module)
    SinkNegationsPass().apply(Context(), module)
    module.verify()
    for one, other in zip(evaluate(module, inputs), before, strict=True):
        np.testing.assert_array_equal(one, other)
    return count, _count(module)


def _count(module: ModuleOp) -> int:
    return sum(op.name == "onnx.Neg" for op in module.walk())


@pytest.mark.parametrize("text", ABSORBED.values(), ids=ABSORBED)
def test_absorbed(text: str):
    assert negations(text) == (text.count("Neg"), 0)


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_kept(text: str):
    assert negations(text) == (1, 1)
