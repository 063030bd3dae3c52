"""Types that exporters say of one run are not believed where others follow from the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper

import gradc

BATCH_OF_TWO = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,4] x) => (float[2,2,2] y) {
    sizes = Shape(x)
    zero = Constant <value_ints = [0]> ()
    five = Constant <value_ints = [5]> ()
    two = Constant <value_ints = [2]> ()
    one = Mod(five, two)
    batch = Slice(sizes, zero, one)
    target = Concat <axis = 0> (batch, two, two)
    parts = Reshape(x, target)
    y = Mul(parts, parts)
}"""
"""Of a batch that is dynamic in the input, and was 2 when the model was exported."""

BRANCH_NOT_TAKEN = """<ir_version: 8, opset_import: ["": 17]>
agraph (float[n,2] x) => (float[n,2] y) {
    shape = Shape(x)
    filled = ConstantOfShape(shape)
    again = Shape(filled)
    count = Size(again)
    zero = Constant <value_int = 0> ()
    is_scalar = Equal(count, zero)
    weighed = Sin(x)
    chosen = If (is_scalar) <
        then_branch = one () => (float[m] a) {
            minus = Constant <value_ints = [-1]> ()
            a = Reshape(weighed, minus)
        },
        else_branch = other () => (float[m] b) <float[m] b> { b = Identity(weighed) }
    >
    y = Mul(chosen, chosen)
}"""
"""As torch writes a scatter_reduce: a branch for scalars, and what is of rank 2 is declared of rank 1."""


def _parsed(text: str) -> ModelProto:
    return onnx.parser.parse_model(text)


def _run(model: ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    last = session.get_outputs()[-1].name
    return np.asarray(session.run([last], {i.name: feeds[i.name] for i in session.get_inputs()})[0])


@pytest.mark.parametrize("batch", [0, 1, 2, 3])
def test_a_cotangent_has_the_size_that_is_proved(batch: int):
    compiled = gradc.vjp(_parsed(BATCH_OF_TWO), wrt=["x"], of=["y"])
    x = np.arange(4.0 * batch, dtype=np.float32).reshape(batch, 4)
    cotangent = np.full((batch, 2, 2), 3, np.float32)
    found = _run(compiled.model, {"x": x, "cotangent_y": cotangent})
    np.testing.assert_allclose(found, 6 * x)


def test_a_declaration_that_is_too_narrow_is_remarked():
    compiled = gradc.vjp(_parsed(BATCH_OF_TWO), wrt=["x"], of=["y"])
    text = " ".join(str(remark) for remark in compiled.remarks)
    assert "y is declared as [2, 2, 2]" in text
    assert "[n, 2, 2]" in text


@pytest.mark.parametrize("wrt", ["x", "weighed"])
def test_a_branch_that_is_not_taken_may_have_a_wrong_type(wrt: str):
    compiled = gradc.vjp(_parsed(BRANCH_NOT_TAKEN), wrt=[wrt], of=["y"])
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)
    given = {"x": x, "cotangent_y": np.ones((3, 2), np.float32)}
    found = _run(compiled.model, given)
    expected = 2 * np.sin(x) * (np.cos(x) if wrt == "x" else 1)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("labels", [{"classlabels_ints": [0, 1]}, {"classlabels_strings": ["a", "b"]}])
def test_what_reads_the_scores_of_a_classifier_is_brought_to_a_newer_opset(labels: dict[str, Any]):
    """onnx infers nothing of these, and a Cast of opset 11 could not be told from what it is today."""
    kind = TensorProto.INT64 if "classlabels_ints" in labels else TensorProto.STRING
    nodes = [
        helper.make_node(
            "SVMClassifier",
            ["x"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            kernel_type="LINEAR",
            kernel_params=[0.0, 0.0, 3.0],
            coefficients=[0.5, -1.0, 1.0, 2.0],
            rho=[0.25],
            **labels,
        ),
        helper.make_node("Cast", ["scores"], ["y"], to=TensorProto.DOUBLE),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])]
    outputs = [
        helper.make_tensor_value_info("label", kind, [None]),
        helper.make_tensor_value_info("y", TensorProto.DOUBLE, [None, 2]),
    ]
    imports = [helper.make_opsetid("", 11), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=imports, ir_version=6)
    x = np.array([[0.5, 2], [-1, 0.25]], np.float32)
    np.testing.assert_array_equal(_run(gradc.compile(model).model, {"x": x}), _run(model, {"x": x}))
