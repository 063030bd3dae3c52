"""Weights of models in files: each is read once, by itself, and written from where it is."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper, numpy_helper
from support.cli import run_gradc

import gradc
from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import GradcError
from dialects.support.limits import Limits, using
from gradc.importers.onnx import import_onnx
from gradc.model import saving
from gradc.model.external_data import TensorData, open_model
from gradc.model.lazy_tensors import LARGE, TensorCutter
from gradc.model.protobuf_wire import BYTES, VARINT, MalformedError, fields, head, varint
from gradc.model.split_model import KEPT_BYTES, split_model
from gradc.runtime.session import Session

SIZE = 2048
"""Elements of the weight: more bytes than are left in a message."""

VALUES = np.arange(SIZE, dtype=np.float32)


def listed(values: np.ndarray) -> TensorProto:
    """A tensor with its elements one by one."""
    kind = helper.np_dtype_to_tensor_dtype(values.dtype)
    return helper.make_tensor("w", kind, values.shape, values.tolist())


TENSORS: Mapping[str, Callable[[], TensorProto]] = {
    "f32": lambda: numpy_helper.from_array(VALUES, "w"),
    "f16": lambda: numpy_helper.from_array(VALUES.astype(np.float16), "w"),
    "f64": lambda: numpy_helper.from_array(VALUES.astype(np.float64), "w"),
    "bool": lambda: numpy_helper.from_array(np.arange(8 * SIZE) % 3 == 0, "w"),
    "s64": lambda: numpy_helper.from_array(np.arange(SIZE), "w"),
    "list of f32": lambda: listed(VALUES),
    "list of f64": lambda: listed(VALUES.astype(np.float64)),
    "list of s64": lambda: listed(np.arange(SIZE)),
    "few": lambda: numpy_helper.from_array(VALUES[:5], "w"),
}

CUT = {"f32", "f64", "bool", "s64", "list of f32", "list of f64"}


def graph_of(nodes: list[Any], *initializers: TensorProto) -> onnx.GraphProto:
    y = helper.make_empty_tensor_value_info("y")
    return helper.make_graph(nodes, "g", [], [y], initializers)


def as_initializer(tensor: TensorProto) -> onnx.GraphProto:
    return graph_of([helper.make_node("Identity", ["w"], ["y"])], tensor)


def as_constant(tensor: TensorProto) -> onnx.GraphProto:
    return graph_of([helper.make_node("Constant", [], ["y"], value=tensor)])


def as_branch(tensor: TensorProto) -> onnx.GraphProto:
    then = as_initializer(tensor)
    otherwise = as_constant(tensor)
    flag = numpy_helper.from_array(np.array(True), "flag")
    node = helper.make_node("If", ["flag"], ["y"], then_branch=then, else_branch=otherwise)
    return graph_of([node], flag)


def as_list(tensor: TensorProto) -> onnx.GraphProto:
    return graph_of([helper.make_node("Of", [], ["y"], domain="mine", values=[tensor, tensor])])


def as_sparse(tensor: TensorProto) -> onnx.GraphProto:
    graph = graph_of([helper.make_node("Identity", ["w"], ["y"])])
    indices = numpy_helper.from_array(np.arange(tensor.dims[0]), "i")
    graph.sparse_initializer.append(helper.make_sparse_tensor(tensor, indices, tensor.dims))
    return graph


def saved(path: Path, graph: onnx.GraphProto) -> ModelProto:
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    path.write_bytes(model.SerializeToString())
    return model


def restored(message: Any, data: TensorData) -> None:
    """Put back what was cut out of a message, in place."""
    waiting = [message]
    while waiting:
        part = waiting.pop()
        if isinstance(part, TensorProto) and data.is_own(part):
            length = int(next(entry.value for entry in part.external_data if entry.key == "length"))
            part.raw_data = data.read(part, length)
            part.ClearField("external_data")
            part.ClearField("data_location")
        for field, value in part.ListFields():
            if field.type == field.TYPE_MESSAGE:
                waiting += list(value) if hasattr(value, "extend") else [value]


@pytest.mark.sweep
@pytest.mark.parametrize("place", [as_initializer, as_constant, as_branch, as_list, as_sparse])
@pytest.mark.parametrize("kind", TENSORS)
def test_what_is_cut_out_is_found_where_it_is(kind: str, place: Any, tmp_path: Path):
    if place is as_sparse and kind == "few":
        pytest.skip("its indices are few, too")
    model = saved(tmp_path / "m.onnx", place(TENSORS[kind]()))
    with open_model(str(tmp_path / "m.onnx")) as (slim, data):
        is_cut = slim.ByteSize() < model.ByteSize()
        assert is_cut == (kind in CUT or (place is as_sparse))
        restored(slim, data)
        for tensor in (*model.graph.initializer, *slim.graph.initializer):
            raw = numpy_helper.to_array(tensor).tobytes() if tensor.HasField("data_type") else b""
            tensor.Clear()
            tensor.raw_data = raw
        assert place is not as_initializer or slim == model


@pytest.mark.parametrize("place", [as_initializer, as_constant, as_branch])
@pytest.mark.parametrize("kind", TENSORS)
def test_a_model_means_the_same_from_a_file(kind: str, place: Any, tmp_path: Path):
    path = tmp_path / "m.onnx"
    model = saved(path, place(TENSORS[kind]()))
    from_file, from_proto = gradc.compile(path), gradc.compile(model)
    (found,), (expected,) = from_file.run({}).values(), from_proto.run({}).values()
    np.testing.assert_array_equal(found, numpy_helper.to_array(TENSORS[kind]()))
    assert found.dtype == expected.dtype
    assert from_file.model == from_proto.model
    from_file.save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == from_file.model.SerializeToString(deterministic=True)


def test_a_weight_is_held_once(tmp_path: Path):
    """The module that is compiled, its source and the model that is written have the same bytes object."""
    saved(tmp_path / "m.onnx", as_initializer(TENSORS["f32"]()))
    compiled = gradc.compile(tmp_path / "m.onnx")
    (content,) = compiled.parts.weights.values()
    held = [
        op.value.data.data
        for module in (compiled.source, compiled.module)
        for op in module.walk()
        if isinstance(op, ConstantOp)
    ]
    assert len(held) == 2
    assert all(other is content for other in held)


def test_a_file_that_is_gone_when_its_weights_are_needed_no_more(tmp_path: Path):
    saved(tmp_path / "m.onnx", as_initializer(TENSORS["f32"]()))
    compiled = gradc.compile(tmp_path / "m.onnx")
    os.truncate(tmp_path / "m.onnx", 10)
    np.testing.assert_array_equal(compiled.run({})["y"], VALUES)


def test_a_file_that_is_cut_short_while_it_is_read(tmp_path: Path):
    saved(tmp_path / "m.onnx", as_initializer(TENSORS["f32"]()))
    with open_model(str(tmp_path / "m.onnx")) as (model, data):
        os.truncate(tmp_path / "m.onnx", 100)
        with pytest.raises(GradcError, match="bytes of a tensor: given"):
            data.read(model.graph.initializer[0], 4 * SIZE)


def test_external_data_of_a_size_that_no_file_has(tmp_path: Path):
    tensor = TensorProto(name="w", data_type=1, dims=[2**40], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="w.data")
    (tmp_path / "w.data").write_bytes(b"1234")
    saved(tmp_path / "m.onnx", as_initializer(tensor))
    with pytest.raises(
        GradcError, match=r'initializer "w"\] bytes of a tensor: given 4, expected 4398046511104'
    ):
        import_onnx(tmp_path / "m.onnx")


def test_a_shape_that_its_bytes_do_not_have(tmp_path: Path):
    tensor = TENSORS["f32"]()
    tensor.dims[0] = SIZE + 1
    saved(tmp_path / "m.onnx", as_initializer(tensor))
    with pytest.raises(GradcError, match=r'initializer "w"\] bytes of a tensor: given 8192, expected 8196'):
        import_onnx(tmp_path / "m.onnx")


def test_the_limit_is_of_what_is_left_without_weights(tmp_path: Path):
    saved(tmp_path / "m.onnx", as_initializer(TENSORS["f32"]()))
    with using(Limits(file_bytes=1000)):
        import_onnx(tmp_path / "m.onnx")
    with (
        using(Limits(file_bytes=50)),
        pytest.raises(GradcError, match=r"a model without its weights.*file-bytes"),
    ):
        import_onnx(tmp_path / "m.onnx")


def test_every_start_of_a_model_is_a_model_or_refused(tmp_path: Path):
    """As protobuf has it: what is cut out makes no difference."""
    data = saved(tmp_path / "m.onnx", as_branch(TENSORS["f32"]())).SerializeToString()
    for end in (*range(60), *range(60, len(data), 97)):
        try:
            expected = ModelProto.FromString(data[:end])
        except DecodeError:
            expected = None
        try:
            found = TensorCutter(io.BytesIO(data[:end])).model(end)
        except (DecodeError, MalformedError):
            found = None
        assert (found is None) == (expected is None), end


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 2**31, 2**63])
def test_varints(number: int):
    data = varint(3 << 3 | VARINT) + varint(number) + head(4, 2) + b"ab"
    first, second = fields(io.BytesIO(data), 0, len(data))
    assert (first.number, first.value) == (3, number)
    assert (second.number, second.type, second.length, second.end) == (4, BYTES, 2, len(data))


@pytest.mark.parametrize("data", [b"\x80" * 11, b"\x0b", b"\x02\x00", b"\x0a\x05abc", b"\x09abc"], ids=repr)
def test_what_is_no_message(data: bytes):
    with pytest.raises(MalformedError):
        list(fields(io.BytesIO(data), 0, len(data)))


@pytest.mark.parametrize("size", [0, KEPT_BYTES // 4, KEPT_BYTES // 4 + 1, LARGE])
def test_the_pieces_of_a_model_are_its_bytes(size: int, tmp_path: Path):
    tensor = numpy_helper.from_array(np.ones(size, np.float32), "w")
    model = saved(tmp_path / "m.onnx", as_initializer(tensor))
    model.metadata_props.add(key="a", value="b")
    model.graph.doc_string = "text"
    parts = split_model(model)
    assert b"".join(parts.pieces()) == model.SerializeToString(deterministic=True)
    assert parts.size == model.ByteSize()
    assert parts.weight_bytes == 4 * size
    assert parts.whole() == model


@pytest.mark.parametrize("command", [("compile",), ("grad", "--reduce", "sum")])
def test_external_data_on_request(command: tuple[str, ...], tmp_path: Path):
    x = helper.make_tensor_value_info("x", 1, [SIZE])
    y = helper.make_tensor_value_info("y", 1, [SIZE])
    graph = helper.make_graph([helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y], [TENSORS["f32"]()])
    saved(tmp_path / "m.onnx", graph)
    ended = run_gradc(*command, tmp_path / "m.onnx", "-o", tmp_path / "out.onnx", "--external-data")
    assert ended.code == 0, ended.err
    assert "written as external data" not in ended.err
    (data,) = tmp_path.glob("out.onnx.*.data")
    assert data.read_bytes() == VALUES.tobytes()
    (result,) = Session(tmp_path / "out.onnx").run({"x": np.ones(SIZE, np.float32)}).values()
    np.testing.assert_array_equal(result, VALUES)


def test_weights_beyond_one_file_are_external_data_and_a_remark(tmp_path: Path, monkeypatch: Any):
    saved(tmp_path / "m.onnx", as_initializer(TENSORS["f32"]()))
    monkeypatch.setattr(saving.save_model, "__defaults__", (1000, None))
    ended = run_gradc("compile", tmp_path / "m.onnx", "-o", tmp_path / "out.onnx")
    (data,) = tmp_path.glob("out.onnx.*.data")
    assert f"written as external data (--external-data) to {data.name}" in ended.err
    ended = run_gradc("compile", tmp_path / "m.onnx", "-o", "-", "--external-data")
    assert (ended.code, ended.out) == (4, "")
    ended = run_gradc("compile", tmp_path / "m.onnx", "--emit", "mlir", "--external-data")
    assert ended.code == 2


@pytest.mark.parametrize(
    ("dtype", "field"), [(TensorProto.INT32, "int32_data"), (TensorProto.FLOAT, "float_data")]
)
@pytest.mark.parametrize("count", [2, 5])
def test_another_number_of_elements(dtype: int, field: str, count: int):
    weight = TensorProto(name="w", data_type=dtype, dims=[3], **{field: [1] * count})
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])
    node = helper.make_node("Cast", ["w"], ["y"], to=TensorProto.FLOAT)
    graph = helper.make_graph([node], "g", [], [result], [weight])
    expected = rf"elements of a tensor of \[3\]: given {count}, expected 3$"
    with pytest.raises(GradcError, match=expected):
        import_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
