"""What the numpy reference holds in memory while it runs."""

from __future__ import annotations

import tracemalloc

import numpy as np

from dialects.evaluate import evaluate
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
