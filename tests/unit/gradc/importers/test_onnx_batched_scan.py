"""Scan of opset 8, which runs over a batch: the compiled model computes what onnxruntime does."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import edge, is_same, run

import gradc
from dialects.support.diagnostics import UnsupportedError

STEPS = 3


def tensor(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def body_of(states: int, inputs: int, outputs: int) -> onnx.GraphProto:
    """A body that reads w of the graph around it."""
    arguments = [*(f"s{i}" for i in range(states)), *(f"x{i}" for i in range(inputs))]
    nodes = [helper.make_node("Sum", ["w", *arguments], ["sum"]), helper.make_node("Tanh", ["sum"], ["u"])]
    nodes += [helper.make_node("Sub", ["u", f"s{i}"], [f"t{i}"]) for i in range(states)]
    nodes += [
        helper.make_node("Mul", ["u", arguments[i % len(arguments)]], [f"y{i}"]) for i in range(outputs)
    ]
    results = [*(f"t{i}" for i in range(states)), *(f"y{i}" for i in range(outputs))]
    taken, given = ([tensor(name, 2) for name in names] for names in (arguments, results))
    return helper.make_graph(nodes, "body", taken, given)


def model_of(
    counts: tuple[int, int, int],
    batch: int | str,
    steps: int | str,
    directions: list[int] | None,
    has_lengths: bool,
    has_loss: bool = False,
) -> onnx.ModelProto:
    """The model of a Scan with counts of states, inputs and outputs."""
    states, inputs, outputs = counts
    names = ["lengths" if has_lengths else "", *(f"S{i}" for i in range(states))]
    names += [f"X{i}" for i in range(inputs)]
    made = [*(f"T{i}" for i in range(states)), *(f"Y{i}" for i in range(outputs))]
    attributes: dict[str, Any] = {} if directions is None else {"directions": directions}
    body = body_of(*counts)
    nodes = [helper.make_node("Scan", names, made, num_scan_inputs=inputs, body=body, **attributes)]
    given = [tensor("lengths", batch, dtype=TensorProto.INT64)] if has_lengths else []
    given += [tensor("w", 2), *(tensor(f"S{i}", batch, 2) for i in range(states))]
    given += [tensor(f"X{i}", batch, steps, 2) for i in range(inputs)]
    results = [tensor(f"T{i}", batch, 2) for i in range(states)]
    results += [tensor(f"Y{i}", batch, steps, 2) for i in range(outputs)]
    if has_loss:
        nodes += [helper.make_node("ReduceSum", [name], [f"{name}_sum"], keepdims=0) for name in made]
        nodes.append(helper.make_node("Sum", [f"{name}_sum" for name in made], ["loss"]))
        results = [tensor("loss")]
    graph = helper.make_graph(nodes, "g", given, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 8)], ir_version=3)


def feeds_of(model: onnx.ModelProto, batch: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(batch)
    sizes = {"B": batch, "N": STEPS}
    found = {}
    for value in model.graph.input:
        shape = [sizes.get(dim.dim_param, dim.dim_value) for dim in value.type.tensor_type.shape.dim]
        found[value.name] = random.standard_normal(shape).astype(np.float32)
    if "lengths" in found:
        found["lengths"] = np.array([2, STEPS, 1][:batch])
    return found


@pytest.mark.sweep
@pytest.mark.parametrize("has_lengths", [False, True])
@pytest.mark.parametrize(
    ("counts", "batch", "steps", "directions"),
    [
        ((1, 1, 1), 2, STEPS, None),
        ((1, 1, 1), 1, STEPS, [1]),
        ((2, 2, 2), 3, STEPS, [0, 1]),
        ((2, 2, 1), "B", "N", [1, 0]),
        ((1, 2, 0), "B", STEPS, [1, 1]),
        ((0, 1, 2), 3, "N", None),
        ((0, 2, 1), "B", "N", [0, 1]),
    ],
)
def test_the_result_is_that_of_onnxruntime(
    counts: tuple[int, int, int],
    batch: int | str,
    steps: int | str,
    directions: list[int] | None,
    has_lengths: bool,
):
    model = model_of(counts, batch, steps, directions, has_lengths)
    feeds = feeds_of(model, batch if isinstance(batch, int) else 2)
    found = gradc.compile(model).model
    assert edge(found) == edge(model)
    assert all(map(is_same, run(found, feeds), run(model, feeds)))


def test_the_gradient_passes_the_check():
    model = model_of((1, 2, 1), 2, STEPS, [0, 1], has_lengths=False, has_loss=True)
    gradc.grad(model, check=True)


@pytest.mark.parametrize("counts", [(0, 1, 1), (1, 1, 1), (2, 2, 1)])
def test_the_gradient_of_a_short_sequence_is_that_of_its_elements(counts: tuple[int, int, int]):
    """No element beyond the length of its sequence has a gradient."""
    directions = [1, 0][: counts[1]]
    padded = model_of(counts, 3, STEPS, directions, has_lengths=True, has_loss=True)
    one = model_of(counts, 1, "N", directions, has_lengths=False, has_loss=True)
    wrt = [value.name for value in one.graph.input if value.name != "w"]
    feeds = feeds_of(padded, 3)
    found = run(gradc.grad(padded, wrt=wrt).model, feeds)
    gradient = gradc.grad(one, wrt=wrt).model
    for sample, length in enumerate(feeds["lengths"]):
        cut = {name: value[sample : sample + 1] for name, value in feeds.items()}
        cut |= {name: value[:, :length] for name, value in cut.items() if name[0] == "X"} | {"w": feeds["w"]}
        for name, whole, expected in zip(wrt, found, run(gradient, cut), strict=True):
            part = whole[sample : sample + 1]
            if name[0] == "X":
                assert not part[:, length:].any()
                part = part[:, :length]
            np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [0, STEPS + 1])
def test_a_length_that_onnxruntime_refuses(length: int):
    model = model_of((1, 1, 1), 2, STEPS, None, has_lengths=True)
    feeds = feeds_of(model, 2) | {"lengths": np.array([STEPS, length])}
    for each in (model, gradc.compile(model).model):
        with pytest.raises(Exception, match="Scan"):
            run(each, feeds)


def test_a_state_that_is_left_out():
    model = model_of((1, 1, 1), 2, STEPS, None, has_lengths=False)
    model.graph.node[0].input[1] = ""
    with pytest.raises(gradc.GradcError, match="an omitted one"):
        gradc.compile(model)


def test_inputs_of_unknown_types_are_refused():
    model = model_of((1, 1, 1), 2, STEPS, None, has_lengths=False)
    model.graph.node.insert(0, helper.make_node("Foo", ["X0"], ["Z"], domain="own"))
    model.graph.node[1].input[2] = "Z"
    model.opset_import.append(helper.make_opsetid("own", 1))
    with pytest.raises(UnsupportedError, match="Scan of opset 8"):
        gradc.compile(model)


@pytest.mark.parametrize("has_lengths", [False, True])
def test_strings(has_lengths: bool):
    """They pass through a Scan, and have no zeros to be padded with."""
    model = model_of((0, 1, 1), 2, STEPS, None, has_lengths)
    (scan,), string = model.graph.node, TensorProto.STRING
    body = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "body",
        [tensor("x", 2, dtype=string)],
        [tensor("y", 2, dtype=string)],
    )
    next(each for each in scan.attribute if each.name == "body").g.CopyFrom(body)
    for value in (model.graph.input[-1], model.graph.output[0]):
        value.type.tensor_type.elem_type = string
    if has_lengths:
        with pytest.raises(UnsupportedError, match="sequence_lens"):
            gradc.compile(model)
        return
    texts = np.array([["a", "b"]] * 2 * STEPS, object).reshape(2, STEPS, 2)
    feeds = {"w": np.zeros(2, np.float32), "X0": texts}
    assert all(map(is_same, run(gradc.compile(model).model, feeds), run(model, feeds)))
