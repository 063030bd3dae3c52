"""What the prices and forms take for granted of onnxruntime's own rewrites, on the runtime that is installed.

The rules are those of passes.onnxruntime.optimizer_model. Here onnxruntime writes down its optimized graph.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser
from xdsl.dialects.builtin import ModuleOp

import gradc
from gradc.bench.truth import truth
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.importers.mlir.parser import import_mlir
from gradc.problems import parse_problem

onnxruntime = pytest.importorskip("onnxruntime")

VIEWS = {"Reshape", "Squeeze", "Unsqueeze"}


def nodes(module: ModuleOp, strategy: str, directory: Path) -> list[onnx.NodeProto]:
    """The nodes that run, less views."""
    written = directory / "optimised.onnx"
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(written)
    options.log_severity_level = 3
    model = compile_module(module, Options(strategy=strategy, threads=1)).model
    onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [node for node in onnx.load(written).graph.node if node.op_type not in VIEWS]


def kinds(text: str, strategy: str, directory: Path) -> list[str]:
    return [node.op_type for node in nodes(parse_problem(text).module(), strategy, directory)]


SHARED = [
    ("conv-to-phase-convs", "diff_dst=1x32x6x5,weights=32x48x4x4,strides=2x2,pads=1x1:1x1"),
    ("conv-to-phase-convs", "diff_dst=1x32x6x5,weights=32x1x4x4,strides=2x2,pads=1x1:1x1,groups=32"),
    ("conv-to-phase-convs", "diff_dst=2x16x7,weights=16x16x4,strides=2,pads=1:1"),
    ("conv-to-joined-groups", "diff_dst=1x64x6x5,weights=64x8x4x4,strides=2x2,pads=1x1:1x1,groups=8"),
    ("conv-to-rows", "diff_dst=1x16x3x4x5,weights=16x16x3x3x3,pads=1x1x1:1x1x1"),
]
"""Several Convs of one tensor, channels last."""


@pytest.mark.parametrize(("strategy", "text"), SHARED)
def test_convolutions_of_channels_last_need_no_transpose(strategy: str, text: str, tmp_path: Path):
    """Several Convs read one reordering, and what they give is put back by reordering alone."""
    found = kinds(f"conv_backward_data,f32,NXC,{text}", strategy, tmp_path)
    assert "Transpose" not in found
    assert found.count("Conv") > 1
    assert found.count("ReorderInput") == 1


def test_gathers_of_all_positions_are_a_split(tmp_path: Path):
    text = (
        "resize_backward,f32,NCX,diff_dst=2x3x8,diff_src=2x3x4,interpolation=nearest_floor,coordinates=corner"
    )
    assert kinds(text, "resize-to-reduce-sum", tmp_path) == ["Split", "Add"]


def test_gathers_of_some_positions_stay(tmp_path: Path):
    source = """
      func.func @main(%x: tensor<4x3x5xf32>) -> tensor<4x5xf32> {
        %a = arith.constant dense<0> : tensor<i64>
        %b = arith.constant dense<2> : tensor<i64>
        %first = onnx.Gather %x, %a {axis = 1} : (tensor<4x3x5xf32>, tensor<i64>) -> tensor<4x5xf32>
        %last = onnx.Gather %x, %b {axis = 1} : (tensor<4x3x5xf32>, tensor<i64>) -> tensor<4x5xf32>
        %sum = onnx.Add %first, %last : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xf32>
        func.return %sum : tensor<4x5xf32>
      }
    """
    found = nodes(import_mlir(source, "x.mlir"), "auto", tmp_path)
    assert [node.op_type for node in found] == ["Gather", "Gather", "Add"]


FOLDED = [
    f"resize_backward,f32,NXC,diff_dst=2x8x{2 * x}x{3 * w},diff_src=2x8x{x}x{w}{coordinates}"
    for x, w in ((1, 2), (2, 1), (2, 2), (3, 5))
    for coordinates in ("", ",coordinates=corner,steps=1/2x1/3")
]


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("strategy", "text"),
    [(strategy, f"conv_backward_data,f32,NXC,{text}") for strategy, text in SHARED]
    + [("resize-to-conv", text) for text in FOLDED],
)
def test_wide_channels_last_are_right(strategy: str, text: str):
    """Random problems of other tests rarely have the channels that these forms need."""
    problem = parse_problem(text)
    compiled = compile_module(problem.module(), Options(strategy=strategy, threads=1))
    (got,) = compiled.run(dict(problem.feeds(0))).values()
    assert truth(problem, 0).error(strategy, got, peer=False).ok


BOUNDS = {"Relu": "Relu (a)", "Clip": "Clip (a, low, high)"}


@pytest.mark.parametrize("bounding", BOUNDS)
@pytest.mark.parametrize("dtype", ["float8e4m3fn", "float8e5m2", "int4", "uint4", "int8", "uint8", "uint16"])
def test_bounds_in_front_of_a_quantisation_stay(bounding: str, dtype: str):
    """onnxruntime drops a Relu and fails at a Clip, as if all began at their zero point but s8 and u8."""
    added = 0 if "float8" in dtype else 1
    text = f"""<ir_version: 10, opset_import: ["": 21]> main (float[4] x) => (float[4] y)
    <float low = {{0}}, float high = {{2}}, float one = {{1}}, {dtype} zero = {{{added}}}> {{
      a = Neg (x)
      b = {BOUNDS[bounding]}
      c = QuantizeLinear (b, one, zero)
      y = Cast <to = 1> (c)
    }}"""
    compiled = gradc.compile(parser.parse_model(text), threads=1)
    x = np.array([1, 0, -1, -4], np.float32)
    want = np.clip(-x, 0, 2 if bounding == "Clip" else None) + added
    np.testing.assert_array_equal(compiled.run({"x": x})["y"], want)
