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


@pytest.mark.parametrize(
    ("op", "attributes"), [("Softmax", {"axis": 1}), ("Add", {"broadcast": 1, "axis": 0})]
)
def test_a_form_that_depends_on_a_type_is_refused(op: str, attributes: dict[str, Any]):
    with pytest.raises(GradcError, match=f"{op} in the form of opset 6"):
        gradc.compile(behind_another_domain(op, 6, 2 if op == "Add" else 1, **attributes))


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
