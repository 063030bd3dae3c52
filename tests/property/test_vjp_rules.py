"""Every rule of the table of derivatives, by one property: <u, J v> = <J^T u, v>.

J v is a difference quotient of the op's own numpy kernel in float64, independent of every rule; J^T u is
what the rule emits, executed with numpy.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.onnx import traits
from dialects.support.entry import update_function_type
from dialects.support.shapes import tensor_type
from passes.emit.expressions import Expr, Operators
from passes.vjp import listed, pointwise
from passes.vjp.forward import Forward, Zero

SHAPE = (5, 40)
VARIADIC = {"Max", "Mean", "Min", "Sum"}
OPERANDS = {
    "Add": 2,
    "CastLike": 2,
    "Clip": 3,
    "Div": 2,
    "Mod": 2,
    "Mul": 2,
    "PRelu": 2,
    "Pow": 2,
    "Sub": 2,
    "Where": 3,
}
OPERANDS |= dict.fromkeys(VARIADIC, 3)
RANGES = {
    "Acos": (-0.9, 0.9), "Acosh": (1.1, 4), "Asin": (-0.9, 0.9), "Atanh": (-0.9, 0.9), "Log": (0.2, 3),
    "Pow": (0.3, 2.5), "Sqrt": (0.2, 3), "Reciprocal": (0.3, 2), "Div": (0.3, 2), "Tan": (-1.2, 1.2),
}  # fmt: skip
ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    "Cast": [{"to": f64}],
    "Celu": [{}, {"alpha": 1.7}],
    "Elu": [{}, {"alpha": 0.6}],
    "Gelu": [{}, {"approximate": "tanh"}],
    "HardSigmoid": [{}, {"alpha": 0.3, "beta": 0.4}],
    "LeakyRelu": [{}, {"alpha": -0.2}],
    "Mod": [{"fmod": 1}],
    "Selu": [{}, {"alpha": 1.2, "gamma": 0.9}],
    "Shrink": [{"bias": 0.2, "lambd": 0.7}],
    "Swish": [{}, {"alpha": 1.4}],
    "ThresholdedRelu": [{}, {"alpha": 0.4}],
}
CASES = [(name, given) for name in pointwise.RULES for given in ATTRIBUTES.get(name, [{}])]
STEP = 1e-6


def test_every_pointwise_op_has_a_rule_or_a_reason():
    owed = traits.POINTWISE - set(pointwise.RULES) - set(listed.REASONS)
    assert not owed, f"owed: rule for {', '.join(sorted(owed))} in passes/vjp/pointwise.py"
    assert not set(pointwise.RULES) & set(listed.REASONS)


@pytest.mark.parametrize(("name", "attributes"), CASES, ids=str)
@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
def test_a_rule_is_the_adjoint(name: str, attributes: dict[str, Any], strict: bool):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    operands = _operands(name, rng)
    cotangent = rng.normal(size=SHAPE)
    gradients = _gradients(name, operands, cotangent, attributes, strict)
    for index, gradient in gradients.items():
        direction = rng.normal(size=operands[index].shape)
        ahead, behind = ([*operands], [*operands])
        ahead[index], behind[index] = operands[index] + STEP * direction, operands[index] - STEP * direction
        slope = (_forward(name, ahead, attributes) - _forward(name, behind, attributes)) / (2 * STEP)
        want, got = (cotangent * slope).sum(), (gradient * direction).sum()
        scale = np.abs(cotangent * slope).sum() + 1e-3
        assert abs(want - got) <= 1e-6 * scale, (name, index, want, got)


def _operands(name: str, rng: np.random.Generator) -> list[np.ndarray]:
    low, high = RANGES.get(name, (-3.5, 3.5))
    if name == "Where":
        return [rng.random(SHAPE) < 0.5, *rng.uniform(low, high, (2, *SHAPE))]
    if name == "Clip":
        return [rng.uniform(low, high, SHAPE), np.array(-1.3), np.array(1.1)]
    return list(rng.uniform(low, high, (OPERANDS.get(name, 1), *SHAPE)))


def _function(arrays: list[np.ndarray]) -> Block:
    kinds = {np.dtype(bool): onnx.NotOp, np.dtype(np.float64): onnx.NegOp}
    assert {array.dtype for array in arrays} <= set(kinds)
    from dialects.support.dtypes import of_numpy

    return Block(arg_types=[tensor_type(of_numpy(a.dtype).mlir, a.shape) for a in arrays])  # pyright: ignore


def _run(block: Block, values: list[Any], arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    block.add_op(ReturnOp(*values))
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    return evaluate(ModuleOp([function]), arrays)


def _apply(name: str, e: Operators, operands: list[Expr], attributes: dict[str, Any]) -> Expr:
    cls, values = onnx.op_class(name), [operand.value for operand in operands]
    given = [values] if name in VARIADIC else values
    return e(e.emit(cls(*given, **attributes)))  # pyright: ignore[reportArgumentType]


def _forward(name: str, operands: list[np.ndarray], attributes: dict[str, Any]) -> np.ndarray:
    block, e = _function(operands), Operators()
    result = _apply(name, e, [e(value) for value in block.args], attributes)
    block.add_ops(e.emit.ops)
    return _run(block, [result.value], operands)[0]


def _gradients(
    name: str, operands: list[np.ndarray], cotangent: np.ndarray, attributes: dict[str, Any], strict: bool
) -> dict[int, np.ndarray]:
    """The gradient of each operand that has one, summed to the operand's shape."""
    arrays = [*operands, cotangent]
    block, e = _function(arrays), Operators(strict_ieee=strict)
    *given, g = (e(value) for value in block.args)
    result = _apply(name, e, given, attributes)
    forward = Forward(e, given, attributes, [result])
    found = {i: g for i, g in enumerate(pointwise.RULES[name](forward, [g], e)) if not isinstance(g, Zero)}
    block.add_ops(e.emit.ops)
    values = _run(block, [gradient.value for gradient in found.values()], arrays)
    return {i: _unbroadcast(value, operands[i].shape) for i, value in zip(found, values, strict=True)}


def _unbroadcast(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return array if array.shape == shape else array.sum().reshape(shape)


@pytest.mark.parametrize("below", [1e-3, 3.0, 1e4, 1e8, -1e8])
@pytest.mark.parametrize("strict", [False, True], ids=["masks", "strict"])
@pytest.mark.parametrize("name", ["Elu", "LeakyRelu", "PRelu"])
def test_a_steep_side_does_not_hide_the_other(name: str, strict: bool, below: float):
    """In f32, 1e8 + (1 - 1e8) is 0: the derivative of positive numbers is 1 nevertheless."""
    x, g = np.array([2.0, 0.5, 1.0], np.float32), np.array([1.0, -3.0, 0.25], np.float32)
    block, e = Block(arg_types=[tensor_type(f32, (3,))] * 2), Operators(strict_ieee=strict)
    operand, cotangent = map(e, block.args)
    slope = e.scalar(below, operand)
    forward = Forward(e, [operand, slope][: OPERANDS.get(name, 1)], {"alpha": below}, [None])
    gradient, *_ = pointwise.RULES[name](forward, [cotangent], e)
    assert isinstance(gradient, Expr)
    block.add_ops(e.emit.ops)
    np.testing.assert_allclose(_run(block, [gradient.value], [x, g])[0], g, rtol=5e-7)
