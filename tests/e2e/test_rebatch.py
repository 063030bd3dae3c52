"""`--rebatch` and `--static-shape`: other sizes than those that a file fixes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest
from support.cli import run_gradc

import gradc

RNG = np.random.default_rng(0)


def node(op, inputs, output, **attributes):
    return oh.make_node(op, inputs, [output], name=f"{op.lower()}_{output}", **attributes)


def model(nodes, x_shape, y_shape, **constants) -> onnx.ModelProto:
    arrays = [nh.from_array(np.asarray(value), name) for name, value in constants.items()]
    values = [
        oh.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in (("x", x_shape), ("y", y_shape))
    ]
    graph = oh.make_graph(nodes, "g", values[:1], values[1:], arrays)
    found = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(found)
    return found


def floats(*shape) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def convolutional(b: int) -> onnx.ModelProto:
    nodes = [
        node("Conv", ["x", "w"], "c"),
        node("Relu", ["c"], "r"),
        node("Reshape", ["r", "to"], "f"),
        node("MatMul", ["f", "v"], "m"),
        node("Reshape", ["m", "back"], "y"),
    ]
    constants = {"w": floats(4, 3, 3, 3), "to": [b, 64], "v": floats(64, 6), "back": [b, 2, -1]}
    return model(nodes, [b, 3, 6, 6], [b, 2, 3], **constants)


def flattened_rows(b: int) -> onnx.ModelProto:
    """The batch is merged with the steps, and leads no shape."""
    nodes = [
        node("Transpose", ["x"], "t", perm=[1, 0, 2]),
        node("Reshape", ["t", "to"], "f"),
        node("MatMul", ["f", "w"], "m"),
        node("Reshape", ["m", "back"], "p"),
        node("Transpose", ["p"], "y", perm=[1, 0, 2]),
    ]
    return model(nodes, [b, 5, 4], [b, 5, 6], w=floats(4, 6), to=[5 * b, 4], back=[5, b, 6])


def heads(b: int) -> onnx.ModelProto:
    """Attention of steps before batch, as torch writes it: heads are split off beside the batch."""
    nodes = [
        node("Transpose", ["x"], "t", perm=[1, 0, 2]),
        node("Reshape", ["t", "to"], "s"),
        node("Transpose", ["s"], "h", perm=[1, 0, 2]),
        node("Transpose", ["s"], "k", perm=[1, 2, 0]),
        node("MatMul", ["h", "k"], "a"),
        node("Softmax", ["a"], "q", axis=-1),
        node("MatMul", ["q", "h"], "z"),
        node("Transpose", ["z"], "zt", perm=[1, 0, 2]),
        node("Reshape", ["zt", "back"], "zr"),
        node("Transpose", ["zr"], "y", perm=[1, 0, 2]),
    ]
    return model(nodes, [b, 5, 8], [b, 5, 8], to=[5, 2 * b, 4], back=[5, b, 8])


def class_token(b: int) -> onnx.ModelProto:
    nodes = [
        node("Expand", ["token", "to"], "e"),
        node("Concat", ["e", "x"], "c", axis=1),
        node("Add", ["c", "place"], "y"),
    ]
    token, to = floats(1, 1, 4), [b, 1, 4]
    return model(nodes, [b, 3, 4], [b, 4, 4], token=token, to=to, place=np.repeat(floats(1, 4, 4), b, 0))


def recurrent(b: int) -> onnx.ModelProto:
    nodes = [
        node("Transpose", ["x"], "t", perm=[1, 0, 2]),
        node("GRU", ["t", "w", "r", "", "", "h"], "g", hidden_size=4),
        node("Squeeze", ["g", "axes"], "s"),
        node("Transpose", ["s"], "y", perm=[1, 0, 2]),
    ]
    constants = {"w": floats(1, 12, 3), "r": floats(1, 12, 4), "h": np.repeat(floats(1, 1, 4), b, 1)}
    return model(nodes, [b, 5, 3], [b, 5, 4], axes=[1], **constants)


def padded_windows(b: int) -> onnx.ModelProto:
    """Windows of 3 columns, after pads that are computed from the number of columns."""
    nodes = [
        node("Shape", ["x"], "s", start=1, end=2),
        node("Mod", ["s", "three"], "rest"),
        node("Sub", ["three", "rest"], "more"),
        node("Concat", ["zero", "zero", "more", "zero"], "pairs", axis=0),
        node("Reshape", ["pairs", "two_rows"], "rows"),
        node("Transpose", ["rows"], "columns", perm=[1, 0]),
        node("Reshape", ["columns", "flat"], "turned"),
        node("Concat", ["zero", "zero", "turned", "zero", "zero"], "long", axis=0),
        node("Slice", ["long", "first", "last"], "pads"),
        node("Pad", ["x", "pads"], "p"),
        node("Shape", ["p"], "all", start=1, end=2),
        node("Div", ["all", "three"], "count"),
        node("Concat", ["batch", "count", "three"], "windows", axis=0),
        node("Reshape", ["p", "windows"], "w"),
        node("Tanh", ["w"], "y"),
    ]
    constants = {"zero": [0], "three": [3], "two_rows": [2, 2], "flat": [-1], "first": [0], "last": [4]}
    return model(nodes, [b, 5], [b, 2, 3], **constants, batch=[b])


def merged_heads(b: int) -> onnx.ModelProto:
    """Steps before batch; the heads are joined for a product of all rows, as torch's attention does."""
    nodes = [
        node("Transpose", ["x"], "t", perm=[2, 0, 1, 3]),
        node("Reshape", ["t", "rows"], "r"),
        node("Gemm", ["r", "w"], "g"),
        node("Reshape", ["g", "back"], "s"),
        node("Transpose", ["s"], "y", perm=[1, 0, 2]),
    ]
    return model(nodes, [b, 2, 5, 4], [b, 5, 6], rows=[5 * b, 8], w=floats(8, 6), back=[5, b, 6])


def strided_mean(b: int) -> onnx.ModelProto:
    """A view of all elements by their indices, as torch's exporter writes `as_strided`."""
    nodes = [
        node("ReduceMean", ["x", "axes"], "m"),
        node("Reshape", ["m", "flat"], "f"),
        node("Gather", ["f", "all"], "g"),
        node("Transpose", ["g"], "y", perm=[0, 2, 1]),
    ]
    return model(nodes, [b, 4, 3], [b, 1, 4], axes=[2], flat=[-1], all=np.arange(4 * b).reshape(b, 4, 1))


MODELS = {
    f.__name__: f
    for f in (
        *(convolutional, flattened_rows, heads, class_token, recurrent),
        *(padded_windows, merged_heads, strided_mean),
    )
}


@pytest.mark.sweep(parts=8)
@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_both_batches_give_the_same_rows(name, before):
    source = MODELS[name](before)
    x = floats(2 * before + 2, *[d.dim_value for d in source.graph.input[0].type.tensor_type.shape.dim[1:]])
    parts = [x[i : i + before] for i in range(0, len(x), before)]
    original = gradc.compile(source)
    wanted = np.concatenate([original.run({"x": part})["y"] for part in parts])
    gradient = gradc.grad(source, of="y", wrt="x", reduce="sum", check=False)
    slopes = np.concatenate([gradient.run({"x": part})["grad_x"] for part in parts])
    for batch in ("batch", len(x)):
        found = gradc.compile(source, rebatch=batch)
        assert found.inputs[0].shape[0] == batch
        np.testing.assert_allclose(found.run({"x": x})["y"], wanted, rtol=1e-4, atol=1e-5)
        again = gradc.grad(source, of="y", wrt="x", reduce="sum", rebatch=batch, check=False)
        np.testing.assert_allclose(again.run({"x": x})["grad_x"], slopes, rtol=1e-4, atol=1e-5)


FORBIDDEN = {
    "Squeeze": (node("Squeeze", ["x", "axes"], "y"), [4, 4], {"axes": [0]}),
    "Gather": (node("Gather", ["x", "i"], "y"), [4, 4], {"i": 0}),
    "Slice": (node("Slice", ["x", "a", "b"], "y"), [1, 4, 4], {"a": [0], "b": [1]}),
    "Flatten": (node("Flatten", ["x"], "y", axis=0), [1, 16], {}),
    "Concat": (node("Concat", ["x", "c"], "y", axis=0), [2, 4, 4], {"c": np.ones((1, 4, 4), np.float32)}),
    "Softmax": (node("Softmax", ["x"], "y", axis=0), [1, 4, 4], {}),
    "Pad": (node("Pad", ["x", "p"], "y"), [3, 4, 4], {"p": [1, 0, 0, 1, 0, 0]}),
}


@pytest.mark.parametrize("op", FORBIDDEN)
def test_an_op_that_forbids_it_is_named(op, tmp_path):
    forbidding, shape, constants = FORBIDDEN[op]
    path = tmp_path / "m.onnx"
    onnx.save(model([forbidding], [1, 4, 4], shape, **constants), path)
    found = run_gradc("compile", path, "--rebatch", "N", "-o", tmp_path / "o.onnx")
    assert found.code == 3
    assert f'[onnx.{op} "{op.lower()}_y"] --rebatch N: this op requires the batch 1: ' in found.line


@pytest.mark.parametrize("command", ["compile", "grad"])
@pytest.mark.parametrize(("batch", "shape"), [("3", [3]), ("N", ["N"])])
def test_the_command_line(command, batch, shape, tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    onnx.save(convolutional(1), path)
    more = ["--reduce", "sum"] if command == "grad" else []
    assert run_gradc(command, path, "--rebatch", batch, "-o", out, *more).code == 0
    dim = onnx.load(out).graph.input[0].type.tensor_type.shape.dim[0]
    assert [dim.dim_param or dim.dim_value] == shape


def test_no_fixed_batch_and_no_batch(tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(convolutional(1), path)
    assert run_gradc("compile", path, "--rebatch", "0", "-o", "-").code == 2
    with pytest.raises(gradc.UsageError, match="an input with a fixed batch"):
        gradc.compile(gradc.compile(path, rebatch="N").model, rebatch=2)


OPEN = """func.func @main(%x: tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]> {
  %y = onnx.Exp %x : (tensor<?x3xf32, ["N", ""]>) -> tensor<?x3xf32, ["N", ""]>
  func.return %y : tensor<?x3xf32, ["N", ""]>
}
"""


@pytest.mark.parametrize("command", ["compile", "grad"])
@pytest.mark.parametrize("sizes", ["2x3", "2,3"])
def test_static_shapes(command, sizes, tmp_path):
    path, out = Path(tmp_path) / "m.mlir", tmp_path / "o.onnx"
    path.write_text(OPEN)
    more = ["--reduce", "sum"] if command == "grad" else []
    assert run_gradc(command, path, "--static-shape", f"x={sizes}", "-o", out, *more).code == 0
    assert [d.dim_value for d in onnx.load(out).graph.input[0].type.tensor_type.shape.dim] == [2, 3]
    assert run_gradc("run", path, "--shape", f"x={sizes}").code == 0
