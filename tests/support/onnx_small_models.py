"""One small model of each op of the standard domain."""

from __future__ import annotations

import textwrap
from functools import cache

import numpy as np
from support.onnx_node_cases import Case, cases, module_of, operands_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.onnx.base import OnnxOp
from dialects.onnx.opset_range import opset_range

_CONTROL = {
    "If": """
        func.func @f(%c: tensor<i1>, %x: tensor<2xf32>) -> tensor<2xf32> {
          %y = onnx.If %c then_branch {
            onnx.Yield %x : tensor<2xf32>
          } else_branch {
            %n = onnx.Neg %x : (tensor<2xf32>) -> tensor<2xf32>
            onnx.Yield %n : tensor<2xf32>
          } : (tensor<i1>) -> tensor<2xf32>
          func.return %y : tensor<2xf32>
        }""",
    "Loop": """
        func.func @f(%n: tensor<i64>, %x: tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>) {
          %go = onnx.Constant dense<true> : tensor<i1>
          %y, %z = onnx.Loop %n, %go, %x body {
          ^bb0(%i: tensor<i64>, %on: tensor<i1>, %a: tensor<2xf32>):
            %b = onnx.Add %a, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            onnx.Yield %on, %b, %a : tensor<i1>, tensor<2xf32>, tensor<2xf32>
          } : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> (tensor<2xf32>, tensor<?x2xf32>)
          func.return %y, %z : tensor<2xf32>, tensor<?x2xf32>
        }""",
    "Scan": """
        func.func @f(%s: tensor<2xf32>, %x: tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>) {
          %y, %z = onnx.Scan %s, %x {num_scan_inputs = 1} body {
          ^bb0(%a: tensor<2xf32>, %b: tensor<2xf32>):
            %c = onnx.Add %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
            onnx.Yield %c, %a : tensor<2xf32>, tensor<2xf32>
          } : (tensor<2xf32>, tensor<3x2xf32>) -> (tensor<2xf32>, tensor<3x2xf32>)
          func.return %y, %z : tensor<2xf32>, tensor<3x2xf32>
        }""",
    "SequenceMap": """
        func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
          %s = onnx.SequenceConstruct %x, %x : (tensor<2xf32>, tensor<2xf32>) -> !onnx.seq<tensor<2xf32>>
          %m = onnx.SequenceMap %s body {
          ^bb0(%a: tensor<2xf32>):
            %c = onnx.Neg %a : (tensor<2xf32>) -> tensor<2xf32>
            onnx.Yield %c : tensor<2xf32>
          } : (!onnx.seq<tensor<2xf32>>) -> !onnx.seq<tensor<2xf32>>
          %i = onnx.Constant dense<1> : tensor<i64>
          %y = onnx.SequenceAt %m, %i : (!onnx.seq<tensor<2xf32>>, tensor<i64>) -> tensor<2xf32>
          func.return %y : tensor<2xf32>
        }""",
}

_CONTAINERS = """
    func.func @f(%x: tensor<4x2xf32>, %i: tensor<i64>)
        -> (tensor<*xf32>, tensor<4x2xf32>, tensor<i64>, tensor<i1>, tensor<4x2xf32>) {
      %s = onnx.SequenceConstruct %x, %x
        : (tensor<4x2xf32>, tensor<4x2xf32>) -> !onnx.seq<tensor<4x2xf32>>
      %e = onnx.SequenceErase %s, %i : (!onnx.seq<tensor<4x2xf32>>, tensor<i64>) -> !onnx.seq<tensor<4x2xf32>>
      %n = onnx.SequenceLength %e : (!onnx.seq<tensor<4x2xf32>>) -> tensor<i64>
      %o = onnx.Optional %x : (tensor<4x2xf32>) -> !onnx.opt<tensor<4x2xf32>>
      %none = onnx.Optional {type = tensor<2xf32>} : () -> !onnx.opt<tensor<2xf32>>
      %h = onnx.OptionalHasElement %none : (!onnx.opt<tensor<2xf32>>) -> tensor<i1>
      %g = onnx.OptionalGetElement %o : (!onnx.opt<tensor<4x2xf32>>) -> tensor<4x2xf32>
      %p = onnx.SplitToSequence %x {axis = 0} : (tensor<4x2xf32>) -> !onnx.seq<tensor<*xf32>>
      %c = onnx.ConcatFromSequence %p {axis = 0} : (!onnx.seq<tensor<*xf32>>) -> tensor<4x2xf32>
      %empty = onnx.SequenceEmpty {dtype = f32} : () -> !onnx.seq<tensor<*xf32>>
      %q = onnx.SequenceInsert %empty, %x
        : (!onnx.seq<tensor<*xf32>>, tensor<4x2xf32>) -> !onnx.seq<tensor<*xf32>>
      %a = onnx.SequenceAt %q, %i : (!onnx.seq<tensor<*xf32>>, tensor<i64>) -> tensor<*xf32>
      func.return %a, %g, %n, %h, %c
        : tensor<*xf32>, tensor<4x2xf32>, tensor<i64>, tensor<i1>, tensor<4x2xf32>
    }"""

_IN_CONTAINERS = (
    "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "SequenceAt",
    "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
    "SplitToSequence",
)  # fmt: skip


def _unary(op: str, given: str, made: str) -> str:
    return f"""
        func.func @f(%x: {given}) -> {made} {{
          %y = onnx.{op} : ({given}) -> {made}
          func.return %y : {made}
        }}"""


def _nullary(op: str, made: str) -> str:
    return f"""
        func.func @f(%x: tensor<2xf32>) -> ({made}, tensor<2xf32>) {{
          %y = onnx.{op} : () -> {made}
          func.return %y, %x : {made}, tensor<2xf32>
        }}"""


TEXTS: dict[str, str] = {
    **_CONTROL,
    **dict.fromkeys(_IN_CONTAINERS, _CONTAINERS),
    "GlobalLpPool": _unary("GlobalLpPool %x", "tensor<1x2x3x3xf32>", "tensor<1x2x1x1xf32>"),
    "MaxRoiPool": """
        func.func @f(%x: tensor<1x2x4x4xf32>, %r: tensor<1x5xf32>) -> tensor<1x2x2x2xf32> {
          %y = onnx.MaxRoiPool %x, %r {pooled_shape = [2, 2]}
            : (tensor<1x2x4x4xf32>, tensor<1x5xf32>) -> tensor<1x2x2x2xf32>
          func.return %y : tensor<1x2x2x2xf32>
        }""",
    "Multinomial": _unary("Multinomial %x {sample_size = 3}", "tensor<2x4xf32>", "tensor<2x3xi32>"),
    "RandomNormal": _nullary("RandomNormal {shape = [2]}", "tensor<2xf32>"),
    "RandomNormalLike": _unary("RandomNormalLike %x", "tensor<2xf32>", "tensor<2xf32>"),
    "RandomUniform": _nullary("RandomUniform {shape = [2]}", "tensor<2xf32>"),
    "RandomUniformLike": _unary("RandomUniformLike %x", "tensor<2xf32>", "tensor<2xf32>"),
}
"""Of ops of which onnx ships no case of tensors in today's form."""


@cache
def _case(name: str) -> Case:
    """The smallest of the cases of an op in a form that the newest opset has."""
    return min(cases()[name], key=lambda case: (_is_old(case), case.model.ByteSize()))


def _is_old(case: Case) -> bool:
    ops_of_case = (op for op in module_of(case).walk() if isinstance(op, OnnxOp))
    return any(opset_range(op)[1] is not None for op in ops_of_case)


def module(name: str) -> ModuleOp:
    """A function with the op, whose operands are its arguments."""
    if name not in TEXTS:
        return module_of(_case(name))
    found = Parser(dialects.context(), textwrap.dedent(TEXTS[name])).parse_module()
    found.verify()
    return found


def feeds(name: str) -> list[np.ndarray]:
    """Values of the arguments."""
    if name not in TEXTS:
        return [array for array in operands_of(_case(name)) if array is not None]
    rng = np.random.default_rng(0)
    shapes = {
        "If": [np.array(True), (2,)], "Loop": [np.array(3), (2,)], "Scan": [(2,), (3, 2)],
        "SequenceMap": [(2,)], "GlobalLpPool": [(1, 2, 3, 3)], "Multinomial": [(2, 4)],
        "MaxRoiPool": [(1, 2, 4, 4), np.array([[0, 0, 0, 3, 3]], np.float32)],
        **{container: [(4, 2), np.array(0)] for container in _IN_CONTAINERS},
    }  # fmt: skip
    given = shapes.get(name, [(2,)])
    return [x if isinstance(x, np.ndarray) else rng.random(x).astype(np.float32) for x in given]
