"""`--rebatch` of models whose batch is fixed within the bodies of If, Loop and Scan."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as nh
import pytest
from support.cli import run_gradc

import gradc

F32, I64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
RNG = np.random.default_rng(0)
WEIGHTS = RNG.standard_normal((4, 4)).astype(np.float32)


def node(op, inputs, outputs, **attributes):
    names = outputs.split()
    return oh.make_node(op, inputs.split(), names, name=f"{op.lower()}_{names[0]}", **attributes)


def value(name, shape, dtype=F32):
    return oh.make_tensor_value_info(name, dtype, shape)


def constants(**arrays):
    return [nh.from_array(np.asarray(array), name) for name, array in arrays.items()]


def graph(nodes, inputs, outputs, **arrays):
    return oh.make_graph(nodes, "body", inputs, outputs, constants(**arrays))


def model(nodes, b, of_each, result, **arrays) -> onnx.ModelProto:
    inputs, outputs = [value("x", [b, *of_each])], [value("y", result)]
    found = oh.make_model(
        oh.make_graph(nodes, "g", inputs, outputs, constants(**arrays)),
        opset_imports=[oh.make_opsetid("", 18)],
        ir_version=8,
    )
    onnx.checker.check_model(found)
    return found


def branches(b: int) -> onnx.ModelProto:
    """One branch reshapes by a constant, the other is a constant."""
    one = [node("Reshape", "x to", "r"), node("MatMul", "r w", "t")]
    then = graph(one, [], [value("t", [b, 2, 4])], to=[b, 2, 4], w=WEIGHTS)
    other = [node("Constant", "", "e", value=nh.from_array(np.ones((b, 2, 4), np.float32)))]
    otherwise = graph(other, [], [value("e", [b, 2, 4])])
    nodes = [
        node("ReduceMax", "x", "m", keepdims=0),
        node("Greater", "m low", "c"),
        node("If", "c", "i", then_branch=then, else_branch=otherwise),
        node("Reshape", "i flat", "y"),
    ]
    return model(nodes, b, [8], [b, 8], low=np.float32(-100), flat=[b, 8])


def untaken_branch(b: int) -> onnx.ModelProto:
    found = branches(b)
    found.graph.initializer[0].CopyFrom(nh.from_array(np.float32(100), "low"))
    return found


def loop(b: int, declared: bool = True) -> onnx.ModelProto:
    """A state of zeros that the body adds the batch to; one step of it is stacked."""
    shape = [b, 4] if declared else None
    body = graph(
        [
            node("Identity", "c", "d"),
            node("MatMul", "h w", "p"),
            node("Reshape", "p split", "q"),
            node("Tanh", "q", "t"),
            node("Reshape", "t join", "u"),
            node("Add", "u x", "n"),
            node("Identity", "n", "s"),
        ],
        [value("i", [], I64), value("c", [], BOOL), value("h", shape)],
        [value("d", [], BOOL), value("n", shape), value("s", shape)],
        w=WEIGHTS / 4,
        split=[b, 2, 2],
        join=[b, 4],
    )
    nodes = [
        node("Loop", "steps go zeros", "last all", body=body),
        node("Transpose", "all", "rows", perm=[1, 0, 2]),
        node("Reshape", "rows wide", "r"),
        node("Concat", "r last", "y", axis=1),
    ]
    arrays = {"steps": 3, "go": True, "zeros": np.zeros((b, 4), np.float32), "wide": [b, 12]}
    return model(nodes, b, [4], [b, 16], **arrays)


def loop_without_types(b: int) -> onnx.ModelProto:
    return loop(b, declared=False)


def resetting_loop(b: int) -> onnx.ModelProto:
    """The last step leaves a constant."""
    ones = graph(
        [node("Constant", "", "e", value=nh.from_array(np.ones((b, 4), np.float32)))],
        [],
        [value("e", [b, 4])],
    )
    doubled = graph([node("Mul", "h h", "t")], [], [value("t", [b, 4])])
    body = graph(
        [
            node("Identity", "c", "d"),
            node("Less", "i last", "k"),
            node("If", "k", "n", then_branch=doubled, else_branch=ones),
            node("Expand", "one sizes", "z"),
            node("Add", "n z", "s"),
        ],
        [value("i", [], I64), value("c", [], BOOL), value("h", [b, 4])],
        [value("d", [], BOOL), value("n", [b, 4]), value("s", [b, 4])],
        last=2,
        one=np.ones((1, 1), np.float32),
        sizes=[b, 4],
    )
    nodes = [
        node("Loop", "steps go x", "end all", body=body),
        node("ReduceSum", "all first", "a", keepdims=0),
        node("Add", "a end", "y"),
    ]
    return model(nodes, b, [4], [b, 4], steps=3, go=True, first=[0])


def scan(b: int, axis: int = 0) -> onnx.ModelProto:
    """A recurrent cell over the steps, with a state of zeros."""
    body = graph(
        [
            node("Concat", "h v", "c", axis=1),
            node("Reshape", "c pair", "p"),
            node("ReduceMean", "p second", "m", keepdims=0),
            node("MatMul", "m w", "o"),
            node("Tanh", "o", "n"),
            node("Identity", "n", "s"),
        ],
        [value("h", [b, 4]), value("v", [b, 4])],
        [value("n", [b, 4]), value("s", [b, 4])],
        pair=[b, 2, 4],
        second=[1],
        w=WEIGHTS,
    )
    at_steps = {"scan_input_axes": [axis], "scan_output_axes": [axis]} if axis else {}
    over = node(
        "Scan", "zeros t" if not axis else "zeros x", "last u", body=body, num_scan_inputs=1, **at_steps
    )
    turn = [node("Transpose", "x", "t", perm=[1, 0, 2])] if not axis else []
    back = [node("Transpose", "u", "r", perm=[1, 0, 2])] if not axis else [node("Identity", "u", "r")]
    nodes = [*turn, over, *back, node("Unsqueeze", "last middle", "l"), node("Concat", "r l", "y", axis=1)]
    arrays = {"zeros": np.zeros((b, 4), np.float32), "middle": [1]}
    return model(nodes, b, [3, 4], [b, 4, 4], **arrays)


def scan_of_the_second_axis(b: int) -> onnx.ModelProto:
    return scan(b, 1)


def nested_loops(b: int) -> onnx.ModelProto:
    """A Scan within a Loop; the state of the Loop has the batch merged with the heads."""
    inner = graph(
        [node("Reshape", "g two", "k"), node("Add", "k row", "n"), node("Reshape", "n back", "m")],
        [value("g", [2 * b, 2]), value("row", [2])],
        [value("m", [2 * b, 2])],
        two=[b, 2, 2],
        back=[2 * b, 2],
    )
    body = graph(
        [
            node("Identity", "c", "d"),
            node("Scan", "h rows", "n", body=inner, num_scan_inputs=1),
            node("Sin", "n", "o"),
        ],
        [value("i", [], I64), value("c", [], BOOL), value("h", [2 * b, 2])],
        [value("d", [], BOOL), value("o", [2 * b, 2])],
        rows=WEIGHTS[:, :2],
    )
    nodes = [
        node("Reshape", "x to", "f"),
        node("Loop", "steps go f", "l", body=body),
        node("Reshape", "l from", "y"),
    ]
    arrays = {"to": [2 * b, 2], "from": [b, 4], "steps": 2, "go": True}
    return model(nodes, b, [4], [b, 4], **arrays)


MODELS = {
    f.__name__: f
    for f in (
        *(branches, untaken_branch, loop, loop_without_types, resetting_loop, scan),
        *(scan_of_the_second_axis, nested_loops),
    )
}


@pytest.mark.sweep(parts=8)
@pytest.mark.parametrize("before", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_both_batches_give_the_same_rows(name, before):
    source = MODELS[name](before)
    dims = source.graph.input[0].type.tensor_type.shape.dim
    x = RNG.standard_normal((2 * before + 2, *(d.dim_value for d in dims[1:]))).astype(np.float32)
    parts = [x[i : i + before] for i in range(0, len(x), before)]
    original = gradc.compile(source)
    wanted = np.concatenate([original.run({"x": part})["y"] for part in parts])
    gradient = gradc.grad(source, of="y", wrt="x", reduce="sum", check=False)
    derivatives = np.concatenate([gradient.run({"x": part})["grad_x"] for part in parts])
    for batch in ("batch", len(x)):
        found = gradc.compile(source, rebatch=batch)
        assert found.inputs[0].shape[0] == batch
        np.testing.assert_allclose(found.run({"x": x})["y"], wanted, rtol=1e-4, atol=1e-5)
        again = gradc.grad(source, of="y", wrt="x", reduce="sum", rebatch=batch)
        np.testing.assert_allclose(again.run({"x": x})["grad_x"], derivatives, rtol=1e-4, atol=1e-5)


def _over_the_batch() -> onnx.ModelProto:
    body = graph([node("Add", "h v", "n")], [value("h", [4]), value("v", [4])], [value("n", [4])])
    over = node("Scan", "zeros x", "y", body=body, num_scan_inputs=1)
    return model([over], 1, [4], [4], zeros=np.zeros(4, np.float32))


def _of_one_condition() -> onnx.ModelProto:
    then, other = (graph([node(op, "x", "t")], [], [value("t", [1, 4])]) for op in ("Neg", "Exp"))
    nodes = [
        node("ReduceMax", "x second", "m", keepdims=0),
        node("Greater", "m low", "c"),
        node("If", "c", "y", then_branch=then, else_branch=other),
    ]
    return model(nodes, 1, [4], [1, 4], second=[1], low=np.float32(0))


def _of_a_growing_state() -> onnx.ModelProto:
    body = graph(
        [node("Identity", "c", "d"), node("Concat", "h x", "n", axis=0)],
        [value("i", [], I64), value("c", [], BOOL), value("h", ["n", 4])],
        [value("d", [], BOOL), value("n", ["m", 4])],
    )
    return model([node("Loop", "steps go x", "y", body=body)], 1, [4], ["k", 4], steps=2, go=True)


def _of_other_rows() -> onnx.ModelProto:
    """The state begins with rows that differ."""
    found = loop(2)
    initial = {each.name: each for each in found.graph.initializer}
    initial["zeros"].CopyFrom(nh.from_array(WEIGHTS[:2], "zeros"))
    return found


FORBIDDEN = [
    (_over_the_batch, "Scan", "it works along the batch"),
    (_of_one_condition, "If", "its condition has the batch"),
    (_of_a_growing_state, "Concat", "it works along the batch"),
    (_of_other_rows, "Add", "its other sizes fit a batch of 2"),
]


@pytest.mark.parametrize("batch", ["4", "N"])
@pytest.mark.parametrize(("source", "op", "why"), FORBIDDEN)
def test_an_op_that_forbids_it_is_named(source, op, why, batch, tmp_path):
    path = tmp_path / "m.onnx"
    onnx.save(source(), path)
    found = run_gradc("compile", path, "--rebatch", batch, "-o", tmp_path / "o.onnx")
    assert found.code == 3
    assert f"[onnx.{op} " in found.line
    assert found.line.endswith(why)
