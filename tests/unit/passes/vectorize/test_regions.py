"""Control flow that is vectorized, and control flow that is run row by row."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from support.vectorized import ROWS, assert_rows
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.support.entry import entry_function, input_names, output_names
from passes.differentiate import Request, differentiate
from passes.infer_types import infer_types

IF = """
    func.func @f(%c: tensor<i1>, %x: tensor<2xf64>, %z: tensor<2xf64>) -> (tensor<2xf64>, tensor<2xf64>) {
      %y, %w = onnx.If %c then_branch {
        onnx.Yield %x, %z : tensor<2xf64>, tensor<2xf64>
      } else_branch {
        %n = onnx.Mul %x, %z : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        onnx.Yield %n, %z : tensor<2xf64>, tensor<2xf64>
      } : (tensor<i1>) -> (tensor<2xf64>, tensor<2xf64>)
      func.return %y, %w : tensor<2xf64>, tensor<2xf64>
    }"""
BY_VALUE = """
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %zero = onnx.Constant dense<0.0> : tensor<f64>
      %s = onnx.ReduceSum %x {keepdims = 0} : (tensor<2xf64>) -> tensor<f64>
      %c = onnx.Greater %s, %zero : (tensor<f64>, tensor<f64>) -> tensor<i1>
      %y = onnx.If %c then_branch {
        onnx.Yield %x : tensor<2xf64>
      } else_branch {
        %n = onnx.Neg %x : (tensor<2xf64>) -> tensor<2xf64>
        onnx.Yield %n : tensor<2xf64>
      } : (tensor<i1>) -> tensor<2xf64>
      func.return %y : tensor<2xf64>
    }"""
LOOP = """
    func.func @f(%x: tensor<2xf64>, %z: tensor<2xf64>)
        -> (tensor<2xf64>, tensor<2xf64>, tensor<?x2xf64>, tensor<?xi64>) {
      %n = onnx.Constant dense<4> : tensor<i64>
      %go = onnx.Constant dense<true> : tensor<i1>
      %y, %u, %v, %w = onnx.Loop %n, %go, %z, %z body {
      ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<2xf64>, %b: tensor<2xf64>):
        %c = onnx.Add %a, %b : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        %d = onnx.Mul %b, %x : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        onnx.Yield %on, %c, %d, %c, %i : tensor<i1>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<i64>
      } : (tensor<i64>, tensor<i1>, tensor<2xf64>, tensor<2xf64>)
        -> (tensor<2xf64>, tensor<2xf64>, tensor<?x2xf64>, tensor<?xi64>)
      func.return %y, %u, %v, %w : tensor<2xf64>, tensor<2xf64>, tensor<?x2xf64>, tensor<?xi64>
    }"""
UNTIL = """
    func.func @f(%x: tensor<2xf64>) -> tensor<2xf64> {
      %n = onnx.Constant dense<9> : tensor<i64>
      %go = onnx.Constant dense<true> : tensor<i1>
      %most = onnx.Constant dense<8.0> : tensor<f64>
      %y = onnx.Loop %n, %go, %x body {
      ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<2xf64>):
        %b = onnx.Add %a, %a : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        %s = onnx.ReduceSumSquare %b {keepdims = 0} : (tensor<2xf64>) -> tensor<f64>
        %c = onnx.Less %s, %most : (tensor<f64>, tensor<f64>) -> tensor<i1>
        onnx.Yield %c, %b : tensor<i1>, tensor<2xf64>
      } : (tensor<i64>, tensor<i1>, tensor<2xf64>) -> tensor<2xf64>
      func.return %y : tensor<2xf64>
    }"""
SCAN = """
    func.func @f(%s: tensor<2xf64>, %x: tensor<2x4xf64>, %z: tensor<4x2xf64>)
        -> (tensor<2xf64>, tensor<2x4xf64>, tensor<4x2xf64>) {
      %y, %w, %v = onnx.Scan %s, %x, %z {num_scan_inputs = 2, scan_input_axes = [1, 0],
          scan_output_axes = [-1, 0], scan_output_directions = [1, 0]} body {
      ^bb0(%a: tensor<2xf64>, %b: tensor<2xf64>, %d: tensor<2xf64>):
        %c = onnx.Mul %a, %b : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        %e = onnx.Add %c, %d : (tensor<2xf64>, tensor<2xf64>) -> tensor<2xf64>
        onnx.Yield %e, %c, %d : tensor<2xf64>, tensor<2xf64>, tensor<2xf64>
      } : (tensor<2xf64>, tensor<2x4xf64>, tensor<4x2xf64>)
        -> (tensor<2xf64>, tensor<2x4xf64>, tensor<4x2xf64>)
      func.return %y, %w, %v : tensor<2xf64>, tensor<2x4xf64>, tensor<4x2xf64>
    }"""
# A shape that the body reads of a batched value, and a loop in a loop.
NESTED = """
    func.func @f(%x: tensor<2xf64>, %z: tensor<3xf64>) -> (tensor<2xf64>, tensor<1xi64>) {
      %n = onnx.Constant dense<2> : tensor<i64>
      %go = onnx.Constant dense<true> : tensor<i1>
      %one = onnx.Constant dense<1> : tensor<1xi64>
      %y, %k = onnx.Loop %n, %go, %x, %one body {
      ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<2xf64>, %m: tensor<1xi64>):
        %t = onnx.Scan %a, %z {num_scan_inputs = 1} body {
        ^bb0(%b: tensor<2xf64>, %e: tensor<f64>):
          %c = onnx.Add %b, %e : (tensor<2xf64>, tensor<f64>) -> tensor<2xf64>
          onnx.Yield %c : tensor<2xf64>
        } : (tensor<2xf64>, tensor<3xf64>) -> tensor<2xf64>
        %s = onnx.Shape %a : (tensor<2xf64>) -> tensor<1xi64>
        onnx.Yield %on, %t, %s : tensor<i1>, tensor<2xf64>, tensor<1xi64>
      } : (tensor<i64>, tensor<i1>, tensor<2xf64>, tensor<1xi64>) -> (tensor<2xf64>, tensor<1xi64>)
      func.return %y, %k : tensor<2xf64>, tensor<1xi64>
    }"""
# A value that grows in each step, and a sequence.
GROWING = """
    func.func @f(%x: tensor<1x2xf64>) -> tensor<?x2xf64> {
      %n = onnx.Constant dense<3> : tensor<i64>
      %go = onnx.Constant dense<true> : tensor<i1>
      %y = onnx.Loop %n, %go, %x body {
      ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<?x2xf64>):
        %b = onnx.Mul %a, %x : (tensor<?x2xf64>, tensor<1x2xf64>) -> tensor<?x2xf64>
        %c = onnx.Concat %b, %x {axis = 0} : (tensor<?x2xf64>, tensor<1x2xf64>) -> tensor<?x2xf64>
        %d = onnx.Mul %c, %c : (tensor<?x2xf64>, tensor<?x2xf64>) -> tensor<?x2xf64>
        onnx.Yield %on, %d : tensor<i1>, tensor<?x2xf64>
      } : (tensor<i64>, tensor<i1>, tensor<1x2xf64>) -> tensor<?x2xf64>
      func.return %y : tensor<?x2xf64>
    }"""
SEQUENCE = """
    func.func @f(%x: tensor<2xf64>, %z: tensor<3xf64>) -> (tensor<?xf64>, tensor<2xf64>, tensor<i64>) {
      %n = onnx.Constant dense<2> : tensor<i64>
      %go = onnx.Constant dense<true> : tensor<i1>
      %e = onnx.SequenceEmpty {dtype = f64} : () -> !onnx.seq<tensor<*xf64>>
      %s = onnx.Loop %n, %go, %e body {
      ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: !onnx.seq<tensor<*xf64>>):
        %b = onnx.SequenceInsert %a, %x
          : (!onnx.seq<tensor<*xf64>>, tensor<2xf64>) -> !onnx.seq<tensor<*xf64>>
        onnx.Yield %on, %b : tensor<i1>, !onnx.seq<tensor<*xf64>>
      } : (tensor<i64>, tensor<i1>, !onnx.seq<tensor<*xf64>>) -> !onnx.seq<tensor<*xf64>>
      %t = onnx.SequenceInsert %s, %z : (!onnx.seq<tensor<*xf64>>, tensor<3xf64>) -> !onnx.seq<tensor<*xf64>>
      %y = onnx.ConcatFromSequence %t {axis = 0} : (!onnx.seq<tensor<*xf64>>) -> tensor<?xf64>
      %one = onnx.Constant dense<1> : tensor<i64>
      %w = onnx.SequenceAt %t, %one : (!onnx.seq<tensor<*xf64>>, tensor<i64>) -> tensor<2xf64>
      %l = onnx.SequenceLength %t : (!onnx.seq<tensor<*xf64>>) -> tensor<i64>
      func.return %y, %w, %l : tensor<?xf64>, tensor<2xf64>, tensor<i64>
    }"""


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    infer_types(module)
    return module


@pytest.mark.parametrize("size", [ROWS, "K"])
@pytest.mark.parametrize(
    ("text", "batched", "fallbacks"),
    [
        pytest.param(IF, (1,), 0, id="if, a captured value"),
        pytest.param(IF, (2,), 0, id="if, a result of both branches"),
        pytest.param(BY_VALUE, (0,), 1, id="if, by a condition of each row"),
        pytest.param(LOOP, (0,), 0, id="loop, a captured value"),
        pytest.param(LOOP, (1,), 0, id="loop, the initial states"),
        pytest.param(LOOP, (0, 1), 0, id="loop, both"),
        pytest.param(UNTIL, (0,), 1, id="loop, as many steps as each row takes"),
        pytest.param(SCAN, (0,), 0, id="scan, the state"),
        pytest.param(SCAN, (1,), 0, id="scan, slices of another axis"),
        pytest.param(SCAN, (2,), 0, id="scan, slices"),
        pytest.param(GROWING, (0,), 0, id="loop, a state that grows"),
        pytest.param(SEQUENCE, (0,), 0, id="loop, a sequence"),
        pytest.param(NESTED, (0,), 0, id="nested, the outer state"),
        pytest.param(NESTED, (1,), 0, id="nested, slices"),
    ],
)
def test_control_flow_is_that_of_each_row(
    text: str, batched: tuple[int, ...], fallbacks: int, size: int | str
):
    module = parse(text)
    assert assert_rows(module, _values(module), batched, size) == fallbacks


@pytest.mark.parametrize("text", [IF, BY_VALUE, LOOP, UNTIL, SCAN, NESTED, GROWING])
def test_a_gradient_through_control_flow_needs_no_fallback(text: str):
    module = parse(text)
    inputs, rng = _values(module), np.random.default_rng(4)
    function = entry_function(module)
    results = dict(zip(output_names(function), evaluate(module, inputs), strict=True))
    of = [name for name, result in results.items() if result.dtype == np.float64]
    wrt = [n for n, array in zip(input_names(function), inputs, strict=True) if array.dtype == np.float64]
    differentiate(module, Request(of=of, wrt=wrt, cotangents=True, allow_unused=True))
    values = [*inputs, *(rng.normal(size=results[name].shape) for name in of)]
    assert assert_rows(module, values, range(len(inputs), len(values)), "K") == 0


def _values(module: ModuleOp) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    types = [arg.type for arg in entry_function(module).args]
    return [rng.normal(size=type_.get_shape()) if type_.get_shape() else np.asarray(False) for type_ in types]
