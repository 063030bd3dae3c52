"""Updates in place: the order of readers and writers, on graphs and on onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import ModelProto, parser

import gradc
from dialects.support.diagnostics import UnsupportedError
from gradc.model.ordered_updates import order_updates
from gradc.optim import SGD, AdamW, Function, Lion, Optimizer

SIZES = (24, 40, 32, 10)


def perceptron(sizes: tuple[int, ...] = SIZES) -> ModelProto:
    """Return a network of dense layers whose weights are initializers."""
    rng = np.random.default_rng(0)
    nodes, tensors, name = list[Any](), list[Any](), "x"
    for index, (rows, columns) in enumerate(pairwise(sizes)):
        for kind, shape in (("weight", (rows, columns)), ("bias", (columns,))):
            array = (rng.normal(size=shape) / np.sqrt(rows)).astype(np.float32)
            tensors.append(onnx.numpy_helper.from_array(array, f"fc{index}.{kind}"))
        of = [name, f"fc{index}.weight", f"fc{index}.bias"]
        nodes.append(onnx.helper.make_node("Gemm", of, [f"h{index}"]))
        name = f"a{index}"
        nodes.append(onnx.helper.make_node("Tanh", [f"h{index}"], [name]))
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        nodes,
        "perceptron",
        [value("x", onnx.TensorProto.FLOAT, ["N", sizes[0]])],
        [value(name, onnx.TensorProto.FLOAT, ["N", sizes[-1]])],
        tensors,
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=9)


def train(
    model: ModelProto,
    updates: Mapping[str, str],
    initial: Mapping[str, np.ndarray],
    *,
    buffers: int,
    steps: int = 6,
) -> dict[str, np.ndarray]:
    """Train by io-binding with one or two buffers for each input that is updated; return what they have."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options)
    rng = np.random.default_rng(1)
    held = [{name: np.array(initial[name]) for name in updates}]
    held += [{name: np.empty_like(initial[name]) for name in updates}] * (buffers - 1)
    inputs = {one.name: one.shape for one in session.get_inputs()}
    for step in range(steps):
        old, new = held[step % buffers], held[(step + 1) % buffers]
        width, labels = inputs["x"][-1], inputs["label"][1:]
        batch = {
            "x": rng.normal(size=(16, width)).astype(np.float32),
            "label": rng.normal(size=(16, *labels)).astype(np.float32),
            "lr": np.array(0.01, np.float32),
            "step": np.array(step + 1),
        }
        binding = session.io_binding()
        for name in inputs:
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy((batch | old)[name]))
        for name in (one.name for one in session.get_outputs()):
            target = next((new[given] for given, result in updates.items() if result == name), None)
            if target is None:
                binding.bind_output(name)
            else:
                binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(target))
        session.run_with_iobinding(binding)
    return held[steps % buffers]


def heavy_ball(p: Any, g: Any, state: Any, lr: Any, step: Any) -> Any:
    v = state["v"] * 0.9 + g
    return p - v * lr, {"v": v, "old": p + (p - v * lr)}


OPTIMIZERS: list[Optimizer] = [
    SGD(),
    SGD(momentum=0.9, nesterov=True),
    AdamW(amsgrad=True),
    Lion(weight_decay=0.1),
    Function(heavy_ball, state={"v": 0.0, "old": 0.0}),
]


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("options", [{}, {"clip": 1.0, "ema": 0.9}], ids=str)
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda one: type(one).__name__)
def test_one_buffer_gives_the_bits_of_two(optimizer: Optimizer, options: dict[str, float]):
    step = gradc.train_step(
        perceptron(), loss=gradc.losses.MSE(), optimizer=optimizer, check=False, **options
    )
    expected = train(step.model, step.updates, step.initial, buffers=2)
    ordered = order_updates(step.model, step.updates)
    onnx.checker.check_model(ordered, full_check=True)
    for buffers in (1, 2):
        found = train(ordered, step.updates, step.initial, buffers=buffers)
        for name, value in expected.items():
            assert found[name].tobytes() == value.tobytes(), f"{name} with {buffers} buffers"


def test_without_the_order_one_buffer_is_wrong():
    """Otherwise the test above could not fail."""
    step = gradc.train_step(perceptron(), loss=gradc.losses.MSE(), optimizer=SGD(), check=False)
    expected = train(step.model, step.updates, step.initial, buffers=2)
    found = train(step.model, step.updates, step.initial, buffers=1)
    assert any(found[name].tobytes() != value.tobytes() for name, value in expected.items())


@pytest.mark.parametrize("optimizer", [AdamW(), Lion()], ids=lambda one: type(one).__name__)
def test_chunks_in_place(optimizer: Optimizer):
    step = gradc.train_step(
        perceptron((600, 512, 4)), loss=gradc.losses.MSE(), optimizer=optimizer, check=False, ema=0.9
    )
    assert "Scan" in [node.op_type for node in step.model.graph.node]
    expected = train(step.model, step.updates, step.initial, buffers=2, steps=3)
    ordered = order_updates(step.model, step.updates)
    found = train(ordered, step.updates, step.initial, buffers=1, steps=3)
    for name, value in expected.items():
        assert found[name].tobytes() == value.tobytes(), name


def order(body: str, inputs: str = "float[4] w, float[4] g, float lr", results: str = "float[4] new_w, y"):
    model = parser.parse_model(
        f'<ir_version: 9, opset_import: ["": 18]> m ({inputs}) => ({results}) {{{body}}}'
    )
    found = order_updates(model, {"w": "new_w"})
    onnx.checker.check_model(found, full_check=True)
    return found


def ancestors(model: ModelProto, name: str) -> set[str]:
    """Return the names of all values that a value depends on."""
    by_result = {one: node for node in model.graph.node for one in node.output}
    found, left = set[str](), [name]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += by_result[one].input if one in by_result else []
    return found


def test_nothing_changes_if_the_readers_come_first_anyway():
    model = order(
        "y = ReduceSum(w) d = Mul(g, y) u = Mul(d, lr) new_w = Sub(w, u)",
        results="float[4] new_w, float[1] y",
    )
    assert len(model.graph.node) == 4
    model = order("u = Mul(g, lr) new_w = Sub(w, u)", results="float[4] new_w")
    assert len(model.graph.node) == 2


BRANCHES = "then_branch = a () => (float[4] t) {t = Neg(w)}, else_branch = b () => (float[4] f) {f = Abs(w)}"


@pytest.mark.parametrize(
    ("reader", "shape"),
    [
        ("y = Mul(w, g)", "4"),
        ("v = Reshape(w, two) y = Exp(v)", "2, 2"),
        ("v = Transpose(w) u2 = Identity(v) y = Neg(u2)", "4"),
        (f"y = If(flag) <{BRANCHES}>", "4"),
    ],
)
def test_readers_come_before_the_update(reader: str, shape: str):
    inputs = "float[4] w, float[4] g, float lr, int64[2] two, bool flag"
    model = order(f"{reader} u = Mul(g, lr) new_w = Sub(w, u)", inputs, f"float[4] new_w, float[{shape}] y")
    assert "y" in ancestors(model, "new_w")


def test_a_scale_that_the_runtime_moves_into_a_product():
    """onnxruntime multiplies the product by lr instead: the product reads w."""
    types = "float[4,4] w, float[4,4] g, float lr"
    model = order(
        "v = Mul(w, lr) y = MatMul(g, v) u = Mul(g, lr) new_w = Sub(w, u)",
        types,
        "float[4,4] new_w, float[4,4] y",
    )
    assert "y" in ancestors(model, "new_w")


def test_an_update_without_scalars_is_copied():
    model = order("y = Exp(w) new_w = Sub(w, g)", results="float[4] new_w, float[4] y")
    assert "y" in ancestors(model, "new_w")
    last = next(node for node in model.graph.node if node.output[0] == "new_w")
    assert last.op_type == "Where"


def test_a_reader_of_the_old_and_the_new_value():
    model = order("u = Mul(g, lr) new_w = Sub(w, u) y = Add(w, new_w)", results="float[4] new_w, float[4] y")
    assert "y" in ancestors(model, "new_w")


def test_an_element_of_a_sequence():
    with pytest.raises(UnsupportedError, match="the input w is an element of a sequence"):
        order(
            "s = SequenceConstruct(w) u = Mul(g, lr) new_w = Sub(w, u) y = SequenceLength(s)",
            results="float[4] new_w, int64 y",
        )
