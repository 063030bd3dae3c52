"""Of a product with a gate the gate's derivative reads the result: fewer products, the same numbers."""

from __future__ import annotations

import pytest
from support.onnx_models import model_of

import gradc

GATED = {
    "gated linear unit": ("s = Sigmoid(b) p = Mul(a, s) y = Tanh(p)", 6),
    "gate in front": ("s = Sigmoid(b) p = Mul(s, a) y = Tanh(p)", 6),
    "exponential": ("s = Exp(b) p = Mul(s, a) y = Tanh(p)", 5),
    "cell": ("f = Sigmoid(b) g = Tanh(a) u = Mul(f, g) v = Mul(f, b) w = Add(u, v) y = Sin(w)", None),
    "of another size": ("r = ReduceMean <axes = [1]> (b) s = Sigmoid(r) p = Mul(a, s) y = Tanh(p)", None),
    "read twice": ("s = Sigmoid(b) p = Mul(a, s) q = Mul(p, s) y = Tanh(q)", None),
    "the gate itself": ("s = Sigmoid(b) p = Mul(s, s) q = Mul(p, a) y = Tanh(q)", None),
    "in a branch": (
        "s = Sigmoid(b) n = ReduceSum <keepdims = 0> (a) zero = Constant <value_float = 0.0> () "
        "c = Less(n, zero) y = If(c) "
        "<then_branch = t () => (u) { u = Mul(a, s) }, else_branch = f () => (v) { v = Sub(s, a) }>",
        None,
    ),
}
"""The nodes, and the products of value and gradient."""


@pytest.mark.parametrize("name", GATED)
def test_the_derivative_of_a_gate_reads_the_product(name: str):
    nodes, products = GATED[name]
    model = model_of(f"g (float[N, 3] a, float[N, 3] b) => (float[N, 3] y) {{ {nodes} }}", 13)
    found = gradc.value_and_grad(model, cotangents=True, check=True)
    assert not found.remarks
    kinds = [node.op_type for node in found.model.graph.node]
    assert products is None or kinds.count("Mul") == products


@pytest.mark.parametrize("name", GATED)
def test_second_derivatives(name: str):
    nodes, _ = GATED[name]
    model = model_of(f"g (float[N, 3] a, float[N, 3] b) => (float[N, 3] y) {{ {nodes} }}", 13)
    assert not gradc.hvp(model, reduce="sum", check=True).remarks
