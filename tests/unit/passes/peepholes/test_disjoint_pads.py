"""Sums of disjoint padded parts become one Concat, with the numbers of the sum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import gradc

Sizes = tuple[int, ...]
Part = tuple[Sizes, Sizes]
"""Zeros before and behind the part on each axis."""


def model_of(
    whole: Sequence[object], parts: Sequence[Part], order: str = "left", fill: float = 0
) -> onnx.ModelProto:
    """Sum of padded parts p0, p1 ... of a whole, and of an input `x`, if `order` has one."""
    nodes, inputs, constants = [], [], [numpy_helper.from_array(np.array(fill, np.float32), "fill")]
    for i, (before, behind) in enumerate(parts):
        sizes = [
            n - b - e if isinstance(n, int) else n for n, b, e in zip(whole, before, behind, strict=True)
        ]
        inputs.append(helper.make_tensor_value_info(f"p{i}", 1, sizes))
        constants.append(numpy_helper.from_array(np.array([*before, *behind]), f"pads{i}"))
        nodes.append(helper.make_node("Pad", [f"p{i}", f"pads{i}", "fill"], [f"q{i}"]))
    terms = [f"q{i}" for i in range(len(parts))]
    if order == "with another":
        inputs.append(helper.make_tensor_value_info("x", 1, whole))
        terms.insert(1, "x")
    while len(terms) > 1:
        last = f"s{len(terms)}" if len(terms) > 2 else "y"
        left, right = (terms[-2], terms[-1]) if order == "right" else (terms[0], terms[1])
        nodes.append(helper.make_node("Add", [left, right], [last]))
        terms = [*terms[:-2], last] if order == "right" else [last, *terms[2:]]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", 1, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def check(model: onnx.ModelProto, **options: object) -> list[str]:
    """Compare with the sum; return the ops."""
    compiled = gradc.compile(model, **options)
    random = np.random.default_rng(0)
    feeds = {}
    for value in model.graph.input:
        shape = [
            dim.dim_value if dim.HasField("dim_value") else 3 for dim in value.type.tensor_type.shape.dim
        ]
        feeds[value.name] = random.standard_normal(shape).astype(np.float32)
    pads = {array.name: numpy_helper.to_array(array) for array in model.graph.initializer}
    total = feeds.get("x", np.zeros(1, np.float32))
    for name, data in feeds.items():
        if name != "x":
            amounts = pads[f"pads{name[1:]}"].reshape(2, -1).T
            total = total + np.pad(data, amounts, constant_values=pads["fill"])
    np.testing.assert_array_equal(compiled.run(feeds)["y"], total)
    return [node.op_type for node in compiled.model.graph.node if node.op_type != "Constant"]


THIRDS = [((0, 0), (0, 4)), ((0, 2), (0, 2)), ((0, 4), (0, 0))]


@pytest.mark.parametrize("order", ["left", "right"])
@pytest.mark.parametrize("places", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_parts_of_an_axis_are_concatenated(order: str, places: Sizes):
    assert check(model_of((4, 6), [THIRDS[i] for i in places], order)) == ["Concat"]


def test_what_is_left_is_added_and_padded():
    assert check(model_of((4, 6), THIRDS[:2])) == ["Concat", "Pad"]
    assert check(model_of((4, 6), THIRDS, "with another")) == ["Concat", "Add"]
    assert check(model_of((4, 6), [*THIRDS, ((1, 1), (1, 1))])).count("Pad") == 1


def test_equal_zeros_on_other_axes_surround_the_parts():
    parts = [((1, 0), (0, 3)), ((1, 3), (0, 0))]
    assert check(model_of((4, 6), parts)) == ["Concat", "Pad"]


@pytest.mark.parametrize("shape", [("N", 6), (0, 6), (1, 6)])
def test_other_axes_have_any_size(shape: Sequence[object]):
    assert check(model_of(shape, THIRDS)) == ["Concat"]


def test_an_empty_part():
    parts = [((0, 0), (0, 2)), ((0, 4), (0, 2)), ((0, 4), (0, 0))]
    assert "Pad" not in check(model_of((4, 6), parts))


@pytest.mark.parametrize(
    "parts",
    [
        [((0, 0), (0, 3)), ((0, 2), (0, 0))],
        [((0, 0), (0, 4)), ((0, 4), (0, 0))],
        [((0, 0), (2, 3)), ((2, 3), (0, 0))],
        [((0, 0), (0, 3)), ((0, 0), (0, 3))],
    ],
    ids=["overlapping", "apart", "corners", "equal"],
)
def test_other_sums_stay(parts: list[Part]):
    assert "Concat" not in check(model_of((4, 6), parts))


def test_where_a_sum_stays():
    """Other numbers than zeros, a padded part that is read elsewhere, strict numbers."""
    assert "Concat" not in check(model_of((4, 6), THIRDS, fill=1))
    assert "Concat" not in check(model_of((4, 6), THIRDS), strict_ieee=True)
    model = model_of((4, 6), THIRDS[:2])
    model.graph.output.append(helper.make_tensor_value_info("q0", 1, None))
    assert "Concat" not in check(model)
    model = model_of((4, 6), THIRDS[:2])
    model.graph.node[0].attribute.append(helper.make_attribute("mode", "wrap"))
    ops = [node.op_type for node in gradc.compile(model).model.graph.node]
    assert "Concat" not in ops or "Add" in ops


@pytest.mark.parametrize("target", ["cuda", "openvino", "portable", "tract"])
def test_every_target_has_the_form(target: str):
    ops = [node.op_type for node in gradc.compile(model_of((4, 6), THIRDS), target=target).model.graph.node]
    assert "Concat" in ops
    assert "Pad" not in ops
