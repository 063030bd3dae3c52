"""The values that names, patterns and the words `:weights` and `:inputs` select, and frozen ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.support.entry import entry_function
from gradc.compiler.driver import load
from gradc.compiler.untied_weights import untie_weights
from gradc.derivatives.wrt_selection import Selection, name_weights, select
from passes.autodiff.named_values import values_by_name


def network() -> onnx.ModelProto:
    """Two layers of which the second has a replaced name, a clipped result, and an unused weight."""
    nodes = [
        helper.make_node("MatMul", ["x", "a.weight"], ["p"], name="/a/MatMul"),
        helper.make_node("Add", ["p", "a.bias"], ["q"], name="/a/Add"),
        helper.make_node("MatMul", ["q", "onnx::MatMul_9"], ["r"], name="/b/MatMul"),
        helper.make_node("Clip", ["r", "low", ""], ["s"], name="/Clip"),
        helper.make_node("Mul", ["s", "z"], ["y"], name="/Mul"),
    ]
    rng = np.random.default_rng(0)
    arrays = {
        "a.weight": rng.standard_normal((4, 3)),
        "a.bias": rng.standard_normal(3),
        "onnx::MatMul_9": rng.standard_normal((3, 2)),
        "low": np.array(-3.0),
        "c.weight": np.ones(2),
    }
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, ["N", 4]), info("z", TensorProto.FLOAT, ["N", 2])],
        [info("y", TensorProto.FLOAT, ["N", 2])],
        [numpy_helper.from_array(array.astype(np.float32), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def selection(given: Sequence[str], frozen: Sequence[str] = ()) -> Selection:
    module = load(network(), for_gradients=())
    name_weights(module, given)
    return select(module, given, frozen)


ALL = ["a.weight", "a.bias", "onnx::MatMul_9"]


@pytest.mark.parametrize(
    ("given", "names", "optional"),
    [
        ([], [], []),
        ([":weights"], ALL, ALL),
        ([":inputs"], ["x", "z"], ["x", "z"]),
        (["x", ":weights"], ["x", *ALL], ALL),
        ([":weights", "a.bias"], [*ALL, "a.bias"], ["a.weight", "onnx::MatMul_9"]),
        (["a.*", ":weights"], ALL, ALL),
        (["b.weight"], ["b.weight"], []),
        (["b.*"], ["onnx::MatMul_9"], ["onnx::MatMul_9"]),
        (["*.weight"], ["a.weight", "onnx::MatMul_9"], ["a.weight", "onnx::MatMul_9"]),
        (["c.weight", "low"], ["c.weight", "low"], []),
    ],
)
def test_selections(given: list[str], names: list[str], optional: list[str]):
    found = selection(given)
    assert list(dict.fromkeys(found.names)) == list(dict.fromkeys(names))
    assert list(found.optional) == optional


@pytest.mark.parametrize(
    ("given", "frozen", "names"),
    [
        ([":weights"], ["a.*"], ["onnx::MatMul_9"]),
        ([":weights"], ["b.weight"], ["a.weight", "a.bias"]),
        ([":weights", "x"], ["onnx::MatMul_9", "*.bias"], ["a.weight", "x"]),
        ([], ["z"], ["x"]),
        ([":weights"], ["x"], ALL),
        (["*"], [":weights", ":inputs", "/*"], ["low"]),
    ],
)
def test_frozen_values_are_left_out(given: list[str], frozen: list[str], names: list[str]):
    assert list(selection(given, frozen).names) == names


@pytest.mark.parametrize(
    ("given", "frozen", "message"),
    [
        (
            [":weight"],
            [],
            "wrt: given :weight, expected a name, a pattern, :weights or :inputs",
        ),
        (["bb.wieght"], [], "wrt: there is no value bb.wieght; did you mean b.weight"),
        ([":weights"], ["a.wieght"], "frozen: no value matches a.wieght; did you mean a.weight"),
        ([":weights"], ["b.bias*"], "frozen: no value matches b.bias"),
        (["a.bias", ":weights"], ["a.bias"], "wrt and frozen: given a.bias in wrt and in frozen, expected"),
        (["a.bias", ":weights"], ["a.*"], "wrt and frozen: given a.bias"),
        (["b.weight"], ["b.*"], "wrt and frozen: given b.weight"),
        ([":weights"], ["*"], "frozen: given all of a.weight, a.bias and onnx::MatMul_9"),
        (["b.weight", "onnx::MatMul_9"], [], "both are onnx::MatMul_9 in the file; untie=True gives"),
    ],
)
def test_mistakes(given: list[str], frozen: list[str], message: str):
    with pytest.raises(gradc.UsageError) as caught:
        selection(given, frozen)
    assert message in str(caught.value)


def test_a_model_without_trainable_weights():
    source = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 18]> g (float[2] x) => (float[2] y) { y = Exp (x) }'
    )
    with pytest.raises(gradc.UsageError, match="wrt :weights: given a model without trainable weights"):
        select(load(source, for_gradients=()), [":weights"])


def test_a_traced_name_is_that_of_input_and_result():
    found = gradc.vjp(network(), wrt="b.weight")
    assert found.gradients == {"b.weight": "grad_b.weight"}
    assert list(found.weights) == ["b.weight"]
    (remark,) = found.remarks
    assert remark.message.startswith("b.weight is onnx::MatMul_9, transposed, in the file; so are its value")
    fed = {"x": np.ones((1, 4), np.float32), "z": np.ones((1, 2), np.float32)}
    other = gradc.vjp(network(), wrt="onnx::MatMul_9")
    fed["cotangent_y"] = np.ones((1, 2), np.float32)
    np.testing.assert_array_equal(found.run(fed)["grad_b.weight"], other.run(fed)["grad_onnx::MatMul_9"])


def test_weights_of_a_gradient_by_the_word():
    found = gradc.vjp(network(), wrt=":weights", check=True)
    assert list(found.gradients) == ALL
    assert found.proof is not None
    assert found.proof.status == "proved"


def merged() -> onnx.ModelProto:
    """A weight that torch's exporter stored once for two normalizations."""
    nodes = [
        helper.make_node("LayerNormalization", ["x", "a.weight"], ["p"], name="n0"),
        helper.make_node("LayerNormalization", ["p", "a.weight"], ["y"], name="n1"),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", TensorProto.FLOAT, [2, 4])],
        [info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(np.ones(4, np.float32), "a.weight")],
    )
    signature = "p_a: PARAMETER target='a.weight'\np_b: PARAMETER target='b.weight'\nx: USER_INPUT"
    graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.graph_signature", value=signature)
    for node, argument in zip(graph.node, ("p_a", "p_b"), strict=True):
        call = f"%v : call_function[target=torch.ops.aten.layer_norm.default](args = (%x, [4], %{argument}))"
        node.metadata_props.add(key="pkg.torch.onnx.fx_node", value=call)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def test_merged_parameters_are_frozen_together_or_untied():
    with pytest.raises(gradc.UsageError, match=r"frozen: given b\.weight, expected a\.weight as well"):
        gradc.vjp(merged(), wrt=[":weights", "x"], frozen="b.*")
    found = gradc.vjp(merged(), wrt=[":weights", "x"], frozen="*.weight")
    assert list(found.gradients) == ["x"]
    found = gradc.vjp(merged(), wrt=[":weights", "x"], frozen="b.*", untie=True)
    assert list(found.gradients) == ["a.weight", "x"]
    assert not found.remarks


def test_untied_parameters_have_their_own_gradients():
    shared = gradc.vjp(merged(), wrt=":weights", check=True)
    (remark,) = shared.remarks
    assert "a.weight is read by LayerNormalization n0 and LayerNormalization n1" in remark.message
    assert remark.message.endswith("untie=True gives each of them a weight")
    untied = gradc.vjp(merged(), wrt=["a.weight", "b.weight"], untie=True, check=True)
    assert list(untied.gradients) == ["a.weight", "b.weight"]
    x = np.random.default_rng(0).standard_normal((2, 4)).astype(np.float32)
    fed = {"x": x, "cotangent_y": x[::-1].copy()}
    one, both = shared.run(fed), untied.run(fed)
    total = both["grad_a.weight"] + both["grad_b.weight"]
    np.testing.assert_allclose(one["grad_a.weight"], total, rtol=1e-5, atol=1e-5)


HEAD = '<ir_version: 8, opset_import: ["": 18]> g (float[2, 2] x) => (float[2, 2] y)'
SHARED = f"""{HEAD} <float[2, 2] w = {{1, 2, 3, 4}}> {{
    [first] a = MatMul (x, w)
    t = Transpose (w)
    [second] b = MatMul (a, t)
    [third] y = Mul (b, w)
}}"""


def module_of_parts() -> Any:
    module = load(onnx.parser.parse_model(SHARED), for_gradients=())
    untie_weights(module)
    return module


def test_each_reader_has_a_weight():
    module = module_of_parts()
    names = values_by_name(entry_function(module))
    assert [name for name in names if name.startswith("w")] == ["w", "w.2", "w.3"]
    readers = {name: [use.operation.name for use in names[name].uses] for name in ("w", "w.2", "w.3")}
    assert readers == {"w": ["onnx.MatMul"], "w.2": ["onnx.Transpose"], "w.3": ["onnx.Mul"]}
    module.verify()


@pytest.mark.parametrize("word", ["w", "w*", ":weights"])
def test_all_parts_are_selection(word: str):
    assert list(select(module_of_parts(), [word]).names) == ["w", "w.2", "w.3"]


def test_one_part_alone():
    assert list(select(module_of_parts(), ["w.2"]).names) == ["w.2"]


def test_a_weight_with_one_reader_stays():
    module = load(network(), for_gradients=())
    before = str(module)
    untie_weights(module)
    assert str(module) == before
