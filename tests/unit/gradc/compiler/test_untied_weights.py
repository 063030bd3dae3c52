"""Weights of ones and zeros that exporters merge: each reader gets a separate one."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from support.trained_files import model, node, with_program

from dialects.support.entry import entry_function
from gradc.compiler.driver import load
from gradc.compiler.trainable_weights import find_weights
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


GATES = {
    "Slice": "[s1] p = Slice (b, z, t, z) [s2] q = Slice (b, t, f, z)",
    "Split": "[s] p, q = Split <axis = 0> (b, half)",
    "Gather": "[s1] p = Gather <axis = 0> (b, first) [s2] q = Gather <axis = 0> (b, second)",
}


def gates(parts: str, more: str = "") -> onnx.ModelProto:
    """A bias of zeros whose two halves are added to rows; `more` computes y from the value c."""
    return onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
    g (float[2, 2] x) => (float[2, 2] y) <float[4] b = {{0, 0, 0, 0}}, int64[1] z = {{0}}, int64[1] t = {{2}},
    int64[1] f = {{4}}, int64[2] half = {{2, 2}}, int64[2] first = {{0, 1}}, int64[2] second = {{-2, -1}}> {{
        {parts} [a1] a = Add (x, p) [a2] c = Add (a, q) {more or "y = Tanh (c)"} }}""")


@pytest.mark.parametrize("op", GATES)
def test_readers_of_disjoint_parts_share_a_weight(op: str):
    module = load(gates(GATES[op]), for_gradients=())
    assert untie_weights(module) == {}


def test_a_part_that_is_read_twice_belongs_to_two_weights():
    """Two cells of one size begin with the same zeros."""
    second = "[s3] r = Slice (b, z, t, z) [s4] s = Slice (b, t, f, z) d = Add (c, r) y = Add (d, s)"
    module = load(gates(GATES["Slice"], second), for_gradients=())
    assert untie_weights(module, uniform_only=True) == {"b": ["b.2"]}
    slices = [op for op in module.walk() if op.name == "onnx.Slice"]
    assert [op.operands[0].name_hint for op in slices] == ["b", "b", "b.2", "b.2"]


def test_separate_weights_train_if_the_exported_program_names_only_the_shared_one():
    nodes = [node("Mul", "x w", "a", "n1"), node("Mul", "a w", "y", "n2")]
    source = with_program(model(nodes, {"w": np.ones(4, np.float32)}), {"w": "PARAMETER"}, {})
    module = load(source, for_gradients=())
    assert untie_weights(module, uniform_only=True) == {"w": ["w.2"]}
    assert [name for name, one in find_weights(module).items() if one.is_trainable] == ["w", "w.2"]


def called(first: str, second: str) -> onnx.ModelProto:
    """Two nodes of some names that read the ones of the module a.norm."""
    nodes = [node("Mul", "x a.norm.weight", "h", first), node("Mul", "h a.norm.weight", "y", second)]
    return model(nodes, {"a.norm.weight": np.ones(4, np.float32)})


@pytest.mark.parametrize("second", ["/a/norm_1/Mul", "/a_2/norm/Mul", "/a/norm/Mul_1"])
def test_calls_of_one_module_share_its_weight(second: str):
    """A layer that TorchScript's exporter finds several times, as in ALBERT."""
    assert untie_weights(load(called("/a/norm/Mul", second), for_gradients=()), uniform_only=True) == {}


@pytest.mark.parametrize(("name", "shares"), [("a.gates.0", True), ("gate", True), ("a.norm.weight", False)])
def test_a_parameter_of_the_modules_around_is_one(name: str, shares: bool):
    nodes = [node("Mul", f"x {name}", "h", "/Mul"), node("Mul", f"h {name}", "y", "/Mul_1")]
    module = load(model(nodes, {name: np.ones(4, np.float32)}), for_gradients=())
    assert untie_weights(module, uniform_only=True) == ({} if shares else {name: [f"{name}.2"]})


@pytest.mark.parametrize("second", ["/a/norm2/Mul", "/b/norm/Mul", "/norm_1/Mul", "n2", ""])
def test_other_modules_have_separate_weights(second: str):
    module = load(called("/a/norm/Mul", second), for_gradients=())
    assert untie_weights(module, uniform_only=True) == {"a.norm.weight": ["a.norm.weight.2"]}


def test_the_gates_of_a_cell_that_are_joined_share_a_weight():
    """TorchScript's exporter reorders the gates of a GRU by Slice and Concat."""
    parts = "[s1] p = Slice (b, z, t, z) [s2] q = Slice (b, t, f, z)"
    source = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 18]>
    g (float[2, 4] x) => (float[2, 4] y) <float[4] b = {{0, 0, 0, 0}}, int64[1] z = {{0}}, int64[1] t = {{2}},
    int64[1] f = {{4}}> {{ {parts} [c1] c = Concat <axis = 0> (q, p) [c2] d = Concat <axis = 0> (c)
    [a1] a = Add (x, d) [a2] y = Add (a, c) }}""")
    assert untie_weights(load(source, for_gradients=()), uniform_only=True) == {}
