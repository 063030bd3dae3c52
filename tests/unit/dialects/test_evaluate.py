"""What the numpy reference holds in memory while it runs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from support.large import interpolation

from dialects.evaluate import evaluate
from dialects.grad.reference.conv_weights import conv_backward_weights
from gradc.importers import import_text

SIZE = 10**5
KIND = f"tensor<{SIZE}xf32>"


def peak(text: str, *inputs: np.ndarray) -> int:
    """The bytes that the reference takes at most, beyond its inputs."""
    module = import_text(text, "mlir", "graph.mlir")
    evaluate(module, inputs)  # whatever is loaded and kept for the next time
    tracemalloc.start()
    try:
        evaluate(module, inputs)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def chain(length: int) -> str:
    rows = "\n".join(f"  %v{i + 1} = onnx.Abs %v{i} : ({KIND}) -> {KIND}" for i in range(length))
    return f"func.func @main(%v0: {KIND}) -> {KIND} {{\n{rows}\n  return %v{length} : {KIND}\n}}"


def test_a_value_ends_with_its_last_use():
    data = np.ones(SIZE, np.float32)
    assert peak(chain(40), data) < peak(chain(4), data) + data.nbytes


def test_what_a_region_reads_is_there_until_it_has_run():
    """%doubled is read by the region alone, in each of three steps, and %unread by nothing."""
    text = """func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %most = onnx.Constant dense<3> : tensor<i64>
      %on = onnx.Constant dense<true> : tensor<i1>
      %doubled = onnx.Add %x, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %unread = onnx.Abs %x : (tensor<2xf32>) -> tensor<2xf32>
      %sum = onnx.Loop %most, %on, %x body {
      ^bb0(%index: tensor<i64>, %going: tensor<i1>, %state: tensor<2xf32>):
        %negated = onnx.Neg %state : (tensor<2xf32>) -> tensor<2xf32>
        %next = onnx.Sub %doubled, %negated : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        onnx.Yield %going, %next : tensor<i1>, tensor<2xf32>
      } : (tensor<i64>, tensor<i1>, tensor<2xf32>) -> tensor<2xf32>
      return %sum, %doubled : tensor<2xf32>, tensor<2xf32>
    }"""
    x = np.array([1, 2], np.float32)
    total, doubled = evaluate(import_text(text, "mlir", "graph.mlir"), [x])
    np.testing.assert_array_equal(total, 7 * x)
    np.testing.assert_array_equal(doubled, 2 * x)


IMAGE, PLACES = "tensor<2x8x128x128xf32>", "tensor<2x8x128x128xi64>"
WINDOW = "kernel_shape = [3, 3], pads = [1, 1, 1, 1]"

OPS = {
    "erf": f"%y = onnx.Erf %x : ({IMAGE}) -> {IMAGE}",
    "mean": f"%y = onnx.AveragePool %x {{{WINDOW}}} : ({IMAGE}) -> {IMAGE}",
    "largest": f"%y, %p = onnx.MaxPool %x {{{WINDOW}}} : ({IMAGE}) -> ({IMAGE}, {PLACES})",
    "norm": f"%y = onnx.LpPool %x {{{WINDOW}}} : ({IMAGE}) -> {IMAGE}",
    "reduced": f"%y = onnx.ReduceLogSumExp %x {{keepdims = 1}} : ({IMAGE}) -> tensor<1x1x1x1xf32>",
    "part": "%a = onnx.Constant dense<0> : tensor<1xi64> %b = onnx.Constant dense<127> : tensor<1xi64> "
    f"%c = onnx.Constant dense<3> : tensor<1xi64> %y = onnx.Slice %x, %a, %b, %c : "
    f"({IMAGE}, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<2x8x128x127xf32>",
}


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
def test_an_op_takes_little_more_than_its_operands_and_results(op: str):
    """At most three times these, in float64."""
    result = op.rpartition("-> ")[2].strip("()").split(", ")[0]
    text = f"func.func @main(%x: {IMAGE}) -> {result} {{ {op} return %y : {result} }}"
    data = np.ones((2, 8, 128, 128), np.float32)
    assert peak(text, data) < 3 * 8 * 2 * data.size


@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_a_resize_is_scattered_by_parts(mode: str):
    src, dst = (np.ones((1, 1, size, 4096), np.float32) for size in (300, 600))
    text = interpolation(src.shape, dst.shape, mode)
    assert peak(text, src, dst) < 1.5 * 8 * (src.size + dst.size)


def test_the_weights_of_many_images_are_summed_over_these_at_once():
    src = np.ones((2000, 32, 1))
    tracemalloc.start()
    try:
        found = conv_backward_weights(src, src, [1], [1], [1], [0], 1)
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(found, np.full((32, 32, 1), 2000))
    assert taken < 8 * src.nbytes
