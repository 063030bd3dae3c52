"""Each constraint of an op spec: a call that breaks it alone is an error that names the op.

The constraints are those of a family; each op of it is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

import gradc
from dialects.onednn.families import TableOp
from dialects.onednn.spec_classes import KINDS, spec_class

ATTRIBUTES = {"alpha": 0.7, "beta": 0.4, "min": -1.5, "max": 2.0, "mode": "gelu_tanh"}
"""What rows without a default take."""


@dataclass(frozen=True)
class Call:
    """`ports` are a dtype and sizes each; `said` is what the refusal says."""

    ports: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    expected_message: str = ""


A, DTYPES, AXIS = "f32:2x3", "dtype", Call("f32:2x3", {"axis": 2}, "axis: given 2, expected -2 to 1")

FAMILIES: Mapping[str, tuple[Call, Mapping[str, Call]]] = {
    "UnaryOp": (Call(A), {"C1": Call("s32:2x3", expected_message=DTYPES)}),
    "BinaryOp": (
        Call(f"{A} f32:3"),
        {
            "C1": Call(f"{A} s32:2x3", expected_message=DTYPES),
            "C2": Call(f"{A} f32:2x4", expected_message="do not broadcast"),
        },
    ),
    "ComparisonOp": (
        Call(f"{A} f32:3"),
        {
            "C1": Call(f"{A} s32:2x3", expected_message=DTYPES),
            "C2": Call(f"{A} f32:2x4", expected_message="do not broadcast"),
        },
    ),
    "SelectionOp": (
        Call(f"boolean:2x3 {A} {A}"),
        {
            "C1": Call(f"{A} {A} {A}", expected_message=DTYPES),
            "C2": Call(f"boolean:2x3 {A} bf16:2x3", expected_message=DTYPES),
            "C3": Call(f"boolean:2x3 {A} f32:2x4", expected_message="broadcast"),
            "C4": Call(f"boolean:2x4 {A} {A}", expected_message="broadcast"),
        },
    ),
    "UnaryBackwardOp": (
        Call(f"{A} {A}"),
        {
            "C1": Call(f"{A} bf16:2x3", expected_message=DTYPES),
            "C2": Call(f"{A} f32:2x4", expected_message="shapes differ"),
        },
    ),
    "ReductionOp": (
        Call(A, {"axes": [1]}),
        {
            "C1": Call("s32:2x3", {"axes": [1]}, DTYPES),
            "C2": Call(A, {"axes": [2]}, "axes: given 2, expected -2 to 1"),
            "C3": Call(f"{A} f32:1", expected_message="input axes: given f32"),
        },
    ),
    "ParametricReluOp": (
        Call(f"{A} f32:3"),
        {
            "C1": Call(f"{A} bf16:3", expected_message=DTYPES),
            "C2": Call(f"{A} f32:4", expected_message="slope"),
        },
    ),
    "ParametricReluBackwardOp": (
        Call(f"{A} f32:3 {A}"),
        {
            "C1": Call(f"{A} f32:3 bf16:2x3", expected_message=DTYPES),
            "C2": Call(f"{A} f32:3 f32:2x4", expected_message="shape"),
            "C3": Call(f"{A} f32:4 {A}", expected_message="slope"),
        },
    ),
    "ReshapeOp": (
        Call(A, {"shape": [3, 2], "special_zero": False}),
        {
            "C1": Call("s32:2x3", {"shape": [3, 2], "special_zero": False}, DTYPES),
            "C2": Call(A, {"shape": [4, 2], "special_zero": False}, "elements"),
        },
    ),
    "TransposeOp": (
        Call(A, {"order": [1, 0]}),
        {"C1": Call("s32:2x3", {"order": [1, 0]}, DTYPES), "C2": Call(A, {"order": [1, 1]}, "order")},
    ),
    "AxisIndexOp": (Call(A, {"axis": 1}), {"C1": Call("s32:2x3", {"axis": 1}, DTYPES), "C2": AXIS}),
    "BiasOp": (
        Call("f32:2x3x4 f32:3", {"data_format": "NCX"}),
        {
            "C1": Call("f32:2x3x4 bf16:3", {"data_format": "NCX"}, DTYPES),
            "C2": Call("f32:2x3x4 f32:4", {"data_format": "NCX"}, "bias"),
        },
    ),
    "BiasBackwardOp": (
        Call(A),
        {"C1": Call("s32:2x3", expected_message=DTYPES), "C2": Call("f32:3", expected_message="rank")},
    ),
    "LogSoftmaxFamilyOp": (Call(A, {"axis": 1}), {"C1": Call("s32:2x3", {"axis": 1}, DTYPES), "C2": AXIS}),
    "SoftmaxFamilyBackwardOp": (
        Call(f"{A} {A}", {"axis": 1}),
        {
            "C1": Call(f"{A} s32:2x3", {"axis": 1}, DTYPES),
            "C2": Call(f"{A} f32:2x4", {"axis": 1}, "shape"),
            "C3": Call(f"{A} {A}", {"axis": 2}, "axis: given 2, expected -2 to 1"),
        },
    ),
}
"""Family -> a call that is right, and for each constraint one that breaks it. Those of windows, matrices,
norms and scales are in the tests of their op."""

OF_FAMILIES = [(kind, spec_class(kind)) for kind in KINDS if spec_class(kind).__mro__[1].__name__ in FAMILIES]


def made(cls: type[TableOp], kind: str, call: Call) -> None:
    """Builds the op of a graph of one op."""
    graph = gradc.Graph()
    values = []
    for index, port in enumerate(call.ports.split()):
        dtype, sizes = port.split(":")
        values.append(graph.input(f"x{index}", dtype, list(map(int, sizes.split("x")))))
    own = {name: ATTRIBUTES[name] for name in cls.SPEC.attributes if name in ATTRIBUTES}
    getattr(graph, cls.name.partition(".")[2])(*values, **{**own, **call.attributes})


@pytest.mark.sweep
@pytest.mark.parametrize(("kind", "cls"), OF_FAMILIES, ids=[kind for kind, _ in OF_FAMILIES])
def test_each_constraint_is_refused(kind: str, cls: type[TableOp]):
    right, wrong = FAMILIES[cls.__mro__[1].__name__]
    reported = re.findall(r"\bC\d+(?= )", cls.CONSTRAINTS)
    assert list(wrong) == list(dict.fromkeys(reported)), "a call for each constraint of the family"
    made(cls, kind, right)
    for constraint, call in wrong.items():
        with pytest.raises(gradc.GradcError) as caught:
            made(cls, kind, call)
        message = str(caught.value)
        assert f"[{kind}]" in message, constraint
        assert re.search(call.expected_message, message), f"{constraint}: {message}"


def test_most_constraints_are_asked():
    count = sum(len(FAMILIES[cls.__mro__[1].__name__][1]) for _, cls in OF_FAMILIES)
    assert count >= 100
