"""Models that ask for derivatives of their own values, by ONNX's preview op Gradient."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.support.diagnostics import GradcError

DOMAIN = "ai.onnx.preview.training"
CASES = Path(onnx.backend.test.__file__).parent / "data" / "simple"
A, B, C = (np.random.default_rng(i).normal(size=(2, 3)).astype(np.float32) for i in range(3))


def model(nodes, outputs=("da",), inputs=("a", "b")) -> onnx.ModelProto:
    shape = [None, 3]
    graph = helper.make_graph(
        [helper.make_node(*node[:3], **(node[3] if node[3:] else {})) for node in nodes],
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in outputs],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def gradient(inputs: list[str], outputs: list[str], **requested: object):
    return ("Gradient", inputs, outputs, {"domain": DOMAIN, **requested})


@pytest.mark.parametrize("name", ["test_gradient_of_add", "test_gradient_of_add_and_mul"])
def test_the_cases_of_onnx(name: str):
    def arrays(kind: str) -> list[np.ndarray]:
        files = sorted((CASES / name / "test_data_set_0").glob(f"{kind}_*.pb"))
        return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]

    found = gradc.compile(CASES / name / "model.onnx")
    got = found.run(dict(zip((info.name for info in found.inputs), arrays("input"), strict=True)))
    for info, want in zip(found.outputs, arrays("output"), strict=True):
        np.testing.assert_allclose(got[info.name], want, rtol=1e-6)
    assert {opset.domain for opset in found.model.opset_import} <= {""}


def test_what_is_not_named_stands_still():
    """By an intermediate value, of which nothing before it is asked; the output of b is left out."""
    nodes = [
        ("Mul", ["a", "a"], ["h"]),
        ("Mul", ["h", "b"], ["t"]),
        ("Tanh", ["t"], ["y"]),
        gradient(["h", "b"], ["da"], xs=["h", "b"], y="y"),
    ]
    got = gradc.compile(model(nodes)).run({"a": A, "b": B})["da"]
    np.testing.assert_allclose(got, B * (1 - np.tanh(A * A * B) ** 2), rtol=1e-5)


def test_at_other_values():
    """y = a^2 b, differentiated by a where a is c."""
    nodes = [
        ("Mul", ["a", "a"], ["s"]),
        ("Mul", ["s", "b"], ["y"]),
        gradient(["c", "b"], ["da"], xs=["a"], zs=["b"], y="y"),
        ("Add", ["y", "da"], ["sum"]),
    ]
    got = gradc.compile(model(nodes, ("da", "sum"), ("a", "b", "c"))).run({"a": A, "b": B, "c": C})
    np.testing.assert_allclose(got["da"], 2 * C * B, rtol=1e-5)
    np.testing.assert_allclose(got["sum"], A * A * B + 2 * C * B, rtol=1e-5)


def test_a_gradient_of_a_gradient():
    nodes = [
        ("Mul", ["a", "a"], ["s"]),
        ("Mul", ["s", "a"], ["y"]),
        gradient(["a"], ["first"], xs=["a"], y="y"),
        gradient(["a"], ["da"], xs=["a"], y="first"),
    ]
    got = gradc.compile(model(nodes)).run({"a": A, "b": B})["da"]
    np.testing.assert_allclose(got, 6 * A, rtol=1e-5)
    again = gradc.grad(model(nodes), wrt="a", of="da", reduce="sum", check=True)
    np.testing.assert_allclose(again.run({"a": A, "b": B})["grad_a"], np.full(A.shape, 6), rtol=1e-5)


@pytest.mark.parametrize(
    ("requested", "text"),
    [
        ({"xs": ["nobody"], "y": "y"}, 'no input, initializer or earlier node defines "nobody"'),
        ({"xs": ["a"], "zs": ["b"], "y": "y"}, "1 inputs for 1 xs and 1 zs"),
        ({"xs": ["a"]}, "a Gradient"),
        ({"xs": [1, 2], "y": "y"}, "expected names"),
        ({"xs": 3, "y": "y"}, "expected names"),
        ({"xs": ["a"], "y": "counted"}, "counted: given .*expected a tensor of floats"),
    ],
)
def test_what_makes_no_sense_is_refused(requested: dict[str, object], text: str):
    nodes = [("Mul", ["a", "b"], ["y"]), ("Shape", ["y"], ["counted"]), gradient(["a"], ["da"], **requested)]
    with pytest.raises(GradcError, match=text):
        gradc.compile(model(nodes))


def test_an_op_without_a_derivative_is_named():
    nodes = [("Det", ["m"], ["y"], {"name": "det"}), gradient(["m"], ["da"], xs=["m"], y="y")]
    with pytest.raises(GradcError, match=r"no derivative.*size of the matrices"):
        gradc.compile(model(nodes, inputs=("m",)))


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "remedy"),
    [
        ("Adam", "RTXGVH", ["Xn", "Vn", "Hn"], "--optimizer adam"),
        ("Adagrad", "RTXGH", ["Xn", "Hn"], "--optimizer adagrad"),
        ("Momentum", "RTXGV", ["Xn", "Vn"], "--optimizer sgd:momentum=0.9"),
    ],
)
@pytest.mark.parametrize("use", [gradc.compile, gradc.grad])
def test_an_optimizer_of_the_preview_is_refused(use, op: str, inputs: str, outputs: list[str], remedy: str):
    node = helper.make_node(op, list(inputs), outputs, "update", domain=DOMAIN)
    types = {"T": TensorProto.INT64}
    infos = [
        helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), [] if name in "RT" else [2])
        for name in inputs
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in outputs]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(DOMAIN, 1)]
    model = helper.make_model(helper.make_graph([node], "g", infos, results), opset_imports=opsets)
    model.ir_version = 9
    with pytest.raises(gradc.UnsupportedError, match=f'"update".*no runtime implements.*{remedy}'):
        use(model)


def test_training_info_is_refused():
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    model.training_info.add()
    with pytest.raises(gradc.UnsupportedError, match=r"training_info.*del model.training_info"):
        gradc.compile(model)
    del model.training_info[:]
    assert gradc.compile(model)
