"""What a vectorization makes of results, names, types and ops that depend on no row."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.entry import entry_function, input_names, output_names
from dialects.support.shapes import shape_of
from passes.infer_types import infer_types
from passes.vectorize.vectorize import vectorize

SCALARS = """
    func.func @f(%x: tensor<f64> {gradc.name = "x:0"}, %z: tensor<2xf64>)
        -> (tensor<f64> {gradc.name = "y:0"}, tensor<2xf64>, tensor<f64>) {
      %s = onnx.ReduceSum %x {keepdims = 0} : (tensor<f64>) -> tensor<f64>
      %e = onnx.Exp %z : (tensor<2xf64>) -> tensor<2xf64>
      %m = onnx.Mul %e, %s : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
      %r = onnx.ReduceMax %m {keepdims = 0} : (tensor<2xf64>) -> tensor<f64>
      func.return %r, %e, %x : tensor<f64>, tensor<2xf64>, tensor<f64>
    }"""
CUMULATIVE = """
    func.func @f(%x: tensor<3xf64>) -> tensor<?xi64> {
      %n = onnx.NonZero %x : (tensor<3xf64>) -> tensor<1x?xi64>
      %a = onnx.Constant dense<0> : tensor<1xi64>
      %y = onnx.Squeeze %n, %a : (tensor<1x?xi64>, tensor<1xi64>) -> tensor<?xi64>
      func.return %y : tensor<?xi64>
    }"""
OPTIONAL = """
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %o = onnx.Optional %x : (tensor<2xf64>) -> !onnx.opt<tensor<2xf64>>
      %y = onnx.OptionalGetElement %o : (!onnx.opt<tensor<2xf64>>) -> tensor<2xf64>
      func.return %y : tensor<2xf64>
    }"""


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    infer_types(module)
    return module


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("named", [False, True])
def test_scalars_get_the_axis_and_other_results_are_repeated(rows: int, named: bool):
    module = parse(SCALARS)
    function = entry_function(module)
    found = vectorize(function, [function.args[0]], "K" if named else rows)
    module.verify()
    assert found.batched == [True, False, True]
    x, z = np.arange(1.0, 1 + rows), np.array([1.0, 2.0])
    largest, exponentials, same = evaluate(module, [x, z])
    np.testing.assert_allclose(largest, x * np.exp(2))
    np.testing.assert_allclose(exponentials, np.stack([np.exp(z)] * rows))
    np.testing.assert_array_equal(same, x)


def test_a_result_that_depends_on_no_row_can_be_left_as_it_is():
    module = parse(SCALARS)
    function = entry_function(module)
    vectorize(function, [function.args[0]], 3, expand=[False] * len(output_names(function)))
    assert [shape_of(type_) for type_ in function.function_type.outputs] == [(3,), (2,), (3,)]


def test_names_stay_and_types_have_the_axis():
    module = parse(SCALARS)
    function = entry_function(module)
    names = input_names(function), output_names(function)
    vectorize(function, [function.args[0]], "K")
    assert (input_names(function), output_names(function)) == names
    shapes = [[str(dim) for dim in shape_of(type_)] for type_ in function.function_type.inputs]
    assert shapes == [["K"], ["2"]]


def test_an_op_that_depends_on_no_row_is_computed_once():
    module = parse(SCALARS)
    function = entry_function(module)
    vectorize(function, [function.args[0]], 3)
    (exponential,) = (op for op in module.walk() if op.name == "onnx.Exp")
    assert shape_of(exponential.results[0]) == (2,)


def test_an_op_without_a_rule_is_computed_row_by_row_and_listed():
    module = parse(CUMULATIVE)
    function = entry_function(module)
    found = vectorize(function, [function.args[0]], 2)
    assert [op.name for op in found.fallbacks] == ["onnx.NonZero"]
    assert [op.parent_op().name for op in found.fallbacks] == ["onnx.Scan"]
    (result,) = evaluate(module, [np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])])
    np.testing.assert_array_equal(result, [[0, 2], [1, 2]])


def test_only_an_argument_can_get_the_axis():
    module = parse(SCALARS)
    function = entry_function(module)
    inner = function.body.block.first_op.results[0]
    with pytest.raises(GradcError, match="value to vectorize over"):
        vectorize(function, [inner], 3)


def test_an_optional_value_is_refused():
    module = parse(OPTIONAL)
    function = entry_function(module)
    with pytest.raises(UnsupportedError, match="op computed row by row"):
        vectorize(function, [function.args[0]], 3)
