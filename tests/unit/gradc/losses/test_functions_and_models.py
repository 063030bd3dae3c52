"""Losses of the user's: an output of the model, a function, a second ONNX model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from xdsl.context import Context
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.diagnostics import GradcError, UsageError
from dialects.support.entry import entry_function, input_names, output_names
from dialects.support.shapes import shape_of, show
from gradc import ops
from gradc.losses import Function, Model, Output
from passes.training.attach_loss import AttachLossPass, Term
from tests.support.attached_losses import attach, by_numpy, by_onnxruntime

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 3))


def weighted_error(x: Any, label: Any, weight: Any) -> Any:
    return ops.ReduceMean(weight * (x - label).square(), keepdims=0)


def test_a_function_has_a_label_for_each_further_parameter():
    w = RNG.uniform(size=(4, 3))
    loss, gradient = by_numpy(Function(weighted_error), {"x": X}, {"label": Y, "weight": w})
    np.testing.assert_allclose(loss, (w * (X - Y) ** 2).mean())
    np.testing.assert_allclose(gradient, 2 * w * (X - Y) / X.size)


def test_a_function_of_several_values():
    def both(a: Any, b: Any) -> Any:
        return ops.ReduceSum(a * b, keepdims=0)

    loss, by_a, by_b = by_numpy(Function(both), {"a": X, "b": Y}, {})
    np.testing.assert_allclose(loss, (X * Y).sum())
    np.testing.assert_array_equal(by_a, Y)
    np.testing.assert_array_equal(by_b, X)


def test_types_of_labels():
    def picked(x: Any, label: Any) -> Any:
        return -ops.ReduceMean(ops.GatherElements(x, label.unsqueeze([1]), axis=1), keepdims=0)

    loss = Function(picked, labels={"label": ("int64", ["N"])})
    function = entry_function(attach(loss, {"x": X}, {"x": ("N", 3)}))
    assert show(shape_of(function.args[1])) == "[N]"
    label = np.array([0, 2, 1, 0])
    found = by_onnxruntime(loss, {"x": X}, {"label": label}, {"x": ("N", 3)})[0]
    np.testing.assert_allclose(found, -X[range(4), label].mean())


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, label: x - label, r"loss <lambda> returns: given f64 \[4, 3\], expected one float"),
        (lambda x, label: 3, "returns: given int, expected a Value"),
        (lambda x, label: x.equals(label), "returns: given boolean"),
        (lambda x, label: x.nonsense(), "the loss <lambda> fails in line .*: AttributeError"),
    ],
)
def test_wrong_functions(function: Any, message: str):
    with pytest.raises(UsageError, match=message):
        attach(Function(function), {"x": X})


@pytest.mark.parametrize("type_", ["int64", ("intt", ["N"]), ("int64", [1.5])])
def test_wrong_types_of_labels(type_: Any):
    with pytest.raises(UsageError, match=r"label label: given .*, expected a dtype and sizes"):
        attach(Function(weighted_error, labels={"label": type_}), {"x": X})


def test_an_output_is_the_loss():
    x = np.array([[2.5]])
    loss, gradient = by_numpy(Output(), {"x": x}, {})
    assert (loss, loss.shape, gradient) == (2.5, (), 1)


def test_an_output_named_loss_becomes_the_first_result():
    type_ = "tensor<3xf64>"
    module = Parser(
        dialects.context(),
        f"""func.func @main(%x: {type_}) -> ({type_}, tensor<f64>) {{
          %y = onnx.Neg %x : ({type_}) -> {type_}
          %loss = onnx.ReduceSum %y {{keepdims = 0 : i64}} : ({type_}) -> tensor<f64>
          func.return %y, %loss : {type_}, tensor<f64>
        }}""",
    ).parse_module()
    AttachLossPass((Term(["loss"], Output()),)).apply(Context(), module)
    module.verify()
    assert output_names(entry_function(module)) == ("loss", "y")
    assert evaluate(module, [np.ones(3)])[0] == -3


def test_an_output_of_several_elements_is_refused():
    with pytest.raises(UsageError, match=r"Output reads: given f64 \[4, 3\], expected one float"):
        attach(Output(), {"x": X})


def loss_model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]>\ng {text}')


WEIGHTED = loss_model("""(double[B, 3] x, double[B, 3] target, double[B, K] unused) => (double loss)
  <double[3] w = {1, 2, 3}> {
    d = Sub (x, target)
    s = Mul (d, d)
    p = Mul (s, w)
    loss = ReduceMean <keepdims = 0> (p)
}""")


def test_a_model_is_bound_by_name(tmp_path: Path):
    path = tmp_path / "weighted.onnx"
    onnx.save(WEIGHTED, path)
    for source in (WEIGHTED, path, str(path)):
        labels = {"target": Y, "unused": X}
        loss, gradient = by_numpy(Model(source), {"x": X}, labels)
        np.testing.assert_allclose(loss, ((X - Y) ** 2 * [1, 2, 3]).mean())
        np.testing.assert_allclose(gradient, 2 * (X - Y) * [1, 2, 3] / X.size)


def test_sizes_of_a_model_are_those_of_the_values():
    module = attach(Model(WEIGHTED), {"x": X}, {"x": ("N", 3)})
    function = entry_function(module)
    assert input_names(function) == ("in_x", "target", "unused")
    assert [show(shape_of(argument)) for argument in function.args[1:]] == ["[N, 3]", "[N, ?]"]


def test_inputs_bind_other_names():
    loss = Model(WEIGHTED, inputs={"x": "logits"})
    assert loss.reads(["logits", "other"]) == ["logits"]
    found = by_numpy(loss, {"logits": X}, {"target": Y, "unused": X})[0]
    np.testing.assert_allclose(found, ((X - Y) ** 2 * [1, 2, 3]).mean())


def test_half_values_are_widened():
    model = loss_model("""(float[N, 3] x, float[N, 3] y) => (float l) {
      d = Sub (x, y)
      l = ReduceL1 <keepdims = 0> (d)
    }""")
    loss, gradient = by_onnxruntime(Model(model), {"x": X.astype(np.float16)}, {"y": Y.astype(np.float32)})
    assert (loss.dtype, gradient.dtype) == (np.float32, np.float16)


def test_a_model_with_branches():
    model = loss_model("""(double[B, 3] x, bool c) => (double loss) {
      s = If (c) <
        then_branch = t () => (double a) { a = ReduceSum <keepdims = 0> (x) },
        else_branch = e () => (double b) { b = ReduceMean <keepdims = 0> (x) }
      >
      loss = Mul (s, s)
    }""")
    for condition, total in ((True, X.sum()), (False, X.mean())):
        loss, _ = by_onnxruntime(Model(model), {"x": X}, {"c": np.array(condition)}, {"x": ("N", 3)})
        np.testing.assert_allclose(loss, total**2)


def test_names_within_the_loss_are_no_names_of_the_model():
    model = loss_model("""(double[B, 3] x) => (double l) {
      logits = Neg (x)
      l = ReduceSum <keepdims = 0> (logits)
    }""")
    module = attach(Model(model), {"x": X})
    names = {value.name_hint for op in entry_function(module).walk() for value in op.results}
    assert "logits" not in names


@pytest.mark.parametrize(
    ("model", "values", "message"),
    [
        (WEIGHTED, {"y": X}, "loss model has no input for the value y; its inputs are x, target and unused"),
        (WEIGHTED, {"x": X[:, :2]}, r"input x: given f64 \[4, 2\], expected f64 \[B, 3\]"),
        (WEIGHTED, {"x": X.astype(np.float32)}, r"input x: given f32 \[4, 3\], expected f64 \[B, 3\]"),
        (
            loss_model("(double[B, 3] x) => (double[B, 3] y) { y = Neg (x) }"),
            {"x": X},
            r"returns: given f64 \[4, 3\], expected one float",
        ),
    ],
)
def test_models_that_do_not_fit(model: onnx.ModelProto, values: Any, message: str):
    with pytest.raises(UsageError, match=message):
        attach(Model(model), values)


def test_models_that_are_no_losses():
    two = loss_model("(double[3] x) => (double[3] y, double[3] z) { y = Neg (x) z = Abs (x) }")
    with pytest.raises(UsageError, match="loss model outputs: given 2, expected one, the loss"):
        Model(two)
    with pytest.raises(UsageError, match="has no input xx; did you mean x"):
        Model(WEIGHTED, inputs={"xx": "y"})
    with pytest.raises(UsageError, match="has no input of the name of an output: given y; its inputs are"):
        Model(WEIGHTED).reads(["y"])
    with pytest.raises(GradcError, match=r"nothing\.onnx"):
        Model("nothing.onnx")
