"""Nodes of old opsets whose operands have an unknown rank, or no type behind a node of another domain."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, helper

import gradc
from dialects.onnx.node import NodeOp
from dialects.onnx.types import UnknownType
from dialects.support.attributes import int_attribute
from dialects.support.diagnostics import GradcError
from gradc.importers.onnx.upgrade import ANY, UPGRADES
from gradc.model.exported_domains import is_of_opset
from gradc.model.raised_forms import schema_at

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) % 7 - 3


def model(op: str, opset: int, *others: np.ndarray, **attributes: Any) -> ModelProto:
    """An op on `x` of a rank that only a run tells."""
    names = [f"c{i}" for i in range(len(others))]
    nodes = [helper.make_node(op, ["x", *names], ["y"], **attributes)]
    constants = [onnx.numpy_helper.from_array(array, name) for array, name in zip(others, names, strict=True)]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, None)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", inputs, [output], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)


OLD = [
    *[
        (op, 12, (), {"axis": axis})
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for axis in (0, 1, 2, -1, -2)
    ],
    *[(op, 9, (), {}) for op in ("Softmax", "LogSoftmax", "Hardmax")],
]


@pytest.mark.parametrize(("op", "opset", "others", "attributes"), OLD)
def test_an_old_form_needs_no_rank(op: str, opset: int, others: Any, attributes: dict[str, Any]):
    source = model(op, opset, *others, **attributes)
    session = ort.InferenceSession(source.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": X})
    found = gradc.compile(source).run({"x": X})["y"]
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-6, atol=1e-7)


SINGLE = np.array([1, 2, 3], np.float32)
OLDER = [
    ("Add", 6, (SINGLE,), {"broadcast": 1, "axis": 1}, X + SINGLE[:, None]),
    ("Add", 6, (SINGLE,), {"broadcast": 1, "axis": -2}, X + SINGLE[:, None]),
    ("Mul", 6, (X[0, 0],), {"broadcast": 1}, X * X[0, 0]),
    ("PRelu", 6, (SINGLE,), {}, np.where(X < 0, X * SINGLE[:, None], X)),
    ("Tile", 1, (np.float32([2]), np.float32([1])), {}, np.tile(X, (1, 2, 1))),
]  # fmt: skip


@pytest.mark.parametrize(("op", "opset", "others", "attributes", "expected"), OLDER)
def test_a_form_that_no_runtime_has(
    op: str, opset: int, others: Any, attributes: dict[str, Any], expected: np.ndarray
):
    source = model(op, opset, *others, **attributes)
    found = gradc.compile(source).run({"x": X})["y"]
    np.testing.assert_allclose(found, expected)


def behind_another_domain(op: str, opset: int, count: int = 1, **attributes: Any) -> ModelProto:
    nodes = [helper.make_node("Op", ["x"], [f"r{i}"], domain="mine") for i in range(count)]
    nodes.append(helper.make_node(op, [f"r{i}" for i in range(count)], ["y"], **attributes))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    graph = helper.make_graph(
        nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("mine", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=6)


RAISED: list[tuple[str, int, int, dict[str, Any], int]] = [
    ("Relu", 6, 1, {}, 18),
    ("Add", 7, 2, {}, 18),
    ("Cast", 5, 1, {"to": "DOUBLE"}, 18),
    ("Concat", 3, 2, {}, 18),
    ("Dropout", 7, 1, {"ratio": 0.5}, 18),
    ("MaxPool", 8, 1, {"kernel_shape": [2]}, 18),
    ("Softmax", 11, 1, {"axis": -1}, 18),
    ("Squeeze", 11, 1, {"axes": [0]}, 18),
    ("Unsqueeze", 11, 1, {"axes": [0]}, 18),
    ("ReduceMean", 11, 1, {"axes": [1]}, 13),
    ("BatchNormalization", 9, 5, {}, 13),
    ("Upsample", 9, 2, {}, 18),
]


@pytest.mark.parametrize(("op", "opset", "count", "attributes", "written"), RAISED)
def test_a_node_behind_another_domain_is_raised(
    op: str, opset: int, count: int, attributes: dict[str, Any], written: int
):
    found = gradc.compile(behind_another_domain(op, opset, count, **attributes)).model
    versions = {each.domain: each.version for each in found.opset_import}
    assert versions == {"": written, "mine": 1}


ROWS = np.arange(12, dtype=np.float32).reshape(3, 4) % 5 - 2
IMAGE = np.arange(48, dtype=np.float32).reshape(3, 4, 4) % 7 - 3
POINTS = (np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2) - 4) / 5
HIDDEN: list[tuple[str, int, np.ndarray, dict[str, Any], tuple[Any, ...], int]] = [
    *[
        (op, opset, ROWS, {"axis": axis}, (), 1)
        for op in ("Softmax", "LogSoftmax", "Hardmax")
        for opset, axis in ((9, 0), (9, 1), (9, 2), (12, -1), (12, -2))
    ],
    ("Softmax", 9, ROWS, {}, (), 1),
    ("Clip", 9, ROWS, {"min": -0.5, "max": 0.5}, (), 1),
    ("Pad", 9, ROWS, {"pads": [0, 1, 0, 0, 1, 2], "value": 2.5}, (), 1),
    ("Split", 12, ROWS, {"axis": 2, "split": [1, 3]}, (), 2),
    ("Split", 11, ROWS, {"axis": 2}, (), 2),
    ("ReduceLogSumExp", 11, ROWS, {"axes": [1, 2]}, (), 1),
    ("ReduceMax", 12, ROWS, {"axes": [1], "keepdims": 0}, (), 1),
    ("BatchNormalization", 9, ROWS, {}, ([2, 1, 3], [0, 1, 2], [1, 0, 1], [1, 2, 4]), 1),
    ("Dropout", 7, ROWS, {}, (), 2),
    ("Resize", 10, ROWS, {}, ([1, 2, 0.5],), 1),
    ("GridSample", 16, IMAGE, {"mode": "bicubic"}, (POINTS,), 1),
    ("DFT", 17, IMAGE[:1, :, :2], {"axis": 2}, (), 1),
    ("RoiAlign", 10, IMAGE, {}, ([[0, 1, 3, 2]], np.zeros(1, np.int64)), 1),
    ("GroupNormalization", 18, np.tile(IMAGE, (4, 1, 1))[:4], {"num_groups": 1}, ([2], [1]), 1),
]


def behind_a_contrib_op(
    op: str, opset: int, shape: tuple[int, ...], others: Any, count: int, attributes: Any
) -> ModelProto:
    """An op that reads the result of an op whose type gradc does not infer; onnxruntime has both."""
    arrays = [np.asarray(other, getattr(other, "dtype", np.float32)) for other in others]
    names, results = [f"c{i}" for i in range(len(arrays))], [f"y{i}" for i in range(count)]
    nodes = [
        helper.make_node("ExpandDims", ["x", "axis"], ["r"], domain="com.microsoft"),
        helper.make_node(op, ["r", *names], results, **attributes),
    ]
    constants = [("axis", np.array(0, np.int32)), *zip(names, arrays, strict=True)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=6)


@pytest.mark.sweep
@pytest.mark.parametrize(("op", "opset", "x", "attributes", "others", "count"), HIDDEN)
def test_a_node_of_unknown_type_computes_the_same_at_newer_opsets(
    op: str, opset: int, x: np.ndarray, attributes: dict[str, Any], others: Any, count: int
):
    source = behind_a_contrib_op(op, opset, x.shape, others, count, attributes)
    wanted = run(source, x)
    for chosen in (None, 18, 20, 21):
        if (op, chosen) == ("GroupNormalization", 20):
            continue
        for found, each in zip(run(gradc.compile(source, opset=chosen).model, x), wanted, strict=True):
            np.testing.assert_allclose(found, each, rtol=1e-5, atol=1e-6)


def run(proto: ModelProto, x: np.ndarray) -> list[np.ndarray]:
    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    return [np.asarray(value) for value in session.run(None, {"x": x})]


UNKNOWN: list[tuple[str, int, int, dict[str, Any]]] = [
    ("BatchNormalization", 6, 5, {"spatial": 0}),
    ("Resize", 10, 2, {}),
    ("Tile", 1, 3, {}),
]


@pytest.mark.parametrize(("op", "opset", "count", "attributes"), UNKNOWN)
def test_a_form_that_depends_on_a_type_is_refused(
    op: str, opset: int, count: int, attributes: dict[str, Any]
):
    what = f"{op} in the form of opset {opset} reads a value of unknown type; add a value_info"
    with pytest.raises(GradcError, match=what):
        gradc.compile(behind_another_domain(op, opset, count, **attributes))


def test_a_flag_that_only_newer_opsets_can_leave_out():
    found = gradc.compile(behind_another_domain("BatchNormalization", 6, 5, is_test=1)).model
    assert {each.domain: each.version for each in found.opset_import} == {"": 18, "mine": 1}


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("op", "before"),
    [(op, before) for op, changes in UPGRADES.items() for before, _ in changes if before < ANY],
)
def test_no_form_is_raised_beyond_a_change_of_its_meaning(op: str, before: int):
    """A node with all attributes of the older form, or with none."""
    older, newer = schema_at(op, before - 1), schema_at(op, before)
    if older is None or newer is None:
        return
    defaults = {name: attribute.default_value for name, attribute in older.attributes.items()}
    given = {name: value.i for name, value in defaults.items() if value.type == onnx.AttributeProto.INT}
    stored = {name: int_attribute(value) for name, value in given.items()}
    made = NodeOp("", op, [], [UnknownType()], stored, {}, before - 1)
    assert not is_of_opset(made, before)
