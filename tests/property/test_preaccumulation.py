"""Activations as exporters write them: one derivative, that of the ops one by one, also at kinks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.networks import module_of
from xdsl.dialects.builtin import ModuleOp, f64

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from passes.builder.rewriting import functions
from passes.builder.values import Value
from passes.differentiate import Request, differentiate
from passes.simplify import simplify

X = {"x": ("N", 12)}
POINTS = np.array([[-40, -3, -2.9, -1, -1e-3, 0, 1e-3, 0.5, 2.9, 3, 3.1, 40], [*[0.25] * 6, *[-3.0] * 6]])


def _gelu(x: Value) -> Value:
    return x * ((x / math.sqrt(2)).erf() + 1) * 0.5


def _gelu_tanh(x: Value) -> Value:
    cube = x.apply(onnx.PowOp, 3.0)
    return x * 0.5 * (((cube * 0.044715 + x) * math.sqrt(2 / math.pi)).tanh() + 1)


def _hard_swish(x: Value) -> Value:
    return x * (x + 3).clip_to(0, 6) / 6


FORMULAS = {
    "silu": lambda x: x * x.sigmoid(),
    "quick gelu": lambda x: x * (x * 1.702).sigmoid(),
    "gelu": _gelu,
    "gelu by tanh": _gelu_tanh,
    "hard swish": _hard_swish,
    "hard swish by its gate": lambda x: x * x.apply(onnx.HardSigmoidOp, alpha=1 / 6, beta=0.5),
    "mish": lambda x: x * x.softplus().tanh(),
    "square": lambda x: x * x,
    "cube": lambda x: x * x * x,
    "softsign": lambda x: x / (x.abs() + 1),
    "rectified square": lambda x: x.apply(onnx.ReluOp) * x.apply(onnx.ReluOp),
    "least of two": lambda x: x.at_most(x * 0.5 - 1.5),
    "left over": lambda x: x - x,
    "a sum": lambda x: x + x.tanh(),
    "within": lambda x: x.exp().at_most(9) * (-x).exp().at_most(9).sqrt(),
}


def ops_of(module: ModuleOp) -> list[str]:
    (function,) = functions(module)
    return [op.name for op in function.body.block.ops if op.name != "onnx.Constant"]


def _gradient(name: str, strict: bool) -> ModuleOp:
    module = module_of(FORMULAS[name], X, f64)
    differentiate(module, Request(cotangents=True), strict_ieee=strict)
    return module


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMULAS)
def test_one_derivative_is_that_of_the_ops(name: str):
    """With strict IEEE numbers the walk goes through every op."""
    cotangent = np.random.default_rng(0).normal(size=POINTS.shape)
    (found,), (wanted,) = (evaluate(_gradient(name, strict), [POINTS, cotangent]) for strict in (False, True))
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.sweep
@pytest.mark.parametrize("name", FORMULAS)
def test_a_derivative_of_the_derivative(name: str):
    """By differences, where there is no kink."""
    module = _gradient(name, strict=False)
    differentiate(module, Request(of=["grad_x"], wrt=["x"], cotangents=True, allow_unused=True))
    first = _gradient(name, strict=True)
    points = np.array([[-2.2, -1.7, -0.8, -0.3, 0.1, 0.4, 0.9, 1.3, 1.9, 2.2, 2.5, 3.4]])
    one, step = np.ones_like(points), 1e-6
    (found,) = evaluate(module, [points, one, one])
    moved = [evaluate(first, [points + side * step, one])[0] for side in (1, -1)]
    np.testing.assert_allclose(found, (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_a_value_between_has_its_own_derivative():
    """Who asks for the derivative by the gate gets it, though the gate is within."""
    module = module_of(FORMULAS["silu"], X, f64)
    (function,) = functions(module)
    gate = next(op.results[0] for op in function.body.block.ops if op.name == "onnx.Sigmoid")
    gate.name_hint = "gate"
    differentiate(module, Request(wrt=["x", "gate"], cotangents=True))
    by_x, by_gate = evaluate(module, [POINTS, np.ones_like(POINTS)])
    s = 1 / (1 + np.exp(-POINTS))
    np.testing.assert_allclose(by_gate, POINTS, rtol=1e-12)
    np.testing.assert_allclose(by_x, s + POINTS * s * (1 - s), rtol=1e-12)


@pytest.mark.parametrize(("name", "most"), [("silu", 5), ("gelu", 8), ("square", 2)])
def test_the_cotangent_is_multiplied_with_once(name: str, most: int):
    own = ops_of(module_of(FORMULAS[name], X, f64))
    module = _gradient(name, strict=False)
    simplify(module)
    new = len(ops_of(module)) - len(own)
    assert new <= most, ops_of(module)


@pytest.mark.parametrize(("name", "products"), [("silu", 3), ("quick gelu", 5)])
def test_the_result_stands_for_the_product_with_a_sigmoid(name: str, products: int):
    """x s (1 - s) is y (1 - s)."""
    module = _gradient(name, strict=False)
    simplify(module)
    assert ops_of(module).count("onnx.Mul") == products
