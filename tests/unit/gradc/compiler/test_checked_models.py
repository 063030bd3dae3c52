"""Models that carry their checks: they fail on a runtime that knows nothing of gradc."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cli import run_gradc

import gradc
from dialects.onnx import ops as onnx
from gradc.compiler.options import Options
from gradc.runtime.session import Session, newest_opset
from passes.targets import TARGETS
from passes.targets.target import Target

pytest.importorskip("onnxruntime")

WINDOW: dict[str, Any] = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
FORMATS: dict[str, Any] = {"data_format": "NCX", "weights_format": "OIX"}


def unwatched(compiled: gradc.Compiled) -> Session:
    """The model without the graph that it carries, which gradc would look at before a run."""
    model = type(compiled.model).FromString(compiled.model.SerializeToString())
    del model.metadata_props[:]
    return Session(model)


def ones(**shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def decoder(dtype: str = "f32") -> gradc.Graph:
    g = gradc.Graph()
    dy, w = g.input("dy", dtype, ["N", 4, None, None]), g.input("w", dtype, [4, 2, 3, 3])
    shape = g.input("shape", "s32", [4])
    g.output(g.convolution_backward_data(dy, w, shape, name="up", **WINDOW, **FORMATS), "dx")
    return g


def feeds(*shape: int, batch: int = 2) -> dict[str, np.ndarray]:
    return ones(dy=(batch, 4, 5, 5), w=(4, 2, 3, 3)) | {"shape": np.array(shape, np.int32)}


def test_the_node_that_fails_says_what_contradicts():
    session = unwatched(gradc.compile(decoder(), checked=True))
    assert session.run(feeds(2, 2, 9, 10))["dx"].shape == (2, 2, 9, 10)
    with pytest.raises(gradc.GradcError) as refused:
        session.run(feeds(2, 2, 9, 20))
    words = str(refused.value)
    assert 'ConvolutionBackwardData "up": sizes contradict where this shape is not 1: ' in words
    assert words.endswith("requested shape:{1,1,1,1,1,1,1,11}")
    labels = words.partition("not 1: ")[2].partition("'")[0].split(", ")
    assert labels[7] == "W of diff_dst for that of diff_src"
    assert len(labels) == 8


def test_an_empty_batch_is_checked_too():
    session = unwatched(gradc.compile(decoder(), checked=True))
    assert session.run(feeds(0, 2, 9, 10, batch=0))["dx"].shape == (0, 2, 9, 10)
    with pytest.raises(gradc.GradcError, match="sizes contradict"):
        session.run(feeds(0, 2, 9, 20, batch=0))


def test_few_nodes_of_which_none_reads_data():
    plain, checked = (gradc.compile(decoder(), checked=c).model.graph.node for c in (False, True))
    assert len(checked) - len(plain) <= 20
    kinds = {"Shape", "Cast", "Concat", "Gather", "Mul", "Add", "Sub", "Max", "Reshape", "ReduceSum"}
    assert {node.op_type for node in checked} - {node.op_type for node in plain} <= kinds


def test_a_static_graph_has_no_checks():
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [2, 4, 5, 5]), g.input("w", "f32", [4, 2, 3, 3])
    g.output(g.convolution_backward_data(dy, w, [2, 2, 9, 9], **WINDOW, **FORMATS), "dx")
    assert gradc.compile(g, checked=True).model == gradc.compile(g).model


@pytest.mark.sweep(parts=9)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_every_target_and_opset(target: str, dtype: str):
    """Compilation holds each op against the kernels of the target: what has a model has a checked one."""
    found = 0
    for opset in {13, 18, 21, newest_opset()}:
        for graph in (decoder(dtype), scaled(dtype)):
            try:
                gradc.compile(graph, target=target, opset=opset)
            except gradc.UnsupportedError:
                continue
            nodes = gradc.compile(graph, target=target, opset=opset, checked=True).model.graph.node
            found += any("contradict" in node.name for node in nodes)
    assert found >= 4 or Target(target).lacks(onnx.MatMulOp, dtype)


def scaled(dtype: str) -> gradc.Graph:
    g = gradc.Graph()
    src, dy = g.input("src", dtype, ["N", 2, None, 4]), g.input("dy", dtype, ["N", 2, None, 6])
    g.output(g.interpolate_backward(src, dy, scales=[1.5, 1.5], mode="linear", data_format="NCX"), "dx")
    return g


@pytest.mark.parametrize(
    ("x", "y", "fits"), [(4, 6, True), (5, 7, True), (5, 8, False), (1, 1, True), (1, 2, False)]
)
def test_scales(x: int, y: int, fits: bool):
    session = unwatched(gradc.compile(scaled("f32"), checked=True))
    given = ones(src=(1, 2, x, 4), dy=(1, 2, y, 6))
    if fits:
        assert session.run(given)["dx"].shape == (1, 2, x, 4)
        return
    with pytest.raises(gradc.GradcError, match="H of scales"):
        session.run(given)


def test_sizes_that_the_lowering_does_not_read():
    """All shapes are static and only the input `sizes` is not: nothing else would fail, and no runtime may
    take the check out."""
    g = gradc.Graph()
    src, dy = g.input("src", "f32", [1, 2, 4, 4]), g.input("dy", "f32", [1, 2, 8, 8])
    g.output(g.interpolate_backward(src, dy, g.input("sizes", "s32", [2]), mode="linear", data_format="NCX"))
    session = unwatched(gradc.compile(g, checked=True))
    given = ones(src=(1, 2, 4, 4), dy=(1, 2, 8, 8))
    assert session.run(given | {"sizes": np.array([8, 8], np.int32)})
    with pytest.raises(gradc.GradcError, match="W of sizes"):
        session.run(given | {"sizes": np.array([8, 9], np.int32)})


def test_a_name_of_two_inputs():
    """No op relates them."""
    g = gradc.Graph()
    for name in "ab":
        src, dy = g.input(f"src{name}", "f32", ["N", 2, 4]), g.input(f"dy{name}", "f32", ["N", 2, None])
        sizes = g.input(f"sizes{name}", "s32", [1])
        g.output(g.interpolate_backward(src, dy, sizes, mode="linear", data_format="NCX"))
    session = unwatched(gradc.compile(g, checked=True))
    sizes = {f"sizes{name}": np.array([6], np.int32) for name in "ab"}
    given = ones(srca=(1, 2, 4), dya=(1, 2, 6), srcb=(3, 2, 4), dyb=(3, 2, 6)) | sizes
    with pytest.raises(Exception, match=r"inputs: sizes contradict .* N at axis 0 of srcb"):
        session._session.run(None, given)


def test_sizes_follow_through_a_chain():
    """The second op's diff_dst is the first one's result, of which only the graph knows the size."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [1, 4, None, None]), g.input("w", "f32", [3, 4, 3, 3])
    up = g.conv_transpose_backward_data(dy, w, **WINDOW, data_format="NCX", weights_format="IOX")
    v, shape = g.input("v", "f32", [3, 2, 3, 3]), g.input("shape", "s32", [4])
    g.output(g.convolution_backward_data(up, v, shape, **WINDOW, **FORMATS), "dx")
    session = unwatched(gradc.compile(g, checked=True))
    given = ones(dy=(1, 4, 9, 10), w=(3, 4, 3, 3), v=(3, 2, 3, 3))
    assert session.run(given | {"shape": np.array([1, 2, 9, 10], np.int32)})["dx"].shape == (1, 2, 9, 10)
    with pytest.raises(gradc.GradcError, match="H of diff_dst for that of diff_src"):
        session.run(given | {"shape": np.array([1, 2, 8, 10], np.int32)})


BETWEEN = """
func.func @main(%dy: tensor<?x4x?xf32>, %w: tensor<4x2x3xf32>, %s: tensor<3xi32>) -> tensor<?x?x?xf32> {
  %x = onnx.Neg %dy : (tensor<?x4x?xf32>) -> tensor<?x4x?xf32>
  %dx = onednn.convolution_backward_data %x, %w, %s {strides = [2], pads_begin = [1], pads_end = [1],
    dilations = [1], data_format = "NCX", weights_format = "OIX"}
    : (tensor<?x4x?xf32>, tensor<4x2x3xf32>, tensor<3xi32>) -> tensor<?x?x?xf32>
  func.return %dx : tensor<?x?x?xf32>
}
"""


def test_what_cannot_be_checked_says_why(tmp_path: Path):
    (tmp_path / "g.mlir").write_text(BETWEEN)
    result = run_gradc("compile", tmp_path / "g.mlir", "--checked", "-o", tmp_path / "m.onnx")
    assert result.code == 3
    assert "given those of the results of onnx.Neg" in result.line
    assert "g.mlir:4:3: error: [ConvolutionBackwardData" in result.line


def test_the_command_line(tmp_path: Path):
    decoder().save(tmp_path / "g.mlir")
    command = ["compile", tmp_path / "g.mlir", "--checked"]
    assert run_gradc(*command, "-o", tmp_path / "m.onnx").code == 0
    wanted = gradc.compile(tmp_path / "g.mlir", checked=True).model
    assert (tmp_path / "m.onnx").read_bytes() == wanted.SerializeToString(deterministic=True)
    assert run_gradc(*command, "--emit", "mlir").code == 2
    assert Options(checked=True) != Options()
