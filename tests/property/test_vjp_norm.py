"""The rules of normalisations and softmaxes: <u, J v> = <J^T u, v>, for each result and each operand.

J v is a difference quotient of the op's own numpy kernel in float64; sizes are known, or only at run time.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, TensorType, bf16, f32, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region

from dialects.evaluate import evaluate
from dialects.onnx import ops as onnx
from dialects.support.entry import update_function_type
from dialects.support.shapes import tensor_type
from passes.autodiff.common.primal import Primal
from passes.autodiff.common.unbroadcast import unbroadcast
from passes.autodiff.rules import norm, softmaxes
from passes.builder.values import Builder, Value

X = (3, 4, 5)
CASES: dict[str, list[tuple[list[tuple[int, ...]], dict[str, Any]]]] = {
    "BatchNormalization": [([X, *[(4,)] * 4], {"epsilon": 0.1})],
    "BatchNormalization training": [([X, *[(4,)] * 4], {"training_mode": 1, "momentum": 0.3})],
    "GroupNormalization": [
        ([(2, 6, 4), (6,), (6,)], {"num_groups": 3}),
        ([(2, 4), (4,), (4,)], {"num_groups": 2}),
    ],
    "InstanceNormalization": [([X, (4,), (4,)], {"epsilon": 0.2})],
    "LayerNormalization": [
        ([X, (5,), (5,)], {}),
        ([X, (4, 5)], {"axis": 1}),
        ([X, (1, 5), (4, 1)], {"axis": -2, "epsilon": 0.2}),
    ],
    "LogSoftmax": [([X], {}), ([X], {"axis": 1})],
    "RMSNormalization": [([X, (5,)], {}), ([X, (4, 5)], {"axis": 1, "epsilon": 0.1})],
    "Softmax": [([X], {}), ([X], {"axis": 0})],
}
ALL = [(name, *case) for name, cases in CASES.items() for case in cases]
RULES = {**norm.RULES, **softmaxes.RULES}
STEP = 1e-6


def test_every_rule_has_cases():
    assert {name.split()[0] for name in CASES} == set(RULES)


@pytest.mark.sweep
@pytest.mark.parametrize(("name", "shapes", "attributes"), ALL, ids=str)
@pytest.mark.parametrize("dynamic", [False, True], ids=["known", "unknown"])
def test_a_rule_is_the_adjoint(
    name: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any], dynamic: bool
):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    operands = [rng.normal(size=shape) for shape in shapes]
    if name.startswith("Batch"):
        operands[4] = rng.uniform(0.5, 2, shapes[4])
    results = _forward(name, operands, attributes)
    cotangents = [rng.normal(size=result.shape) for result in results]
    gradients = _gradients(name, operands, cotangents, attributes, dynamic, f64)
    for index, gradient in enumerate(gradients):
        assert gradient.shape == operands[index].shape
        direction = rng.normal(size=gradient.shape)
        ahead, behind = [*operands], [*operands]
        ahead[index], behind[index] = operands[index] + STEP * direction, operands[index] - STEP * direction
        pairs = zip(_forward(name, ahead, attributes), _forward(name, behind, attributes), strict=True)
        slopes = [(a - b) / (2 * STEP) for a, b in pairs]
        terms = [u * slope for u, slope in zip(cotangents, slopes, strict=True)]
        want, scale = sum(t.sum() for t in terms), sum(np.abs(t).sum() for t in terms)
        assert abs(want - (gradient * direction).sum()) <= 1e-7 * scale + 1e-8, (name, index)


@pytest.mark.parametrize(("name", "shapes", "attributes"), [c for c in ALL if "oftmax" not in c[0]], ids=str)
def test_half_types_are_computed_in_f32(name: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]):
    """What a rule gives in bf16 is what it gives in f64 for the same numbers, rounded once. That of a softmax
    reads the rounded result."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rounded = [(rng.integers(1, 9, shape) / 4).astype(np.float64) for shape in shapes]
    cotangents = [rng.integers(-4, 5, y.shape) / 4 for y in _forward(name, rounded, attributes)]
    exact = _gradients(name, rounded, cotangents, attributes, False, f64)
    got = _gradients(name, rounded, cotangents, attributes, False, bf16)
    for wide, half in zip(exact, got, strict=True):
        assert np.abs(half.astype(np.float64) - wide).max() <= 2**-7 * np.abs(wide).max() + 1e-6


def _cls(name: str) -> type:
    return onnx.op_class(name.split()[0])  # pyright: ignore[reportReturnType]


def _run(block: Block, values: list[Any], arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    block.add_op(ReturnOp(*values))
    function = FuncOp("main", ([], []), Region(block))
    update_function_type(function)
    return evaluate(ModuleOp([function]), arrays)


def _block(arrays: list[np.ndarray], dtype: Attribute, dynamic: bool = False) -> Block:
    return Block(arg_types=[tensor_type(dtype, (None,) * a.ndim if dynamic else a.shape) for a in arrays])


def _forward(name: str, operands: list[np.ndarray], attributes: dict[str, Any]) -> list[np.ndarray]:
    """All results in float64. The statistics of LayerNormalization are f32, so they are made here."""
    block = _block(operands, f64)
    op = _cls(name)(*block.args, **attributes)
    block.add_op(op)
    found = list(_run(block, list(op.results if "training" in name else op.results[:1]), operands))
    if name != "LayerNormalization":
        return found
    axes = tuple(range(attributes.get("axis", -1) % len(X), len(X)))
    variance = operands[0].var(axes, keepdims=True)
    inverse = 1 / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return [*found, operands[0].mean(axes, keepdims=True), inverse]


def _gradients(
    name: str,
    operands: list[np.ndarray],
    cotangents: list[np.ndarray],
    attributes: dict[str, Any],
    dynamic: bool,
    dtype: Attribute,
) -> tuple[np.ndarray, ...]:
    """Of every operand, 0 where the rule has none."""
    from dialects.support.dtypes import of_mlir

    entry = of_mlir(dtype)
    assert entry is not None
    arrays = [array.astype(entry.numpy) for array in (*operands, *cotangents)]
    block, e = _block(arrays, dtype, dynamic), Builder()
    given = [e(value) for value in block.args]
    own, g = given[: len(operands)], given[len(operands) :]
    op = _cls(name)(*(x.value for x in own), **attributes)
    results = [e(result) for result in e.emit.all(op)]
    forward = Primal(e, own, attributes, list(results), read=range(len(g)))
    found = RULES[name.split()[0]](forward, g, e)
    assert len(found) == len(operands)
    values = []
    for gradient, operand in zip(found, own, strict=True):
        filled = unbroadcast(gradient, operand, e) if isinstance(gradient, Value) else operand * 0.0
        assert isinstance(filled.value.type, TensorType)
        assert filled.dtype in (dtype, f32)
        values.append(filled.value)
    block.add_ops(e.emit.ops)
    return _run(block, values, arrays)
