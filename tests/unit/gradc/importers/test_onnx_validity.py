"""Models that break rules of ONNX, or contradict themselves: errors that name the culprit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.cli import run_gradc

import gradc
from dialects.support.diagnostics import GradcError

DOMAINS = '"" : 18, "ai.onnx.ml" : 3, "mine" : 1'


def parsed(graph: str, imports: str = DOMAINS) -> ModelProto:
    return onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{imports}]>\n{graph}")


NEWEST = onnx.defs.onnx_opset_version()

RELU = "g (float[2] x) => (float[2] y) { y = Relu (x) }"
CONV = """g (float[1,1,5,5] x, float[1,1,3,3] w) => (float[1,1,5,5] y) {
    y = %s <auto_pad = %s, pads = %s> (x, w) }"""
FUNCTIONS = """
<domain: "mine", opset_import: ["" : 18]> f (a) => (b) { b = Relu (a) }
<domain: "mine", opset_import: ["" : 18]> f (a) => (b) { b = Neg (a) }"""

WRONG = {
    "misspelt": (
        RELU.replace("Relu", "Rellu"),
        DOMAINS,
        '"y", node 0] Rellu is not an op of ONNX; did you mean Relu',
    ),
    "case": (RELU.replace("Relu", "relu"), DOMAINS, "relu is not an op of ONNX; did you mean Relu"),
    "plugin": (RELU.replace("Relu", "BatchedNMS_TRT"), DOMAINS, "BatchedNMS_TRT is not an op of ONNX"),
    "misspelt-ml": (
        RELU.replace("Relu", "ai.onnx.ml.Scalr"),
        DOMAINS,
        "Scalr is not in the domain ai.onnx.ml; did you mean Scaler",
    ),
    "opset-99": (RELU, '"" : 99', f'opset of the domain "": given 99, expected 1 to {NEWEST}'),
    "ml-opset-99": (RELU, '"" : 18, "ai.onnx.ml" : 99', 'opset of the domain "ai.onnx.ml": given 99'),
    "two-opsets": (RELU, '"" : 18, "ai.onnx" : 11', "given 18 and 11, expected one version"),
    "conv-pads": (
        CONV % ("Conv", '"SAME_UPPER"', "[1,1,1,1]"),
        DOMAINS,
        "pads of Conv with auto_pad SAME_UPPER: given [1, 1, 1, 1]",
    ),
    "conv-transpose-pads": (
        CONV % ("ConvTranspose", '"VALID"', "[0,0,1,1]"),
        DOMAINS,
        "pads of ConvTranspose with auto_pad VALID",
    ),
    "output-dtype": (
        "g (float[2] x) => (double[2] y) { y = Relu (x) }",
        DOMAINS,
        '[output "y"] type: given declared as f64, expected f32',
    ),
    "output-kind": (
        "g (float[2] x) => (float[2] y) { y = SequenceConstruct (x) }",
        DOMAINS,
        '[output "y"] type: given declared as f32, expected seq(f32)',
    ),
    "two-functions": (RELU + FUNCTIONS, DOMAINS, "the function mine.f is given twice"),
}  # fmt: skip


@pytest.mark.parametrize(("graph", "imports", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_model_is_an_error_that_names_what_is_wrong(graph: str, imports: str, message: str):
    with pytest.raises(GradcError) as caught:
        gradc.compile(parsed(graph, imports))
    assert message in str(caught.value)
    assert caught.value.exit_code == 4


def test_inspect_refuses_an_unknown_op(tmp_path: Path):
    onnx.save(parsed(RELU.replace("Relu", "Addd")), tmp_path / "m.onnx")
    found = run_gradc("inspect", tmp_path / "m.onnx")
    assert found.code == 4
    assert "Addd is not an op of ONNX; did you mean Add?" in found.err


@pytest.mark.parametrize("op", ["Conv", "ConvTranspose"])
def test_pads_of_zeros_beside_auto_pad_are_dropped(op: str):
    """Onnxruntime refuses a Conv with both."""
    x, w = np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5), np.ones((1, 1, 3, 3), np.float32)
    both, one = (parsed(CONV % (op, '"SAME_LOWER"', "[0,0,0,0]")) for _ in range(2))
    del one.graph.node[0].attribute[1]
    found, expected = (gradc.compile(model).run({"x": x, "w": w})["y"] for model in (both, one))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        (TensorProto.DOUBLE, [2], "dtype of the initializer: given f32, expected f64"),
        (TensorProto.FLOAT, [3], "shape of the initializer: given [2], expected [3]"),
        (TensorProto.FLOAT, ["n"], None),
    ],
)
def test_an_input_with_an_initializer_of_another_type(
    dtype: int, shape: list[int | str], message: str | None
):
    model = parsed("g (float[2] x) => (float[2] y) { y = Add (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    model.graph.input.append(helper.make_tensor_value_info("w", dtype, shape))
    if message is None:
        gradc.compile(model)
        return
    with pytest.raises(GradcError) as caught:
        gradc.compile(model)
    assert message in str(caught.value)


BRANCH = """g (bool c, float[2] x, float[2] v) => (float[2] y) <float[2] w = {7, 7}> {
    e = Neg (x)
    y = If (c) <
        then_branch = t () => (float[2] o) %s,
        else_branch = f () => (float[2] p) { p = Relu (x) }>
    later = Exp (x)
}"""
BODY = """g (int64 n, bool go, float[2] x) => (float[2] y) <float[2] w = {7, 7}> {
    e = Neg (x)
    y = Loop (n, go, x) <body = b (int64 i, bool k, float[2] %s) => (bool q, float[2] o) {
        q = Identity (k)  o = Mul (%s, w) }>
}"""


@pytest.mark.parametrize("name", ["x", "v", "w", "e"])
@pytest.mark.parametrize("role", ["initializer", "output"])
def test_a_nested_graph_takes_no_name_of_an_outer_value(name: str, role: str):
    body = (
        "<float[2] %s = {5, 5}> { o = Add (x, %s) }"
        if role == "initializer"
        else "{ %s = Constant <value_floats = [1.0, 2.0]> () o = Exp (%s) }"
    )
    model = parsed(BRANCH % (body % (name, name)))
    with pytest.raises(GradcError, match=f'{role} "{name}" of a nested graph: given the name of a value'):
        gradc.compile(model)


@pytest.mark.parametrize(
    "body", ["<float[2] later = {5, 5}> { o = Add (x, later) }", "{ later = Exp (x) o = Exp (later) }"]
)
def test_a_name_that_is_given_later_is_not_visible(body: str):
    gradc.compile(parsed(BRANCH % body))


@pytest.mark.parametrize("name", ["x", "e", "s"])
def test_the_inputs_of_a_body_may_have_outer_names(name: str):
    """As onnx's checker and onnxruntime take them."""
    x = np.array([1, 2], np.float32)
    found = gradc.compile(parsed(BODY % (name, name))).run({"n": np.array(2), "go": np.array(True), "x": x})
    np.testing.assert_array_equal(found["y"], 49 * x)


def test_an_output_without_a_type_behind_an_op_of_another_domain():
    model = parsed("g (float[2] x) => (float[2] y) { y = mine.Op (x) }")
    model.graph.output[0].ClearField("type")
    (output,) = gradc.compile(model).model.graph.output
    assert output.name == "y"


def test_an_output_without_a_type_behind_an_op_of_machine_learning():
    model = parsed(
        "g (float[2,2] x) => (float[2,2] y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x) }"
    )
    model.graph.output[0].ClearField("type")
    found = gradc.compile(model).run({"x": np.ones((2, 2), np.float32)})["y"]
    np.testing.assert_array_equal(found, np.zeros((2, 2)))


def test_a_model_without_the_content_of_its_weights():
    model = parsed("g (float[2,300] x) => (float[2,2] y) { y = MatMul (x, w) }")
    model.graph.initializer.append(numpy_helper.from_array(np.ones((300, 2), np.float32), "w"))
    with pytest.raises(GradcError, match=r"given none, expected 600; Compiled\.model has the weights"):
        gradc.vjp(gradc.compile(model).proto)
