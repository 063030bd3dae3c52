"""Gradient nodes in the bodies of Loop, Scan and If: iterated methods as one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

import gradc

DOMAIN = "ai.onnx.preview.training"
STEPS, EPSILON = 4, 0.1

rng = np.random.default_rng(0)
X, T, W = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 3), (2, 2), (3, 2)))


def info(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, list(shape))


def node(op: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def gradient(inputs: str, outputs: str, **requested: Any) -> NodeProto:
    return node("Gradient", inputs, outputs, domain=DOMAIN, **requested)


def model(nodes: Sequence[NodeProto], inputs: Any, outputs: Any, **constants: Any) -> onnx.ModelProto:
    stored = [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def body(
    nodes: Sequence[NodeProto], states: Sequence[ValueInfoProto], results: Sequence[ValueInfoProto]
) -> GraphProto:
    """The body of a Loop with these states."""
    counter = [info("i", dtype=TensorProto.INT64), info("more", dtype=TensorProto.BOOL)]
    kept = helper.make_node("Identity", ["more"], ["more_still"])
    given = [info("more_still", dtype=TensorProto.BOOL), *results]
    return helper.make_graph([kept, *nodes], "body", [*counter, *states], given)


LOSS = [
    node("MatMul", "x w", "h"),
    node("Tanh", "h", "p"),
    node("Sub", "p t", "d"),
    node("Mul", "d d", "q"),
    node("ReduceSum", "q", "loss", keepdims=0),
]


def attack() -> onnx.ModelProto:
    """Steps along the sign of the gradient of (tanh(x w) - t)^2 by the state x."""
    steps = [
        *LOSS,
        gradient("x", "g", xs=["x"], y="loss"),
        node("Sign", "g", "s"),
        node("Mul", "s epsilon", "step"),
        node("Add", "x step", "next"),
    ]
    loop = node(
        "Loop", "steps  start", "found", body=body(steps, [info("x", "N", 3)], [info("next", "N", 3)])
    )
    loop.input[:] = ["steps", "", "start"]
    inputs = [info("start", "N", 3), info("t", "N", 2), info("w", 3, 2)]
    return model([loop], inputs, [info("found", "N", 3)], steps=np.int64(STEPS), epsilon=np.float32(EPSILON))


def test_projected_gradient_steps_in_a_loop():
    expected = X.copy()
    for _ in range(STEPS):
        p = np.tanh(expected @ W)
        expected += EPSILON * np.sign((2 * (p - T) * (1 - p * p)) @ W.T)
    found = gradc.compile(attack()).run({"start": X, "t": T, "w": W})["found"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def descent() -> onnx.ModelProto:
    """Gradient descent on the same loss, by w."""
    steps = [
        *LOSS,
        gradient("w", "g", xs=["w"], y="loss"),
        node("Mul", "g epsilon", "step"),
        node("Sub", "w step", "next"),
    ]
    loop = helper.make_node(
        "Loop", ["steps", "", "w0"], ["found"], body=body(steps, [info("w", 3, 2)], [info("next", 3, 2)])
    )
    inputs = [info("x", 2, 3), info("t", 2, 2), info("w0", 3, 2)]
    return model([loop], inputs, [info("found", 3, 2)], steps=np.int64(STEPS), epsilon=np.float32(EPSILON))


def descend(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    for _ in range(STEPS):
        p = np.tanh(x @ w)
        w = w - EPSILON * x.T @ (2 * (p - T) * (1 - p * p))
    return w


def test_a_derivative_through_the_steps():
    """The derivative of the trained weights by the data, against differences of numpy."""
    found = gradc.vjp(descent(), wrt="x", keep_outputs="of", check=True)
    cotangent = rng.normal(size=W.shape)
    run = found.run({"x": X, "t": T, "w0": W, "cotangent_found": cotangent.astype(np.float32)})
    np.testing.assert_allclose(run["found"], descend(X, W), rtol=1e-4, atol=1e-5)
    expected, wide = np.zeros(X.shape), np.float64
    for index in np.ndindex(X.shape):
        step = np.zeros(X.shape)
        step[index] = 1e-6
        change = descend(X.astype(wide) + step, W.astype(wide)) - descend(
            X.astype(wide) - step, W.astype(wide)
        )
        expected[index] = (change * cotangent).sum() / 2e-6
    np.testing.assert_allclose(run["grad_x"], expected, rtol=1e-3, atol=1e-4)


def test_newton_steps():
    """sqrt(a) as the minimum of x^3 / 3 - a x, by first and second derivatives."""
    steps = [
        node("Mul", "x x", "x2"),
        node("Mul", "x2 x", "x3"),
        node("Div", "x3 three", "cube"),
        node("Mul", "a x", "linear"),
        node("Sub", "cube linear", "y"),
        gradient("x", "first", xs=["x"], y="y"),
        gradient("x", "second", xs=["x"], y="first"),
        node("Div", "first second", "step"),
        node("Sub", "x step", "next"),
    ]
    loop = helper.make_node(
        "Loop", ["steps", "", "a"], ["root"], body=body(steps, [info("x", 3)], [info("next", 3)])
    )
    source = model([loop], [info("a", 3)], [info("root", 3)], steps=np.int64(8), three=np.float32(3))
    a = np.array([2, 3, 9], np.float32)
    np.testing.assert_allclose(gradc.compile(source).run({"a": a})["root"], np.sqrt(a), rtol=1e-6)


def test_values_of_the_outer_graph_in_both_branches():
    """One branch differentiates a value that the outer graph computes; the other one at another input."""
    then = helper.make_graph([gradient("x", "a", xs=["x"], y="y")], "then", [], [info("a", "N", 3)])
    other = helper.make_graph([gradient("z", "b", xs=["x"], y="y")], "other", [], [info("b", "N", 3)])
    nodes = [
        node("Exp", "x", "e"),
        node("ReduceSum", "e", "y", keepdims=0),
        helper.make_node("If", ["c"], ["found"], then_branch=then, else_branch=other),
    ]
    inputs = [info("x", "N", 3), info("z", "N", 3), info("c", dtype=TensorProto.BOOL)]
    compiled = gradc.compile(model(nodes, inputs, [info("found", "N", 3)]))
    for condition, at in ((True, X), (False, -X)):
        run = compiled.run({"x": X, "z": -X, "c": np.array(condition)})
        np.testing.assert_allclose(run["found"], np.exp(at), rtol=1e-5)


def test_the_rows_of_a_scan():
    """A value of the body that depends on an outer input, through ops of both graphs, and on its row."""
    inner = helper.make_graph(
        [
            node("Mul", "row s", "m"),
            node("Sin", "m", "y"),
            gradient("w row", "dw drow", xs=["w", "row"], y="y"),
            node("Add", "total dw", "next"),
        ],
        "body",
        [info("total", 3), info("row", 3)],
        [info("next", 3), info("drow", 3)],
    )
    nodes = [
        node("Mul", "w w", "s"),
        helper.make_node("Scan", ["zero", "x"], ["dw_all", "dx"], body=inner, num_scan_inputs=1),
    ]
    outputs = [info("dw_all", 3), info("dx", 2, 3)]
    source = model(nodes, [info("x", 2, 3), info("w", 3)], outputs, zero=np.zeros(3, np.float32))
    w = np.array([0.5, -1, 2], np.float32)
    run = gradc.compile(source).run({"x": X, "w": w})
    np.testing.assert_allclose(run["dx"], np.cos(X * w * w) * w * w, rtol=1e-5)
    np.testing.assert_allclose(run["dw_all"], (np.cos(X * w * w) * 2 * w * X).sum(0), rtol=1e-4)


def test_an_unknown_value_in_a_body():
    steps = [*LOSS, gradient("x", "g", xs=["nobody"], y="loss"), node("Identity", "g", "next")]
    loop = helper.make_node(
        "Loop",
        ["steps", "", "start"],
        ["found"],
        body=body(steps, [info("x", "N", 3)], [info("next", "N", 3)]),
    )
    inputs = [info("start", "N", 3), info("t", "N", 2), info("w", 3, 2)]
    source = model([loop], inputs, [info("found", "N", 3)], steps=np.int64(STEPS))
    with pytest.raises(gradc.GradcError, match='no input, initializer or earlier node defines "nobody"'):
        gradc.compile(source)
