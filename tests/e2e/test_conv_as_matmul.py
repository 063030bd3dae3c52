"""Convolutions as products with many taps and with phases that no tap reaches, which random problems seldom
have."""

from __future__ import annotations

import numpy as np
import pytest
from support.pipeline import apply

from dialects.evaluate import evaluate
from dialects.support.diagnostics import GradcError, UnsupportedError
from dialects.support.entry import entry_function, input_names
from dialects.support.shapes import shape_of
from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.importers.mlir.parser import import_mlir
from gradc.model.exporter import export
from gradc.problems import parse_problem
from gradc.problems.base import Problem
from gradc.runtime.session import Session
from passes import pipelines
from passes.targets.target import Target

pytest.importorskip("onnxruntime")

PROBLEMS = (
    "conv_backward_data,f32,NCX,diff_dst=2x6x9,weights=6x5x19,strides=2,pads=3:4,groups=2",
    "conv_backward_data,f32,NCX,diff_dst=?x4x5x6,weights=4x6x18x3,strides=2x3,pads=1x0:0x1,residue=1x2",
    "conv_backward_data,f32,NCX,diff_dst=1x4x5x6,weights=4x6x2x3,strides=4x3,dilations=3x2,pads=1x0:0x1",
    "conv_backward_data,f32,NXC,diff_dst=2x4x5x6x4,weights=4x3x3x2x3,strides=2x1x2,pads=1x0x1:0x1x1,groups=2",
    "conv_backward_data,f64,NCX,diff_dst=1x4x50,weights=4x3x100,pads=9:12",
    "conv_transpose_backward_data,f32,NCX,diff_dst=?x4x41,weights=6x2x17,strides=2,pads=1:2,groups=2",
    "conv_transpose_backward_data,f32,NXC,diff_dst=1x4x9x40,weights=6x4x3x20,strides=2x1,pads=1x1:2x0",
)
"""Channels first, as a problem has them for either layout."""


ROWS = (
    "conv_backward_data,f32,NCX,diff_dst=2x6x9,weights=6x5x19,strides=2,pads=3:4",
    "conv_backward_data,f32,NXC,diff_dst=?x4x5x6,weights=4x6x5x3,strides=2x3,pads=1x0:0x1,residue=1x2",
    "conv_backward_data,f32,NXC,diff_dst=1x4x5x6,weights=4x6x2x3,strides=4x3,dilations=3x2,pads=1x0:0x1",
    "conv_backward_data,f32,NXC,diff_dst=2x4x2x6x4,weights=4x3x7x2x3,strides=2x1x2,pads=3x0x1:3x1x1",
    "conv_backward_data,f64,NXC,diff_dst=1x4x50,weights=4x3x100,pads=9:12",
    "conv_transpose_backward_data,f32,NXC,diff_dst=?x4x41,weights=6x4x17,strides=3,dilations=2,pads=5:2",
    "conv_transpose_backward_data,f32,NXC,diff_dst=1x4x9x40,weights=6x4x5x7,strides=4x3,pads=3x1:2x0",
    "conv_transpose_backward_data,f32,NXC,diff_dst=1x4x2x3,weights=6x4x6x3,strides=2x1,pads=3x1:2x0",
)


@pytest.mark.sweep
@pytest.mark.parametrize("weights", ["constant", "input"])
@pytest.mark.parametrize(
    ("strategy", "text"),
    [
        *(("conv-to-matmul", text) for text in PROBLEMS),
        *(("conv-nxc-to-row-sums", text) for text in ROWS),
    ],
)
def test_rare_problems(strategy: str, text: str, weights: str):
    problem = parse_problem(text if weights == "constant" else f"{text},weights_are=input")
    got, wanted = _results(problem, strategy)
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_rows_of_padding_alone_are_refused():
    """Phase 1 of the first axis has one tap, and that reads one row behind the only one of diff_dst."""
    text = "conv_backward_data,f32,NXC,diff_dst=1x2x1x3,weights=2x2x4x2,strides=4x1,pads=1x0:0x0,residue=0x0"
    with pytest.raises(UnsupportedError, match="read nothing but padding"):
        compile_module(parse_problem(text).module(), Options(strategy="conv-nxc-to-row-sums", threads=1))


MANY_PHASES = (
    "conv_backward_data,f64,NCX,diff_dst=1x4x3x2,weights=4x3x16x16,strides=16x16",
    "conv_backward_data,f64,NXC,diff_dst=1x4x3x2,weights=4x3x9x9,strides=6x6,groups=2",
    "conv_backward_data,f64,NCX,diff_dst=1x2x2x2x2,weights=2x1x7x7x7,strides=4x4x4,groups=2",
    "conv_backward_data,f64,NCX,diff_dst=2x2x9,weights=2x3x100,strides=40,pads=7:3,residue=5",
)


@pytest.mark.parametrize("text", MANY_PHASES)
def test_a_float64_stride_is_written_however_many_phases_it_has(text: str):
    """onnxruntime has no f64 ConvTranspose, which is what f32 ones of so many phases are written as."""
    got, wanted = _results(parse_problem(text), "auto")
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("channels", ["4", "?"])
@pytest.mark.parametrize("op", ["conv_backward_data", "conv_transpose_backward_data"])
def test_channels_that_only_the_weights_know(op: str, channels: str):
    backward = op == "conv_backward_data"
    weights, result = ("4x3x3", "1x6x7") if backward else ("6x2x3", "1x6x5")
    residue = "residue = [0], " if backward else ""
    source = f"""
      func.func @main(%dy: tensor<1x{channels}x5xf32>, %w: tensor<{weights}xf32>) -> tensor<{result}xf32> {{
        %dx = grad.{op} %dy, %w {{strides = [1], dilations = [1], pads_begin = [{0 if backward else 1}],
          pads_end = [{0 if backward else 1}], groups = 2, {residue}layout = "NCX"}}
          : (tensor<1x{channels}x5xf32>, tensor<{weights}xf32>) -> tensor<{result}xf32>
        func.return %dx : tensor<{result}xf32>
      }}
    """
    random = np.random.default_rng(0)
    dy, w = (random.standard_normal(shape).astype(np.float32) for shape in ([1, 4, 5], _sizes(weights)))
    (wanted,) = evaluate(import_mlir(source.replace("?", "4"), "x.mlir"), [dy, w])
    compiled = compile_module(import_mlir(source, "x.mlir"), Options(strategy="conv-to-matmul", threads=1))
    (got,) = compiled.run({"dy": dy, "w": w}).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(GradcError, match=r"given (8, expected 4|\[1, 8, 5\], expected \[1, 4, 5\])"):
        compiled.run({"dy": np.concatenate([dy, dy], axis=1), "w": w})


def _sizes(text: str) -> list[int]:
    return [int(size) for size in text.split("x")]


def _results(problem: Problem, strategy: str) -> tuple[np.ndarray, np.ndarray]:
    """What onnxruntime computes, and the reference."""
    feeds = _feeds(problem)
    target = Target()
    module = apply(problem.module(), pipelines.from_grad(target, strategy))
    session = Session(export(module, opset=target.opset, metadata={}), threads=1)
    (got,) = session.run(dict(zip(input_names(entry_function(module)), feeds, strict=True))).values()
    (wanted,) = evaluate(problem.module(), feeds)
    return got, wanted


def _feeds(problem: Problem) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    dtype = np.float64 if ",f64," in str(problem) else np.float32
    shapes = [shape_of(arg) for arg in entry_function(problem.module()).body.block.args]
    known = [[size if isinstance(size, int) else 2 for size in shape] for shape in shapes]
    return [random.standard_normal(shape).astype(dtype) for shape in known]
