"""hash-dropout and drop-dropout: masks, refusals, and the gradient."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.diagnostics import GradcError
from dialects.support.entry import entry_function, input_names
from passes.differentiate import Request, differentiate
from passes.targets.target import Target
from passes.training.dropout import DropDropoutPass, dropout_remarks, hash_dropout

X = np.arange(1, 41, dtype=np.float32)
SEED = np.array(5, np.int64)


def parse(body: str, inputs: str = "%x: tensor<40xf32>", results: str = "tensor<40xf32>") -> ModuleOp:
    text = f"func.func @main({inputs}) -> ({results}) {{\n{body}\n}}"
    module = Parser(dialects.context(), text).parse_module()
    module.verify()
    return module


def hash_all(module: ModuleOp) -> ModuleOp:
    hash_dropout(entry_function(module), Target(threads=1))
    module.verify()
    return module


BOTH = """
  %r = onnx.Constant dense<0.25> : tensor<f32>
  %y, %m = onnx.Dropout %x, %r : (tensor<40xf32>, tensor<f32>) -> (tensor<40xf32>, tensor<40xi1>)
  func.return %y, %m : tensor<40xf32>, tensor<40xi1>
"""
RESULTS = "tensor<40xf32>, tensor<40xi1>"


def test_the_mask_is_a_result_too():
    y, mask = evaluate(hash_all(parse(BOTH, results=RESULTS)), [X, SEED])
    assert 0 < mask.sum() < mask.size
    np.testing.assert_allclose(y, np.where(mask, X / 0.75, 0), rtol=1e-6)


def test_off_keeps_everything():
    module = parse(BOTH, results=RESULTS)
    DropDropoutPass().apply(Context(), module)
    y, mask = evaluate(module, [X])
    np.testing.assert_array_equal(y, X)
    assert mask.all()


def test_the_gradient_has_the_mask():
    module = hash_all(parse(BOTH.replace(", %m :", " :").replace(", tensor<40xi1>\n", "\n")))
    differentiate(module, Request(keep=["y"], reduce="sum"))
    y, gradient = evaluate(module, [X, SEED])
    np.testing.assert_allclose(gradient, np.where(y != 0, 1 / 0.75, 0), rtol=1e-6)


def test_a_ratio_of_one_drops_all():
    y, mask = evaluate(hash_all(parse(BOTH.replace("0.25", "1.0"), results=RESULTS)), [X, SEED])
    assert not y.any()
    assert not mask.any()


def test_without_a_ratio_above_zero_there_is_a_remark_and_no_seed():
    module = parse(BOTH.replace("0.25", "0.0"), results=RESULTS)
    (remark,) = dropout_remarks(entry_function(module))
    hash_dropout(entry_function(module), Target(threads=1))
    assert "no Dropout with a ratio above 0" in str(remark)
    assert input_names(entry_function(module)) == ("x",)


BRANCH = """
  %y = onnx.If %c then_branch {
    %a, %m = onnx.Dropout %x : (tensor<40xf32>) -> (tensor<40xf32>, tensor<40xi1>)
    onnx.Yield %a : tensor<40xf32>
  } else_branch {
    onnx.Yield %x : tensor<40xf32>
  } : (tensor<i1>) -> tensor<40xf32>
  func.return %y : tensor<40xf32>
"""


def test_a_ratio_that_is_an_input_is_refused():
    text = BOTH.replace("  %r = onnx.Constant dense<0.25> : tensor<f32>\n", "")
    module = parse(text, "%x: tensor<40xf32>, %r: tensor<f32>", RESULTS)
    with pytest.raises(GradcError, match=r"ratio of Dropout.*expected a constant"):
        hash_all(module)


def test_an_input_named_seed_is_an_error():
    module = parse(BOTH.replace("%x", "%seed"), "%seed: tensor<40xf32>", RESULTS)
    with pytest.raises(GradcError, match="the model has a value named seed"):
        hash_all(module)


@pytest.mark.parametrize("condition", [True, False])
def test_a_dropout_within_a_branch(condition: bool):
    module = hash_all(parse(BRANCH, "%c: tensor<i1>, %x: tensor<40xf32>"))
    (y,) = evaluate(module, [np.array(condition), X, SEED])
    assert bool((y == 0).any()) is condition
    np.testing.assert_allclose(y[y != 0], (X * (2 if condition else 1))[y != 0])


LOOP = """
  %n = onnx.Constant dense<3> : tensor<i64>
  %y = onnx.Loop %n, _, %x body {
  ^bb0(%i: tensor<i64>, %going: tensor<i1>, %a: tensor<40xf32>):
    %d, %m = onnx.Dropout %a : (tensor<40xf32>) -> (tensor<40xf32>, tensor<40xi1>)
    onnx.Yield %going, %d : tensor<i1>, tensor<40xf32>
  } : (tensor<i64>, tensor<40xf32>) -> tensor<40xf32>
  func.return %y : tensor<40xf32>
"""


def test_a_dropout_within_a_loop_is_refused():
    with pytest.raises(GradcError, match="within Loop: every step would have the same mask"):
        hash_all(parse(LOOP))
