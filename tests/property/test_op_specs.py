"""The ops declared by op specs: numpy semantics, ONNX form, and backward ops as gradients of forward ops.

One set of tests for all rows. Problems are drawn from a row's declaration alone: ports, dtypes, attributes.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.pipeline import apply
from support.spec_problems import SpecProblem, draw, slots
from support.tiers import some

from dialects.evaluate import evaluate
from dialects.onednn.families import UnaryBackwardOp
from dialects.onednn.op_spec import BackwardOpSpec
from dialects.onednn.spec_classes import KINDS, spec_class
from dialects.support.diagnostics import UnsupportedError
from gradc.importers.mlir.parser import import_mlir
from gradc.model.exporter import export
from gradc.runtime.session import Session
from passes import pipelines
from passes.lower_onednn import op_specs
from passes.targets.target import Target

OPSETS = (13, 16, 18, 21)
BACKWARD = [kind for kind in KINDS if issubclass(spec_class(kind), UnaryBackwardOp)]


def seeded(kind: str, slot: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(kind.encode()), slot])


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", KINDS)
def test_lowered_means_the_same(kind: str):
    """Dtypes, shapes, sizes that only run time knows, targets, opsets and strictness take turns."""
    for slot, (dtype, dynamic) in some(enumerate(slots(kind))):
        problem = draw(kind, dtype, dynamic, seeded(kind, slot))
        for target in ("cpu", "cuda", "portable")[slot % 3 : slot % 3 + 1]:
            options = Target(target, OPSETS[slot % len(OPSETS)], strict_ieee=bool(slot % 2))
            _check(problem, options)


def _check(problem: SpecProblem, target: Target) -> None:
    want = evaluate(problem.module(), problem.feeds)
    try:
        module = apply(problem.module(), pipelines.lower(target))
    except UnsupportedError:
        few_bits = "uantize" in problem.kind and (target.opset < 21 or target.name == "cuda")
        assert problem.dtype == "f64" or target.opset < 18 or few_bits, (problem.kind, target)
        return
    problem.assert_agree(evaluate(module, problem.feeds), want)
    if target.name == "cuda":
        return
    session = Session(export(module, opset=target.opset, metadata={}), threads=1)
    got = session.run(dict(zip(problem.names, problem.feeds, strict=True)))
    problem.assert_agree(tuple(got.values()), want)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_text_round_trip(kind: str):
    module = draw(kind, spec_class(kind).SPEC.dtypes[0], True, seeded(kind, 100)).module()
    text = str(module)
    assert str(import_mlir(text, "row.mlir")) == text


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_has_a_form(kind: str):
    known = {*op_specs.FORMS, *op_specs.DERIVATIVES, *op_specs.REDUCTIONS, *op_specs.CONVERSIONS}
    assert kind in known, f"missing: {kind} in passes/lower_onednn/op_specs.py"


@pytest.mark.parametrize("kind", BACKWARD)
def test_backward_is_the_derivative_of_forward(kind: str):
    """<g, F(x + h) - F(x - h)> / 2h against the backward op, in float64, away from kinks."""
    backward, forward = spec_class(kind).SPEC, spec_class(kind.removesuffix("Backward")).SPEC
    assert isinstance(backward, BackwardOpSpec)
    rng = seeded(kind, 200)
    x = rng.uniform(0.1, 0.9, 400) * np.where(kind == "SqrtBackward", 1, rng.choice([-1, 1], 400)) * 4
    attributes = _attributes(kind)
    step = 1e-6
    kinked = np.abs(x[:, None] - _kinks(attributes)).min(1) < 1e-4
    x = x[~kinked]
    g = rng.normal(size=x.shape)
    slope = (forward.meaning(x + step, **attributes) - forward.meaning(x - step, **attributes)) / (2 * step)
    np.testing.assert_allclose(backward.meaning(x, g, **attributes), g * slope, rtol=2e-6, atol=1e-7)
    if backward.from_dst is not None:
        by_dst = backward.from_dst(forward.meaning(x, **attributes), g, **attributes)
        np.testing.assert_allclose(by_dst, g * slope, rtol=2e-6, atol=1e-7)


def _attributes(kind: str) -> Mapping[str, Any]:
    given = {"alpha": 0.7, "beta": 0.4, "min": -1.5, "max": 2.0, "mode": "gelu_tanh"}
    return {name: given[name] for name in spec_class(kind).SPEC.attributes}


def _kinks(attributes: Mapping[str, Any]) -> np.ndarray:
    alpha, beta = attributes.get("alpha", 1), attributes.get("beta", 0)
    return np.array([0, -3, 3, -1.5, 2.0, -beta / alpha, (1 - beta) / alpha])


def test_a_decision_is_made_on_rounded_values():
    """1 + 1/512 is 1 in bf16, so it is at least 1 + 1/256 nowhere between two ops, either."""
    text = """
    func.func @main(%x: tensor<2xbf16>, %y: tensor<2xbf16>) -> tensor<2xi1> {
      %s = onednn.add %x, %y : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xbf16>
      %z = onednn.greater_equal %x, %s : (tensor<2xbf16>, tensor<2xbf16>) -> tensor<2xi1>
      func.return %z : tensor<2xi1>
    }"""
    import ml_dtypes

    feeds = [np.array([1, 2], ml_dtypes.bfloat16), np.array([2.0**-9, 1], ml_dtypes.bfloat16)]
    source = import_mlir(text, "decision.mlir")
    (want,) = evaluate(source, feeds)
    assert want.tolist() == [True, False]
    (got,) = evaluate(apply(source, pipelines.lower(Target())), feeds)
    assert got.tolist() == want.tolist()


def test_a_cast_that_rounds_stays():
    """1 + 1/512 is 1 in bf16, also where the next op widens it again."""
    text = """
    func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> {
      %n = onednn.type_cast %x : (tensor<1xf32>) -> tensor<1xbf16>
      %r = onednn.reorder %n : (tensor<1xbf16>) -> tensor<1xbf16>
      %m = onednn.relu %r : (tensor<1xbf16>) -> tensor<1xbf16>
      %y = onednn.type_cast %m : (tensor<1xbf16>) -> tensor<1xf32>
      func.return %y : tensor<1xf32>
    }"""
    feeds = [np.array([1 + 2.0**-9], np.float32)]
    source = import_mlir(text, "cast.mlir")
    module = apply(source, pipelines.lower(Target()))
    for found in (evaluate(source, feeds), evaluate(module, feeds)):
        assert found[0].tolist() == [1]
    (got,) = Session(export(module, opset=18, metadata={}), threads=1).run({"x": feeds[0]}).values()
    assert got.tolist() == [1]


DROPOUT = """
func.func @main(%x: tensor<2xf32>, %s: tensor<i64>, %o: tensor<i64>{argument})
    -> (tensor<2xf32>, tensor<2xui8>) {
  {constant}
  %y, %m = onednn.dropout %x, %s, %o, %p : (tensor<2xf32>, tensor<i64>, tensor<i64>, tensor<f32>)
    -> (tensor<2xf32>, tensor<2xui8>)
  func.return %y, %m : tensor<2xf32>, tensor<2xui8>
}"""


def _dropout(argument: str, constant: str):
    return import_mlir(DROPOUT.replace("{argument}", argument).replace("{constant}", constant), "drop.mlir")


def test_a_dropout_that_drops_is_refused():
    dense = "%p = arith.constant dense<{}> : tensor<f32>"
    apply(_dropout("", dense.format(0.0)), pipelines.lower(Target()))
    with pytest.raises(UnsupportedError, match=r"probability: given 0\.5, expected 0"):
        apply(_dropout("", dense.format(0.5)), pipelines.lower(Target()))


@pytest.mark.parametrize("probability", [0, 0.5])
def test_a_dropout_of_run_time(probability: float):
    source = _dropout(", %p: tensor<f32>", "")
    feeds = [np.ones(2, np.float32), np.int64(1), np.int64(2), np.float32(probability)]
    module = apply(source, pipelines.lower(Target()))
    for y, mask in (evaluate(source, feeds), evaluate(module, feeds)):
        np.testing.assert_array_equal(y, [1, 1] if probability == 0 else [np.nan, np.nan])
        assert mask.tolist() == [1, 1]
