"""What only models from elsewhere hold: unread results, unknown ranks, random ops, every data type."""

from __future__ import annotations

import textwrap

import numpy as np
import onnx
import onnxruntime
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

import dialects
from dialects.evaluate import evaluate
from dialects.onnx import ops
from dialects.support.dtypes import ONNX_DTYPES
from gradc.model import exporter
from gradc.model.attribute_protos import raw_data
from gradc.runtime.session import Session
from passes.simplify import simplify


def parse(text: str) -> ModuleOp:
    module = Parser(dialects.context(), textwrap.dedent(text)).parse_module()
    module.verify()
    return module


def simplified(text: str) -> list[str]:
    """The ops of the function afterwards."""
    module = parse(text)
    simplify(module)
    module.verify()
    return [op.name for op in module.walk() if op.name.startswith("onnx.")]


def export(text: str, opset: int = 18) -> onnx.ModelProto:
    return exporter.export(parse(text), opset=opset, metadata={})


POOL = """
    func.func @main(%x: tensor<1x1x4x4xf32>) -> ({results}) {{
      %y, %at = onnx.MaxPool %x {{kernel_shape = [2, 2]}}
        : (tensor<1x1x4x4xf32>) -> (tensor<1x1x3x3xf32>, tensor<1x1x3x3xi64>)
      func.return {values} : {results}
    }}
"""


def test_unread_results_are_not_named() -> None:
    one, two = "tensor<1x1x3x3xf32>", "tensor<1x1x3x3xf32>, tensor<1x1x3x3xi64>"
    (node,) = export(POOL.format(results=one, values="%y")).graph.node
    assert list(node.output) == ["y"]
    (node,) = export(POOL.format(results=two, values="%y, %at")).graph.node
    assert list(node.output) == ["y", "at"]
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    found = Session(export(POOL.format(results=two, values="%y, %at"))).run({"x": x})
    for ours, theirs in zip(
        evaluate(parse(POOL.format(results=two, values="%y, %at")), [x]), found.values(), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_an_unread_result_before_a_read_one_is_empty() -> None:
    text = """
        func.func @main(%x: tensor<2x3xf32>, %w: tensor<3xf32>) -> tensor<2x1xf32> {
          %y, %mean, %scale = onnx.LayerNormalization %x, %w
            : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
          func.return %scale : tensor<2x1xf32>
        }
    """
    (node,) = export(text).graph.node
    assert list(node.output)[1:] == ["", "scale"]


RANDOM = """
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %a = onnx.RandomNormal {shape = [2], seed = 1.0 : f32} : () -> tensor<2xf32>
      %b = onnx.RandomNormal {shape = [2], seed = 1.0 : f32} : () -> tensor<2xf32>
      %c = onnx.RandomUniformLike %x : (tensor<2xf32>) -> tensor<2xf32>
      func.return %a, %b : tensor<2xf32>, tensor<2xf32>
    }
"""


def test_random_ops_are_not_merged_and_unread_ones_go() -> None:
    assert simplified(RANDOM) == ["onnx.RandomNormal", "onnx.RandomNormal"]


@pytest.mark.parametrize(("training", "folds"), [("", True), ("true", False), ("false", True)])
def test_dropout_folds_unless_it_draws(training: str, folds: bool) -> None:
    given = ", %ratio, %training" if training else ""
    types = ", tensor<f32>, tensor<i1>" if training else ""
    text = f"""
        func.func @main() -> tensor<2xf32> {{
          %x = onnx.Constant dense<[1.0, 2.0]> : tensor<2xf32>
          %ratio = onnx.Constant dense<0.5> : tensor<f32>
          %training = onnx.Constant dense<{training or "false"}> : tensor<i1>
          %y, %mask = onnx.Dropout %x{given} : (tensor<2xf32>{types}) -> (tensor<2xf32>, tensor<2xi1>)
          func.return %y : tensor<2xf32>
        }}
    """
    assert ("onnx.Dropout" not in simplified(text)) is folds


UNRANKED = """
    func.func @main(%x: tensor<*xf32>, %n: tensor<?xi64>) -> (tensor<*xf32>, tensor<?xi64>, tensor<i64>) {
      %a = onnx.Relu %x : (tensor<*xf32>) -> tensor<*xf32>
      %b = onnx.Reshape %a, %n : (tensor<*xf32>, tensor<?xi64>) -> tensor<*xf32>
      %t = onnx.Transpose %b : (tensor<*xf32>) -> tensor<*xf32>
      %u = onnx.Transpose %t : (tensor<*xf32>) -> tensor<*xf32>
      %i = onnx.Identity %u : (tensor<*xf32>) -> tensor<*xf32>
      %s = onnx.Shape %i : (tensor<*xf32>) -> tensor<?xi64>
      %c = onnx.Size %i : (tensor<*xf32>) -> tensor<i64>
      func.return %i, %s, %c : tensor<*xf32>, tensor<?xi64>, tensor<i64>
    }
"""


def test_unknown_ranks_pass() -> None:
    assert "onnx.Identity" not in simplified(UNRANKED)
    model = export(UNRANKED).SerializeToString()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    found = session.run(None, {"x": np.ones((2, 3), np.float32), "n": np.array([3, 2])})
    assert [np.shape(value) for value in found] == [(3, 2), (2,), ()]


def test_a_rank_comes_to_be_known() -> None:
    """A result that was made without a rank has one as soon as its operand has."""
    x = ops.ConstantOp(np.ones((2, 3), np.float32))
    unknown = ops.SequenceAtOp(ops.SequenceConstructOp([x]), ops.ConstantOp(np.array(0, np.int64)))
    assert str(unknown.results[0].type) == "tensor<2x3xf32>"


@pytest.mark.parametrize("dtype", [d for d in ONNX_DTYPES if d.name != "string"], ids=lambda d: d.name)
def test_constants_of_every_type_are_exported(dtype) -> None:
    array = np.ones((3,), np.int64).astype(dtype.numpy)
    constant = ops.ConstantOp(array)
    number, content = raw_data(constant.value)
    model = onnx.TensorProto(data_type=number, dims=array.shape, raw_data=content)
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(model), array)
    assert dialects.onnx.values.constant_of(constant.output).tobytes() == array.tobytes()  # pyright: ignore


def test_what_has_no_kernel_says_so() -> None:
    text = """
        func.func @main() -> tensor<2xf32> {
          %a = onnx.RandomNormal {shape = [2]} : () -> tensor<2xf32>
          func.return %a : tensor<2xf32>
        }
    """
    with pytest.raises(Exception, match="RandomNormal has no numpy implementation"):
        evaluate(parse(text), [])


def test_constants_are_not_copied():
    """Weights are in memory once, also while numpy executes a module."""
    module = parse("""
        func.func @main() -> tensor<3xf32> {
          %0 = onnx.Constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
          return %0 : tensor<3xf32>
        }
    """)
    (constant,) = (op for op in module.walk() if isinstance(op, ops.ConstantOp))
    (got,) = evaluate(module, [])
    assert got.tolist() == [1, 2, 3]
    assert np.shares_memory(got, np.frombuffer(constant.value.data.data, np.float32))
