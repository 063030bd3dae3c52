"""Sizes that a run brings, against the graph: before the run, once per set, also of a saved model."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.cli import run_gradc

import gradc
from gradc.graph import run_time_sizes
from gradc.runtime.session import Session

pytest.importorskip("onnxruntime")

WINDOW: dict[str, Any] = {"strides": [2, 2], "pads_begin": [1, 1], "pads_end": [1, 1], "dilations": [1, 1]}
FORMATS: dict[str, Any] = {"data_format": "NCX", "weights_format": "OIX"}


def decoder(constant: bool = True) -> gradc.Compiled:
    """The graph with dynamic sizes of docs/inputs.md."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", ["N", 64, None, None]), g.input("w", "f32", [64, 32, 3, 3])
    shape = g.input("shape", "s32", [4])
    g.output(g.convolution_backward_data(dy, w, shape, **WINDOW, **FORMATS), "dx")
    return gradc.compile(g, constants={"w": np.ones((64, 32, 3, 3), np.float32)} if constant else None)


def feeds(*shape: int) -> dict[str, Any]:
    return {"dy": np.ones((2, 64, 14, 14), np.float32), "shape": np.array(shape, np.int32)}


def written_down(*shape: int) -> str:
    """How the graph is refused when the shape is an attribute."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [2, 64, 14, 14]), g.input("w", "f32", [64, 32, 3, 3])
    with pytest.raises(gradc.GradcError) as refused:
        g.convolution_backward_data(dy, w, list(shape), **WINDOW, **FORMATS)
    return refused.value.diagnostic.message.replace("dst_shape attribute", "dst_shape input")


CONTRADICTIONS = [
    (2, 32, 100, 100),
    (3, 32, 28, 28),
    (2, 31, 28, 28),
    (2, 32, 28, -1),
    (2, 32, 0, 28),
    (2, 32, 26, 28),
]


class TestConvolution:
    @pytest.mark.parametrize("shape", CONTRADICTIONS, ids=str)
    def test_the_words_are_those_of_the_static_graph(self, shape):
        compiled = decoder()
        for action in (compiled.run, compiled.reference, compiled.session().bound):
            with pytest.raises(gradc.GradcError) as refused:
                action(feeds(*shape))
            assert refused.value.diagnostic.message == written_down(*shape)
            assert refused.value.diagnostic.position is not None

    def test_legal_sizes_run(self):
        for x in (27, 28):
            assert decoder().run(feeds(2, 32, x, x))["dx"].shape == (2, 32, x, x)

    def test_each_set_of_sizes_is_checked_once(self, monkeypatch):
        seen, specialised = [], run_time_sizes.specialize
        monkeypatch.setattr(
            run_time_sizes, "specialize", lambda *given: seen.append(given) or specialised(*given)
        )
        compiled = decoder()
        for x in (27, 28, 27, 28, 28):
            compiled.run(feeds(2, 32, x, x))
            compiled.reference(feeds(2, 32, x, x))
        assert len(seen) == 2

    def test_a_static_graph_has_nothing_to_check(self):
        g = gradc.Graph()
        dy, w = g.input("dy", "f32", [2, 64, 14, 14]), g.input("w", "f32", [64, 32, 3, 3])
        g.output(g.convolution_backward_data(dy, w, [2, 32, 28, 28], **WINDOW, **FORMATS), "dx")
        compiled = gradc.compile(g)
        assert not compiled._sizes.are_dynamic
        assert "gradc.graph" not in {entry.key for entry in compiled.model.metadata_props}


def test_run_time_sizes_of_interpolate():
    g = gradc.Graph()
    src, dy = g.input("src", "f32", ["N", 3, 8, 8]), g.input("dy", "f32", ["N", 3, None, None])
    g.output(g.interpolate_backward(src, dy, g.input("sizes", "s32", [2]), mode="linear", data_format="NCX"))
    compiled = gradc.compile(g)
    given = {
        "src": np.ones((1, 3, 8, 8), np.float32),
        "dy": np.ones((1, 3, 17, 16), np.float32),
        "sizes": np.array([16, 16], np.int32),
    }
    with pytest.raises(gradc.GradcError, match="sizes input axis H: given 16, expected 17, that of diff_dst"):
        compiled.run(given)


def test_a_declared_name_has_one_size():
    """The batch of the result is called as that of another input is."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [None, 4, 5, 5]), g.input("w", "f32", [4, 2, 3, 3])
    other = g.input("other", "f32", ["M", 2, 10, 10])
    dx = g.convolution_backward_data(dy, w, **WINDOW, **FORMATS, result_shape=["M", 2, 10, 10])
    g.output(dx, "dx")
    g.output(other, "copy")
    given = {"dy": (3, 4, 5, 5), "w": (4, 2, 3, 3), "other": (2, 2, 10, 10)}
    compiled = gradc.compile(g)
    with pytest.raises(gradc.GradcError, match=r"shape of diff_src: given .2, 2, 10, 10., expected .3, 2"):
        compiled.run({name: np.ones(shape, np.float32) for name, shape in given.items()})


SIZES_BY_OPS = """
func.func @main(%dy: tensor<?x4x?x?xf32>, %w: tensor<4x2x3x3xf32>, %like: tensor<?x?x?x?xf32>)
    -> tensor<?x?x?x?xf32> {
  %s = onnx.Shape %like : (tensor<?x?x?x?xf32>) -> tensor<4xi64>
  %i = onnx.Cast %s {to = i32} : (tensor<4xi64>) -> tensor<4xi32>
  %dx = onednn.convolution_backward_data %dy, %w, %i {strides = [2, 2], pads_begin = [1, 1],
    pads_end = [1, 1], dilations = [1, 1], data_format = "NCX", weights_format = "OIX"}
    : (tensor<?x4x?x?xf32>, tensor<4x2x3x3xf32>, tensor<4xi32>) -> tensor<?x?x?x?xf32>
  func.return %dx : tensor<?x?x?x?xf32>
}
"""


def test_sizes_that_ops_compute(tmp_path: Path):
    (tmp_path / "g.mlir").write_text(SIZES_BY_OPS)
    compiled = gradc.compile(tmp_path / "g.mlir")
    given = {"dy": np.ones((2, 4, 5, 5), np.float32), "w": np.ones((4, 2, 3, 3), np.float32)}
    assert compiled.run({**given, "like": np.ones((2, 2, 9, 10), np.float32)})
    with pytest.raises(gradc.GradcError, match="axis W: sizes disagree"):
        compiled.run({**given, "like": np.ones((2, 2, 9, 11), np.float32)})


def test_strict_refuses_at_run_time_too():
    """A given output_padding that is neither 0 nor the residue is an error with strict."""
    g = gradc.Graph()
    dy, w = g.input("dy", "f32", [1, 4, None]), g.input("w", "f32", [4, 2, 3])
    one: dict[str, Any] = {
        "strides": [3],
        "pads_begin": [1],
        "pads_end": [1],
        "dilations": [1],
        "output_padding": [1],
    }
    g.output(g.convolution_backward_data(dy, w, g.input("shape", "s32", [3]), **one, **FORMATS), "dx")
    given = {
        "dy": np.ones((1, 4, 5), np.float32),
        "w": np.ones((4, 2, 3), np.float32),
        "shape": np.array([1, 2, 15], np.int32),
    }
    assert gradc.compile(g).run(given)
    with pytest.raises(gradc.GradcError, match="output_padding axis W: given 1, neither 0 nor"):
        gradc.compile(g, strict=True).run(given)


class TestSavedModel:
    @pytest.mark.parametrize("constant", [True, False])
    def test_it_is_refused_in_the_same_words(self, tmp_path: Path, constant: bool):
        compiled, path = decoder(constant), tmp_path / "m.onnx"
        compiled.save(path)
        weights: dict[str, Any] = {} if constant else {"w": np.ones((64, 32, 3, 3), np.float32)}
        for shape in CONTRADICTIONS:
            np.savez(tmp_path / "in.npz", **feeds(*shape), **weights)
            result = run_gradc("run", str(path), "--inputs", str(tmp_path / "in.npz"))
            assert result.code == 4
            assert written_down(*shape) in result.err
        np.savez(tmp_path / "in.npz", **feeds(2, 32, 27, 28), **weights)
        assert run_gradc("run", str(path), "--inputs", str(tmp_path / "in.npz")).code == 0

    def test_it_carries_no_weights_and_no_folders(self):
        (text,) = (e.value for e in decoder().model.metadata_props if e.key == "gradc.graph")
        assert len(text) < 2000
        assert str(Path(__file__).parent) not in text
        assert f'"{Path(__file__).name}"' in text

    def test_random_inputs_fit(self, tmp_path: Path):
        """The shape used to be drawn as zeros and ones."""
        decoder().save(tmp_path / "m.onnx")
        result = run_gradc("run", str(tmp_path / "m.onnx"))
        assert result.code == 0
        assert "dx: float32 2x32x23x23" in result.out

    def test_what_cannot_be_read_is_an_error_of_one_line(self, tmp_path: Path):
        model = onnx.ModelProto.FromString(decoder().model.SerializeToString())
        for entry in model.metadata_props:
            entry.value = "func.func @main(%x: tensor<" if entry.key == "gradc.graph" else entry.value
        onnx.save(model, tmp_path / "m.onnx")
        with pytest.raises(gradc.GradcError, match=r"metadata gradc\.graph cannot be read: gradc\.graph:1:"):
            Session(tmp_path / "m.onnx")

    def test_renamed_inputs_run_unchecked(self, tmp_path: Path):
        """A tool that edits a model may rename; the type of what is not found is as declared."""
        model = onnx.ModelProto.FromString(decoder().model.SerializeToString())
        for info in model.graph.input:
            for node in model.graph.node:
                node.input[:] = [f"my_{n}" if n == info.name else n for n in node.input]
            info.name = f"my_{info.name}"
        onnx.save(model, tmp_path / "m.onnx")
        given = {f"my_{name}": array for name, array in feeds(2, 32, 28, 28).items()}
        assert Session(tmp_path / "m.onnx").run(given)["dx"].shape == (2, 32, 28, 28)


@pytest.mark.parametrize("opset", [13, 18, 23])
@pytest.mark.parametrize("shape", [[0, -1], [0, 2, -1], [0, -1, 4]])
def test_static_reshape_keeps_an_empty_batch_beside_a_size_that_follows(shape, opset):
    """A runtime cannot tell what -1 is where a size that is kept is 0."""
    graph = gradc.Graph()
    x = graph.input("x", "f32", (None, None, 4))
    graph.output(graph.static_reshape(x, shape=shape, special_zero=True), "y")
    compiled = gradc.compile(graph, opset=opset, threads=1)
    for batch in (0, 3):
        data = np.arange(batch * 24, dtype=np.float32).reshape(batch, 6, 4)
        wanted = [batch if size == 0 else size for size in shape]
        wanted[shape.index(-1)] = 24 // math.prod(size for size in shape if size > 0)
        np.testing.assert_array_equal(compiled.run({"x": data})["y"], data.reshape(wanted))


@pytest.mark.parametrize("windows", [5, 6])
@pytest.mark.parametrize("source", [17, None])
def test_a_mean_of_which_the_last_window_may_end_behind_its_source(source: int | None, windows: int):
    """Rounded up, 17 places have 6 windows of 4, 3 apart, and the last of them is a mean of two places."""
    g = gradc.Graph()
    dy = g.input("dy", "f32", ["N", 1, None])
    shape = g.input("shape", "s32", [3]) if source is None else [1, 1, source]
    window: dict[str, Any] = {"kernel": [4], "strides": [3], "pads_begin": [0], "pads_end": [0]}
    g.output(g.avg_pool_backward(dy, shape, **window, exclude_pad=True, data_format="NCX"), "dx")
    compiled = gradc.compile(g, threads=1)
    fed = {"dy": np.arange(1, windows + 1, dtype=np.float32).reshape(1, 1, -1)}
    given = fed | ({"shape": np.array([1, 1, 17], np.int32)} if source is None else {})
    want = np.zeros(17)
    for y, share in enumerate(fed["dy"].ravel()):
        places = want[3 * y : 3 * y + 4]
        places += share / places.size
    np.testing.assert_allclose(compiled.run(given)["dx"].ravel(), want, rtol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "pads", "size", "windows", "words"),
    [
        (1, 1, -1, 1, "src axis W: given -1, expected 0 or more"),
        (2, 0, 1, 0, "diff_dst axis W: given 0, expected 1"),
        (4, 0, 1, 0, "src axis W with its pads: given 1, expected 3 or more, for a window of 4"),
    ],
)
@pytest.mark.parametrize("requested", ["run", "reference"])
def test_a_mean_of_a_source_that_cannot_be(
    requested: str, kernel: int, pads: int, size: int, windows: int, words: str
):
    g = gradc.Graph()
    dy, shape = g.input("dy", "f32", ["N", 1, None]), g.input("shape", "s32", [3])
    window: dict[str, Any] = {"kernel": [kernel], "strides": [min(2, kernel)]}
    edges: dict[str, Any] = {"pads_begin": [pads], "pads_end": [pads], "exclude_pad": False}
    g.output(g.avg_pool_backward(dy, shape, **window, **edges, data_format="NCX"), "dx")
    given = {"dy": np.ones((1, 1, windows), np.float32), "shape": np.array([1, 1, size], np.int32)}
    with pytest.raises(gradc.GradcError, match=re.escape(words)):
        getattr(gradc.compile(g, threads=1), requested)(given)


def test_a_probability_that_run_time_brings(tmp_path: Path):
    """Which elements oneDNN's Dropout drops is not documented: 0 drops none."""
    text = """func.func @main(%x: tensor<4xf32>, %s: tensor<i64>, %o: tensor<i64>, %p: tensor<f32>)
            -> tensor<4xf32> {
        %y, %m = onednn.dropout %x, %s, %o, %p
            : (tensor<4xf32>, tensor<i64>, tensor<i64>, tensor<f32>) -> (tensor<4xf32>, tensor<4xui8>)
        func.return %y : tensor<4xf32>
    }"""
    path = tmp_path / "dropout.mlir"
    path.write_text(text)
    compiled = gradc.compile(path)
    assert any("known at run time only" in remark.message for remark in compiled.remarks)
    feeds = {"x": np.ones(4, np.float32), "s": np.array(1), "o": np.array(0)}
    kept = compiled.run({**feeds, "p": np.array(0, np.float32)})
    np.testing.assert_array_equal(kept["y"], feeds["x"])
    with pytest.raises(gradc.GradcError, match=r"probability: given 0\.5, expected 0"):
        compiled.run({**feeds, "p": np.array(0.5, np.float32)})
