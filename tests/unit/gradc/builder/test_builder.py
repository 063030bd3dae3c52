"""Graphs from Python: values, names, places, and the same ops as a document gives."""

import copy
import inspect
import pickle  # noqa: TID251 - what users do with a graph; nothing of gradc reads one
import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.documents import CONV, text_of
from support.trainable_models import perceptron

import gradc
from dialects import source_ops
from dialects.support.attributes import documented_attributes
from dialects.support.constants import constant_value
from dialects.support.diagnostics import GradcError, name_of, position_of
from dialects.support.documented_op import DocumentedOp
from dialects.support.dtypes import DTYPES
from dialects.support.entry import entry_function, input_names, output_names
from gradc.builder.base import GraphValue
from gradc.builder.graph import Graph
from gradc.graph.printing import located_text
from gradc.importers.mlir.parser import import_mlir
from gradc.importers.onednn.reader import import_json

WINDOW: dict[str, Any] = {
    "strides": (2, 2),
    "pads_begin": [1, 1],
    "pads_end": (1, 1),
    "dilations": np.array([1, 1]),
}
CONV_KEYS: dict[str, Any] = WINDOW | {"data_format": "NCX", "weights_format": "OIX"}


def conv_graph() -> tuple[Graph, GraphValue, GraphValue]:
    g = Graph()
    return g, g.input("dy", "f32", ("N", 4, 3, 3)), g.input("w", np.float32, [4, 2, 3, 3])


def error_of(function, *args, **kwargs) -> str:
    """The lines, one per mistake, which name the very line here."""
    with pytest.raises(GradcError) as caught:
        function(*args, **kwargs)
    messages = []
    for line in str(caught.value).splitlines():
        match = re.fullmatch(r"(.*):(\d+):1: error: (.*)", line)
        assert match
        assert match[1] == __file__
        assert "function(*args" in Path(__file__).read_text().splitlines()[int(match[2]) - 1]
        messages.append(match[3])
    return "\n".join(messages)


def ops_of(g: Graph) -> list[DocumentedOp]:
    return [op for op in g.module().walk() if isinstance(op, DocumentedOp)]


def test_values():
    g, dy, w = conv_graph()
    dx = g.convolution_backward_data(dy, w, (None, 2, 5, 5), **CONV_KEYS)
    assert (dy.shape, dy.dtype) == (("N", 4, 3, 3), "f32")
    assert (dx.shape, dx.dtype) == (("N", 2, 5, 5), "f32")
    assert repr(dx) == "GraphValue(f32 [N, 2, 5, 5])"


def test_same_op_as_the_document():
    g = Graph()
    dy, w = g.input("t0", "f32", (1, 4, 3, 3)), g.input("t1", "f32", (4, 2, 3, 3))
    keys = CONV_KEYS | {"groups": 1, "auto_pad_rule": "library"}
    g.output(g.convolution_backward_data(dy, w, [1, 2, 5, 5], name="conv", **keys), "t2")
    (built,), module = ops_of(g), import_json(text_of(CONV), "g.json")
    (read,) = [op for op in module.walk() if isinstance(op, DocumentedOp)]
    assert built.properties == read.properties
    assert built.result_types == read.result_types
    assert name_of(built) == name_of(read)
    functions = [entry_function(m) for m in (module, g.module())]
    assert input_names(functions[0]) == input_names(functions[1])
    assert output_names(functions[0]) == output_names(functions[1])


def test_the_text_of_a_graph_reads_back():
    g, dy, w = conv_graph()
    g.output(g.convolution_backward_data(dy, w, (None, 2, 5, 5), name="dx_1", **CONV_KEYS))
    assert str(import_mlir(str(g.module()), "g.mlir")) == str(g.module())
    assert "%dx = onednn.convolution_backward_data %dy, %w" in str(g.module())


def test_a_saved_graph_is_read_as_any_other(tmp_path):
    graph = Graph()
    src, dy = graph.input("image/x", "f32", ["N", 2, 3, 3]), graph.input("dy", "f32", ["N", 2, 6, 6])
    graph.output(graph.interpolate_backward(src, dy, [6, 6], mode="nearest", data_format="NCX"), "image/dx")
    graph.save(tmp_path / "g.mlir")
    assert gradc.compile(tmp_path / "g.mlir").inputs == gradc.compile(graph).inputs
    assert gradc.compile(tmp_path / "g.mlir").outputs == gradc.compile(graph).outputs
    with pytest.raises(gradc.GradcError, match="there is no folder"):
        graph.save(tmp_path / "none" / "g.mlir")


def test_dst_shape_as_input_and_as_attribute():
    g, dy, w = conv_graph()
    shape = g.input("shape", "s32", [4])
    dynamic = g.convolution_backward_data(dy, w, shape, **CONV_KEYS)
    known = g.convolution_backward_data(dy, w, g.constant(np.array([1, 2, 6, 5], np.int32)), **CONV_KEYS)
    declared = g.convolution_backward_data(dy, w, result_shape=("N", 2, 6, 6), **CONV_KEYS)
    assert [v.shape for v in (dynamic, known, declared)] == [
        ("N", 2, None, None),
        ("N", 2, 6, 5),
        ("N", 2, 6, 6),
    ]


def test_sizes_as_input_and_as_attribute():
    g = Graph()
    src, dy = g.input("src", "bf16", ("N", 3, 3, 2)), g.input("dy", "bf16", ("N", 6, 6, 2))
    given: list[Any] = [[6, 6], np.array([6, 6]), g.input("sizes", "s32", (2,)), None]
    for sizes in given:
        scales = [2.0, 2.0] if sizes is None else None
        assert g.interpolate_backward(src, dy, sizes, mode="NEAREST", scales=scales).shape == ("N", 3, 3, 2)


def test_every_source_op_has_a_method_with_its_attributes():
    for kind, op in source_ops().items():
        method = op.name.partition(".")[2]
        assert hasattr(Graph, method), f"missing: Graph.{method}"
        parameters = inspect.signature(getattr(Graph, method)).parameters
        assert set(documented_attributes(op)) <= set(parameters), kind
        assert {port.removesuffix("_i") for port in op.PORTS} <= set(parameters), kind


def test_a_type_checker_finds_unknown_arguments():
    for op in source_ops().values():
        method = getattr(Graph, op.name.partition(".")[2])
        parameters = inspect.signature(method).parameters.values()
        (rest,) = (p for p in parameters if p.kind is inspect.Parameter.VAR_KEYWORD)
        assert rest.annotation == "Never", op.name
        assert not [p.name for p in parameters if "Any" in str(p.annotation)]


def test_upsample_in_both_spellings():
    g = Graph()
    dy = g.input("dy", "f16", (None, 2, 6, 6))
    camel = g.upsample_bilinear2d_backward(dy, (6, 6), (None, 2, 3, 3), True, 0.0, scalesW=2.0)
    snake = g.upsample_bilinear2d_backward(
        grad_out=dy,
        output_size=(6, 6),
        input_size=(None, 2, 3, 3),
        align_corners=True,
        scales_h=0.0,
        scales_w=2,
    )
    g.output(camel)
    g.output(snake)
    first, second = ops_of(g)
    assert first.properties == second.properties
    line = error_of(g.upsample_bilinear2d_backward, dy, (6, 6), (1, 2, 3, 3), output_size=(6, 6))
    assert "unknown attribute output_size" in line


@pytest.mark.parametrize("entry", DTYPES, ids=lambda entry: entry.name)
def test_dtypes(entry):
    g = Graph()
    spellings = [entry.name, entry.name.upper(), entry.numpy, entry.numpy.name, entry.numpy.type]
    assert {g.input(f"x{i}", dtype, []).dtype for i, dtype in enumerate(spellings)} == {entry.name}
    assert g.input("last", ml_dtypes.bfloat16, []).dtype == "bf16"


def test_constants():
    g = Graph()
    bits = np.arange(6, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(2, 3)
    value = g.constant(bits, name="weights")
    assert (value.dtype, value.shape) == ("bf16", (2, 3))
    g.output(value)
    (op,) = [op for op in g.module().walk() if op.name == "onnx.Constant"]
    np.testing.assert_array_equal(constant_value(op.results[0]), bits)
    assert "dtype" in error_of(g.constant, "abc")
    assert "constant" in error_of(g.constant, [[1], [1, 2]])


def test_names():
    g, dy, w = conv_graph()
    named = g.convolution_backward_data(dy, w, (None, 2, 5, 5), name="up/conv_1", **CONV_KEYS)
    other = g.convolution_backward_data(dy, w, (None, 2, 5, 5), **CONV_KEYS)
    g.output(named)
    g.output(other)
    g.output(other, "again:0")
    g.output(named)
    g.output(dy)
    function = entry_function(g.module())
    assert input_names(function) == ("dy", "w")
    assert output_names(function) == ("up/conv_1", "result1", "again:0", "result3", "result4")


def test_places():
    g, dy, w = conv_graph()
    g.output(g.convolution_backward_data(dy, w, (None, 2, 5, 5), name="conv", **CONV_KEYS))
    (op,) = ops_of(g)
    place = position_of(op)
    assert place is not None
    assert (place.file, place.column) == (__file__, 1)
    assert 'name="conv", **CONV_KEYS' in Path(__file__).read_text().splitlines()[place.line - 1]


def test_modules_are_independent():
    g, dy, w = conv_graph()
    g.output(g.convolution_backward_data(dy, w, (None, 2, 5, 5), **CONV_KEYS), "a")
    first = g.module()
    before = str(first)
    g.output(g.convolution_backward_data(dy, w, (None, 2, 6, 6), **CONV_KEYS), "b")
    assert str(first) == before
    assert str(g.module()) != before
    assert output_names(entry_function(g.module())) == ("a", "b")


def test_mistakes_with_values():
    g, dy, w = conv_graph()
    assert "given ndarray, expected a GraphValue" in error_of(
        g.convolution_backward_data, dy, np.zeros((4, 2, 3, 3)), **CONV_KEYS
    )
    assert "GraphValue of another graph" in error_of(Graph().convolution_backward_data, dy, w, **CONV_KEYS)
    assert "GraphValue of another graph" in error_of(Graph().output, dy)
    assert "missing weights" in error_of(g.convolution_backward_data, dy)
    assert "missing diff_dst, weights" in error_of(g.convolution_backward_data)
    assert "missing original_image" in error_of(g.resize_bilinear_v2_grad, dy)


def test_mistakes_with_attributes():
    g, dy, w = conv_graph()
    build, full = g.convolution_backward_data, (None, 2, 5, 5)
    assert "attribute strides is missing" in error_of(build, dy, w, full)
    assert "unknown attribute stride: " in error_of(build, dy, w, full, stride=None, **CONV_KEYS)
    assert "did you mean strides?" in error_of(build, dy, w, full, stride=[1, 1], **CONV_KEYS)
    assert "attribute dst_shape: given 5, expected type s64[]" in error_of(build, dy, w, 5, **CONV_KEYS)
    assert "attribute groups: given '2', expected type s64" in error_of(
        build, dy, w, full, groups="2", **CONV_KEYS
    )
    assert "given True" in error_of(build, dy, w, full, groups=True, **CONV_KEYS)
    assert "mode is missing" in error_of(g.interpolate_backward, dy, dy)


def test_mistakes_with_names_and_shapes():
    g, dy, w = conv_graph()
    assert '[input "dy"] the name is taken' in error_of(g.input, "dy", "f32", [1])
    assert "name: given ''" in error_of(g.input, "", "f32", [1])
    assert "name: given 5" in error_of(
        g.convolution_backward_data, dy, w, (None, 2, 5, 5), name=5, **CONV_KEYS
    )
    assert "dtype: given float31, expected one of f32, bf16" in error_of(g.input, "x", "float31", [1])
    assert "dtype" in error_of(g.input, "x", None, [1])
    assert "dtype: given complex64" in error_of(g.input, "x", np.dtype(np.complex64), [1])
    assert "shape: given 5" in error_of(g.input, "x", "f32", 5)
    assert "shape axis 1: given -1" in error_of(g.input, "x", "f32", [1, -1])
    assert "shape axis 0: given 1.5" in error_of(g.input, "x", "f32", [1.5])
    assert "shape axis 0: given True" in error_of(g.input, "x", "f32", [True])
    assert "name of the graph" in error_of(Graph, "")


def test_mistakes_with_outputs():
    g, dy, _ = conv_graph()
    assert "the graph has no outputs" in error_of(g.module)
    g.output(dy, "o")
    assert '[output "o"] the name is taken' in error_of(g.output, dy, "o")
    g.output(dy, "w")
    assert '[output "w"] the name is that of an input' in error_of(g.module)


@pytest.mark.parametrize(("result", "layout"), [([1, 2, 3], "library"), ([1, 4, 3], "page")])
def test_unknown_channels_leave_the_weights_layout_to_the_declared_result(result, layout):
    g = Graph()
    dy = g.input("dy", "f32", [1, None, 3])
    w = g.input("w", "f32", [2, 4, 1])
    unit = [1]
    dx = g.conv_transpose_backward_data(
        dy,
        w,
        strides=unit,
        pads_begin=[0],
        pads_end=[0],
        dilations=unit,
        groups=2,
        data_format="NCX",
        weights_format="IOX",
        result_shape=result,
    )
    g.output(dx, "dx")
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((2, 4, 1)).astype(np.float32)
    channels = 8 if layout == "library" else 4
    diff_dst = rng.standard_normal((1, channels, 3)).astype(np.float32)
    out = gradc.compile(g).run({"dy": diff_dst, "w": weights})["dx"]
    per_group = channels // 2
    for c in range(result[1]):
        q, i = divmod(c, result[1] // 2)
        group = diff_dst[0, q * per_group : (q + 1) * per_group]
        row = weights[c, :, 0] if layout == "library" else weights[i, q * per_group : (q + 1) * per_group, 0]
        np.testing.assert_allclose(out[0, c], row @ group, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [1e308, 3e38, 1e-45, float("inf")])
def test_scales_beyond_every_size_are_refused(scale):
    g = Graph()
    src, dst = g.input("src", "f32", [1, 2, 3]), g.input("dst", "f32", [1, 2, 6])
    with pytest.raises(GradcError, match="scales axis W"):
        g.interpolate_backward(src, dst, mode="linear", scales=[scale], data_format="NCX")


class TestPrinting:
    def test_repr_is_the_edge(self):
        g = Graph()
        assert repr(g) == "<gradc.Graph nothing -> nothing; 0 ops>"
        x = g.input("x", "f32", ["N", 2, None, 4])
        y = g.interpolate_backward(x, x, mode="linear", sizes=(4, 4), data_format="NCX")
        g.output(y, "y")
        assert repr(g) == "<gradc.Graph x: f32 [N, 2, ?, 4] -> y: f32 [N, 2, ?, 4]; 1 op>"

    def test_str_is_the_text_so_far(self):
        g = Graph("backward")
        x = g.input("x", "f32", [2])
        assert "func.func @backward(%x: tensor<2xf32>" in str(g)
        g.constant(np.zeros(100, np.float32))
        assert "dense<...> : tensor<100xf32>" in str(g)
        g.output(x, "y")
        assert "func.return %x" in str(g)
        assert str(g) == str(g), "printing changes nothing"

    def test_no_public_class_shows_an_address(self, tmp_path):
        g = Graph()
        x = g.input("x", "f32", [1, 2, 4, 4])
        g.output(g.interpolate_backward(x, x, mode="linear", sizes=(4, 4), data_format="NCX"), "y")
        compiled = gradc.compile(g)
        shown = {
            "Graph": g,
            "Compiled": compiled,
            "Report": gradc.report(g, run=False),
            "Limits": gradc.Limits(),
            "Diagnostic": gradc.Diagnostic("error", "wrong"),
            "TrainStep": gradc.train_step(perceptron(), loss="mse", optimizer=gradc.optim.SGD(), check=False),
        }
        shown["TrainStep"].save(tmp_path / "run")
        shown["Trainer"] = gradc.Trainer(tmp_path / "run", threads=1)
        found = {name: getattr(gradc, name) for name in gradc.__all__}
        classes = {name for name, thing in found.items() if isinstance(thing, type)}
        assert {name for name in classes if not issubclass(found[name], Exception)} == set(shown)
        for thing in (*shown.values(), x, *compiled.inputs, compiled.session()):
            assert not re.search(r"0x[0-9a-f]{6}", f"{thing!r} {thing}")


def test_a_deep_graph_is_pickled_and_copied_with_its_values():
    graph = Graph()
    value = graph.input("x", "f32", [4])
    for number in range(1_100):
        value = graph.relu(value, name=f"op {number}")
    graph.output(value)
    for other, last in (pickle.loads(pickle.dumps((graph, value))), copy.deepcopy((graph, value))):
        assert located_text(other.module()) == located_text(graph.module())
        other.output(other.relu(last), "more")
        assert len(gradc.compile(other).outputs) == 2
    assert len(gradc.compile(graph).outputs) == 1
