"""batchnorm-train and batchnorm-eval: statistics, states, and what models share."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.entry import defaults, entry_function, input_names, output_names
from dialects.support.names import hint_of
from passes.differentiate import Request, differentiate
from passes.training.batch_norm import batch_norm_remarks, use_batch_statistics

TYPES = "(tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)"
RESULTS = "(tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)"


def parse(body: str, inputs: str = "%x: tensor<?x3x2xf32>") -> ModuleOp:
    text = f"""
    func.func @main({inputs}) -> tensor<?x3x2xf32> {{
      %w = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      %b = onnx.Constant dense<0.5> : tensor<3xf32>
      %m = onnx.Constant dense<[0.0, 1.0, 2.0]> : tensor<3xf32>
      %v = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
      {body}
      func.return %y : tensor<?x3x2xf32>
    }}"""
    module = Parser(dialects.context(), text).parse_module()
    module.verify()
    return module


ONE = (
    f"%y, %n, %u = onnx.BatchNormalization %x, %w, %b, %m, %v {{momentum = 0.8 : f32}} : {TYPES} -> {RESULTS}"
)
TWO = f"""
      %h, %n, %u = onnx.BatchNormalization %x, %w, %b, %m, %v : {TYPES} -> {RESULTS}
      %y, %n2, %u2 = onnx.BatchNormalization %h, %w, %b, %m, %v : {TYPES} -> {RESULTS}"""
MERGED = f'%y, %n, %u = onnx.BatchNormalization %x, %w, %b, %m, %w : {TYPES} -> {RESULTS} loc("bn")'

X = np.random.default_rng(0).normal(size=(5, 3, 2)).astype(np.float32)
MEAN, VAR = np.float32([0, 1, 2]), np.float32([1, 2, 3])


def train(module: ModuleOp, **options: bool) -> None:
    use_batch_statistics(entry_function(module), **options)
    module.verify()


@pytest.mark.parametrize("size", [1, 2, 5])
def test_running_statistics_as_pytorch_has_them(size: int):
    module = parse(ONE)
    train(module)
    function = entry_function(module)
    assert input_names(function) == ("x", "m", "v")
    assert output_names(function) == ("y", "new_m", "new_v")
    assert set(defaults(function)) == {"m", "v"}
    x = X[:size]
    y, mean, variance = evaluate(module, [x, MEAN, VAR])
    batch, biased, number = x.mean((0, 2)), x.var((0, 2)), 2 * size
    scaled = (x - batch[:, None]) / np.sqrt(biased + 1e-5)[:, None]
    np.testing.assert_allclose(y, scaled * np.float32([1, 2, 3])[:, None] + 0.5, atol=1e-5)
    np.testing.assert_allclose(mean, 0.8 * MEAN + 0.2 * batch, rtol=1e-5)
    np.testing.assert_allclose(variance, 0.8 * VAR + 0.2 * biased * number / (number - 1), rtol=1e-5)


def test_one_number_per_channel_keeps_the_variance_finite():
    text = str(parse(ONE)).replace("x3x2x", "x3x1x")
    module = Parser(dialects.context(), text).parse_module()
    train(module)
    _, _, variance = evaluate(module, [X[:1, :, :1], MEAN, VAR])
    np.testing.assert_allclose(variance, 0.8 * VAR, rtol=1e-6)


def test_shared_statistics_become_one_state_for_each_op():
    module = parse(TWO)
    (remark,) = batch_norm_remarks(entry_function(module))
    assert "one tensor m and v for the statistics of several ops" in str(remark)
    train(module)
    assert input_names(entry_function(module)) == ("x", "m", "v", "m.2", "v.2")
    assert output_names(entry_function(module)) == ("y", "new_m", "new_v", "new_m.2", "new_v.2")


def test_a_tensor_that_is_a_scale_too_does_not_name_the_state():
    module = parse(MERGED)
    train(module)
    assert input_names(entry_function(module)) == ("x", "m", "bn.running_var")


def test_statistics_can_stay_constants_and_results_be_left_out():
    module = parse(ONE)
    train(module, inputs=False)
    assert input_names(entry_function(module)) == ("x",)
    assert output_names(entry_function(module)) == ("y", "new_m", "new_v")
    module = parse(ONE)
    train(module, running=False)
    assert output_names(entry_function(module)) == ("y",)


def test_states_are_not_differentiated_by_default():
    module = parse(ONE)
    train(module)
    differentiate(module, Request(reduce="sum", keep=["new_v"]))
    function = entry_function(module)
    assert output_names(function) == ("new_v", "grad_x")
    _, gradient = evaluate(module, [X, MEAN, VAR])
    np.testing.assert_allclose(gradient, 0, atol=1e-5)


def test_weights_with_names_of_computed_ones_get_a_remark():
    name = hint_of("onnx::Conv_12")
    body = f"""
      %{name} = onnx.Constant dense<1.0> : tensor<3x3x1xf32>
      %c = onnx.Conv %x, %{name} : (tensor<?x3x2xf32>, tensor<3x3x1xf32>) -> tensor<?x3x2xf32>
      {ONE.replace("%x,", "%c,")}"""
    (remark,) = batch_norm_remarks(entry_function(parse(body)))
    assert "the weights onnx::Conv_12 have names that PyTorch's exporter gives computed ones" in str(remark)


def test_a_model_without_one_gets_a_remark():
    module = parse("%y = onnx.Relu %x : (tensor<?x3x2xf32>) -> tensor<?x3x2xf32>")
    (remark,) = batch_norm_remarks(entry_function(module))
    assert "no BatchNormalization to train" in str(remark)
