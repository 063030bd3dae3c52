"""Weights of ones and zeros that exporters merge: each reader gets a separate one."""

from __future__ import annotations

import onnx
import pytest

from dialects.support.entry import entry_function
from gradc.compiler.driver import load
from gradc.compiler.untied_weights import parts_of_weights, separation_remarks, untie_weights

HEAD = '<ir_version: 8, opset_import: ["": 18]> g (float[2, 2] x) => (float[2, 2] y)'
NETWORK = f"""{HEAD} <float[2] one = {{1, 1}}, float[2] zero = {{0, 0}}, float[2] same = {{2, 2}},
    float[2, 2] w = {{1, 2, 3, 4}}> {{
    [n1] a = LayerNormalization (x, one, zero)
    [p1] b = MatMul (a, w)
    [n2] c = LayerNormalization (b, one, zero)
    [p2] d = MatMul (c, w)
    [n3] e = LayerNormalization (d, same, zero)
    [n4] y = LayerNormalization (e, same)
}}"""


def test_only_ones_and_zeros_are_separate():
    module = load(onnx.parser.parse_model(NETWORK), for_gradients=())
    found = untie_weights(module, uniform_only=True)
    assert found == {"one": ["one.2"], "zero": ["zero.2", "zero.3"]}
    assert parts_of_weights(entry_function(module)) == found
    module.verify()
    norms = [op for op in module.walk() if op.name == "onnx.LayerNormalization"]
    read = [[value.name_hint for value in op.operands[1:]] for op in norms]
    assert read == [["one", "zero"], ["one.2", "zero.2"], ["same", "zero.3"], ["same"]]


def test_all_shared_weights_are_separate_without_the_restriction():
    module = load(onnx.parser.parse_model(NETWORK), for_gradients=())
    assert list(untie_weights(module)) == ["one", "zero", "w", "same"]


def test_the_remark_names_the_weights():
    (remark,) = separation_remarks({"one": ["one.2"], "zero": ["zero.2", "zero.3"]})
    assert remark.severity == "remark"
    assert remark.message.endswith("one (2 weights) and zero (3 weights)")
    assert separation_remarks({}) == ()


SCALE = f"""{HEAD} <float[2] one = {{1, 1}}, float zero = {{0}}> {{
    [n] a = LayerNormalization (x, one)
    [c] y = Clip (a, zero)
}}"""
BOUND = f"""{HEAD} <float zero = {{0}}> {{ [c] a = Clip (x, zero) [m] y = Max (a, zero) }}"""


@pytest.mark.parametrize("text", [SCALE, BOUND])
def test_constants_that_are_no_parameters_stay(text: str):
    module = load(onnx.parser.parse_model(text), for_gradients=())
    before = str(module)
    assert untie_weights(module, uniform_only=True) == {}
    assert str(module) == before
