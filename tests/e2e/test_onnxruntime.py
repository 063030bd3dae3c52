"""The whole way: source ops to an ONNX model, run by onnxruntime, against the float64 reference.

Random problems, many of them; test_runtimes.py has the fixed ones, for every runtime.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from support.examples import examples
from support.generate import KINDS, problems, seeded
from support.pipeline import Expected, lowered
from support.problems import Problem

from gradc.compiler.driver import compile_module
from gradc.compiler.options import Options
from gradc.importers.mlir.parser import import_mlir
from gradc.runtime.session import newest_opset
from passes.targets.target import Target

pytest.importorskip("onnxruntime")

OPSETS = sorted({13, 15, 18, 21, newest_opset()})


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("kind", KINDS)
def test_single_ops(kind: str):
    @examples(60)
    @given(problems(kinds=(kind,)))
    def check(problem: Problem):
        Expected(problem).check_runtime(lowered(problem, Target()), Target())

    check()


@pytest.mark.sweep(parts=1)
@pytest.mark.parametrize("opset", OPSETS)
def test_every_opset(opset: int):
    target = Target("cpu", opset)

    @examples(30)
    @given(problems(most_ops=2))
    def check(problem: Problem):
        Expected(problem).check_runtime(lowered(problem, target), target)

    check()


@examples(60)
@given(problems(most_ops=4))
def test_graphs(problem: Problem):
    Expected(problem).check_runtime(lowered(problem, Target()), Target())


@examples(80)
@given(problems(dtypes=("f64",)))
def test_float64(problem: Problem):
    """onnxruntime has no f64 convolution: some strategy without one applies, whatever is known of sizes."""
    Expected(problem).check_runtime(lowered(problem, Target()), Target())


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(60))
def test_seeded(seed: int):
    """Larger than hypothesis likes to draw, the same in every run."""
    problem = seeded([2, seed], most_ops=3)
    target = Target("cpu", OPSETS[seed % len(OPSETS)])
    Expected(problem).check_runtime(lowered(problem, target), target)


EMPTY = {
    "one tap": "strides = [3], dilations = [2], pads_begin = [3], pads_end = [0], groups = 1, residue = [2]",
    "two taps": "strides = [3], dilations = [2], pads_begin = [3], pads_end = [0], groups = 1, residue = [0]",
    "rows": "strides = [1], dilations = [1], pads_begin = [1], pads_end = [1], groups = 1, residue = [0]",
}
SIZES = {"one tap": (1, 2, 3), "two taps": (2, 2, 3), "rows": (3, 3, 3)}
"""The kernel and the sizes of diff_dst and diff_src."""


@pytest.mark.sweep
@pytest.mark.parametrize("case", EMPTY)
@pytest.mark.parametrize("data", ["NCX", "NXC"])
@pytest.mark.parametrize("strategy", ["conv-nxc-to-matmul", "conv-nxc-to-row-sums", "conv-to-matmul", "auto"])
def test_an_empty_batch_of_unknown_size(strategy: str, data: str, case: str):
    """onnxruntime moves a Transpose past what stands between it and a product, and fuses the two.

    1.31 is what refuses then, 1.32 does not.
    """
    kernel, y, x = SIZES[case]
    dims = (f"?x2x{y}", f"?x2x{x}") if data == "NCX" else (f"?x{y}x2", f"?x{x}x2")
    source = f"""
      func.func @main(%dy: tensor<{dims[0]}xf32>) -> tensor<{dims[1]}xf32> {{
        %w = arith.constant dense<0.5> : tensor<2x2x{kernel}xf32>
        %dx = grad.conv_backward_data %dy, %w {{{EMPTY[case]}, layout = "{data}"}}
          : (tensor<{dims[0]}xf32>, tensor<2x2x{kernel}xf32>) -> tensor<{dims[1]}xf32>
        func.return %dx : tensor<{dims[1]}xf32>
      }}
    """
    if strategy == "conv-nxc-to-row-sums" and case == "one tap":
        pytest.skip("it sums over taps")
    compiled = compile_module(import_mlir(source, "x.mlir"), Options(strategy=strategy, threads=1))
    for batch in (0, 2):
        dy = np.ones([batch, *map(int, dims[0].split("x")[1:])], np.float32)
        (dx,) = compiled.run({"dy": dy}).values()
        assert dx.shape == (batch, *map(int, dims[1].split("x")[1:]))
