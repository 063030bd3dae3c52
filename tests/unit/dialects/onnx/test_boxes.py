"""ScatterND and GatherND on all places of a box are parts side by side, and nothing else is."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc

SHAPE = (3, 4, 6)

BOXES = [
    ((slice(None), slice(None), slice(None)), 3),
    ((slice(1, 3),), 1),
    ((slice(None), slice(1, 2)), 2),
    ((slice(0, 2), slice(2, 4), slice(1, 5)), 3),
    ((slice(1, 2), slice(None), slice(3, 6)), 3),
    ((slice(None), 0), 2),
    ((2, slice(1, 3), 5), 3),
]
"""What is indexed, of the first so many axes."""


def places(box: tuple[slice | int, ...]) -> np.ndarray:
    """The index tuples of a box, in order."""
    numbers = (np.arange(dim)[part] for part, dim in zip(box, SHAPE, strict=False))
    grid = np.meshgrid(*map(np.atleast_1d, numbers), indexing="ij")
    kept = tuple(slice(None) if isinstance(part, slice) else 0 for part in box)
    return np.stack([component[kept] for component in grid], -1).astype(np.int64)


def model(
    op_type: str, indices: np.ndarray, updates: tuple[int, ...] | None, **attributes: str
) -> onnx.ModelProto:
    """Of data and updates, or of data alone."""
    inputs = [helper.make_tensor_value_info("data", TensorProto.FLOAT, SHAPE)]
    if updates is not None:
        inputs.append(helper.make_tensor_value_info("updates", TensorProto.FLOAT, updates))
    names = ["data", "indices", *(["updates"] if updates is not None else [])]
    graph = helper.make_graph(
        [helper.make_node(op_type, names, ["y"], **attributes)],
        "g",
        inputs,
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(indices, "indices")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def check(source: onnx.ModelProto, is_box: bool, **shapes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    feeds = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    compiled = gradc.compile(source)
    kinds = {node.op_type for node in compiled.model.graph.node}
    assert bool(kinds & {"ScatterND", "GatherND"}) != is_box
    (wanted,) = ort.InferenceSession(source.SerializeToString()).run(None, feeds)
    np.testing.assert_array_equal(compiled.run(feeds)["y"], wanted)


@pytest.mark.parametrize(("box", "count"), BOXES)
def test_a_box_is_put_side_by_side(box: tuple[slice | int, ...], count: int):
    indices = places(box)
    assert indices.shape[-1] == count
    updates = np.zeros(SHAPE)[box].shape
    check(model("ScatterND", indices, updates), True, data=SHAPE, updates=updates)
    check(model("GatherND", indices, None), True, data=SHAPE)


@pytest.mark.parametrize("box", [(slice(-2, None),), (slice(None), -1), (-1, slice(-3, -1))])
def test_places_are_counted_from_the_end(box: tuple[slice | int, ...]):
    indices = places(box)
    for axis, part in enumerate(box):
        if part != slice(None):
            indices[..., axis] -= SHAPE[axis]
    updates = np.zeros(SHAPE)[box].shape
    check(model("ScatterND", indices, updates), True, data=SHAPE, updates=updates)


@pytest.mark.parametrize("box", [(1,), (0, 1, 2)])
def test_few_places_stay_where_scattering_is_quicker(box: tuple[slice | int, ...]):
    """What lies around them is copied once; to take them is a part in any case."""
    indices, updates = places(box), np.zeros(SHAPE)[box].shape
    check(model("ScatterND", indices, updates), False, data=SHAPE, updates=updates)
    check(model("GatherND", indices, None), True, data=SHAPE)


OTHERS = {
    "with steps": places((slice(0, 4, 2), slice(0, 4, 2))),
    "backwards": places((slice(None), slice(None)))[:, ::-1],
    "axes in another order": places((slice(0, 2), slice(0, 2))).swapaxes(0, 1),
    "a place twice": np.zeros((2, 1), np.int64),
    "a diagonal": np.array([[0, 0], [1, 1], [2, 2]]),
    "around the end": np.array([[-1], [0]]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_box_stays(name: str):
    indices = OTHERS[name]
    updates = (*indices.shape[:-1], *SHAPE[indices.shape[-1] :])
    check(model("ScatterND", indices, updates), False, data=SHAPE, updates=updates)


def test_what_is_added_stays():
    updates = SHAPE
    check(
        model("ScatterND", places((slice(None),)), updates, reduction="add"),
        False,
        data=SHAPE,
        updates=updates,
    )


def spread(dims: tuple[str | int, ...], box: tuple[int, ...], starts: tuple[int, ...]) -> onnx.ModelProto:
    """Index tuples as exporters write them: each axis numbered, spread, joined."""
    nodes, weights, parts = [], [], []

    def weight(name: str, values: object) -> str:
        weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    nodes.append(helper.make_node("Shape", ["updates"], ["size"]))
    for axis, dim in enumerate(dims):
        view = [-1 if other == axis else 1 for other in range(len(dims))]
        if isinstance(dim, str):
            nodes.append(helper.make_node("Shape", ["data"], [f"n{axis}"], start=axis, end=axis + 1))
            nodes.append(helper.make_node("Squeeze", [f"n{axis}", weight(f"first{axis}", [0])], [f"m{axis}"]))
            limits = [weight(f"from{axis}", 0), f"m{axis}", weight(f"by{axis}", 1)]
            nodes.append(helper.make_node("Range", limits, [f"r{axis}"]))
        else:
            weight(f"r{axis}", np.arange(starts[axis], starts[axis] + box[axis]))
        nodes.append(helper.make_node("Reshape", [f"r{axis}", weight(f"view{axis}", view)], [f"v{axis}"]))
        nodes.append(helper.make_node("Expand", [f"v{axis}", "size"], [f"e{axis}"]))
        nodes.append(helper.make_node("Unsqueeze", [f"e{axis}", weight(f"last{axis}", [-1])], [f"u{axis}"]))
        parts.append(f"u{axis}")
    nodes.append(helper.make_node("Concat", parts, ["indices"], axis=-1))
    nodes.append(helper.make_node("ScatterND", ["data", "indices", "updates"], ["y"]))
    updates = [dim if isinstance(dim, str) else size for dim, size in zip(dims, box, strict=True)]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("data", dims), ("updates", updates))
    ]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_a_box_of_sizes_that_run_time_knows():
    source = spread(("N", "M", 6), (0, 0, 2), (0, 0, 3))
    for rows, columns in ((2, 5), (1, 1), (0, 3)):
        check(source, True, data=(rows, columns, 6), updates=(rows, columns, 2))


def test_indices_that_are_too_large_to_be_folded():
    source = spread((256, 600), (256, 500), (0, 7))
    check(source, True, data=(256, 600), updates=(256, 500))
    compiled = gradc.grad(source, wrt=["data", "updates"], of=["y"], cotangents=True)
    assert not {"ScatterND", "GatherND"} & {node.op_type for node in compiled.model.graph.node}


def test_other_numbers_of_updates_than_of_data_stay():
    """Where M is K as well, it is a box; which only run time knows."""
    source = spread(("N", "M"), (0, 0), (0, 0))
    source.graph.input[1].type.tensor_type.shape.dim[1].dim_param = "K"
    check(source, False, data=(2, 3), updates=(2, 3))
