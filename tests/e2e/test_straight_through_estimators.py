"""Straight-through estimates z + (q - z), whose difference a framework detached and no file tells of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.support.diagnostics import UnsupportedError, UsageError

RNG = np.random.default_rng(0)
X, G = (RNG.normal(size=(3, 4)).astype(np.float32) for _ in range(2))
W = RNG.normal(size=(4, 4)).astype(np.float32)
CODES = RNG.normal(size=(6, 4)).astype(np.float32)
SLOPE = (G * 2) @ W.T

SUMS: dict[str, list[tuple[str, list[str], list[str]]]] = {
    "z + (q - z)": [("Sub", ["q", "z"], ["d"]), ("Add", ["z", "d"], ["s"])],
    "(q - z) + z": [("Sub", ["q", "z"], ["d"]), ("Identity", ["d"], ["i"]), ("Add", ["i", "z"], ["s"])],
    "z - (z - q)": [("Sub", ["z", "q"], ["d"]), ("Sub", ["z", "d"], ["s"])],
    "(q + z) - z": [("Add", ["q", "z"], ["d"]), ("Sub", ["d", "z"], ["s"])],
}
ROUNDED: dict[str, list[tuple[str, list[str], list[str]]]] = {
    "Round": [("Round", ["z"], ["q"])],
    "Where": [("Greater", ["z", "half"], ["m"]), ("Where", ["m", "two", "half"], ["q"])],
    "Sign of what z is made of": [("Sign", ["x"], ["n"]), ("MatMul", ["n", "W"], ["q"])],
    "ArgMax": [("ArgMax", ["z"], ["k"]), ("Gather", ["codes", "k"], ["q"])],
}
BY_THE_LARGEST = [
    ("Abs", ["z"], ["a"]),
    ("ReduceMax", ["a"], ["step"]),
    ("Div", ["z", "step"], ["t"]),
    ("Round", ["t"], ["r"]),
    ("Mul", ["r", "step"], ["q"]),
]
"""As the layers of BitNet round what they read: the step has a derivative."""

PER_ROW: dict[str, dict[str, Any]] = {"ArgMax": {"axis": 1, "keepdims": 0}}


def model(rounded: str = "Round", summed: str = "z + (q - z)", more: Sequence[str] = ()) -> onnx.ModelProto:
    """y = 2 s, where s estimates q in the place of z = x W; then ops of y and z, in their places."""
    q = ROUNDED.get(rounded, BY_THE_LARGEST)
    listed = [("MatMul", ["x", "W"], ["z"]), *q, *SUMS[summed], ("Add", ["s", "s"], ["y"])]
    nodes = [helper.make_node(*one, name="".join(one[2]), **PER_ROW.get(one[0], {})) for one in listed]
    nodes += [helper.make_node("Add", ["y", name], [f"y_{name}"]) for name in more]
    out = f"y_{more[-1]}" if more else "y"
    arrays = {"W": W, "codes": CODES, "half": np.float32(0.5), "two": np.float32(2)}
    graph = helper.make_graph(
        nodes,
        "estimate",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info(out, TensorProto.FLOAT, ["N", 4])],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.sweep
@pytest.mark.parametrize("summed", SUMS)
@pytest.mark.parametrize("rounded", [*ROUNDED, "by the largest"])
def test_a_gradient_passes_an_estimate_on_request(rounded: str, summed: str) -> None:
    gradient = gradc.vjp(model(rounded, summed), wrt="x", straight_through=True, check=True)
    assert not [remark for remark in gradient.remarks if "unused but still required" not in remark.message]
    np.testing.assert_allclose(
        gradient.run({"x": X, "cotangent_y": G})["grad_x"], SLOPE, rtol=1e-5, atol=1e-5
    )


@pytest.mark.sweep
@pytest.mark.parametrize("summed", SUMS)
@pytest.mark.parametrize("rounded", ROUNDED)
def test_zeros_by_rule_are_an_error_where_the_ways_to_z_cancel(rounded: str, summed: str) -> None:
    with pytest.raises(UnsupportedError, match=r"by x is zero: .*straight_through=True passes it on"):
        gradc.vjp(model(rounded, summed), wrt="x")


def test_what_cancels_is_told_beside_another_way() -> None:
    gradient = gradc.vjp(model(more="z"), wrt="x", check=True)
    reported = next(remark.message for remark in gradient.remarks if "is zero" in remark.message)
    assert "part of the gradient of y_z is zero: onnx.Round q" in reported
    assert "straight_through=True passes it on" in reported
    found = gradient.run({"x": X, "cotangent_y_z": G})["grad_x"]
    np.testing.assert_allclose(found, G @ W.T, rtol=1e-5, atol=1e-5)


def test_a_step_that_is_measured_carries_the_rest() -> None:
    gradient = gradc.vjp(model("by the largest"), wrt="x", check=True)
    reported = next(remark.message for remark in gradient.remarks if "is zero" in remark.message)
    assert "straight_through=True passes it on" in reported
    z = X @ W
    at = np.unravel_index(np.abs(z).argmax(), z.shape)
    by_step = np.zeros_like(z)
    by_step[at] = (2 * G * np.rint(z / np.abs(z).max())).sum() * np.sign(z[at])
    found = gradient.run({"x": X, "cotangent_y": G})["grad_x"]
    np.testing.assert_allclose(found, by_step @ W.T, rtol=1e-4, atol=1e-5)


def test_codes_that_are_looked_up_take_the_cotangent_or_none() -> None:
    exact = gradc.vjp(model("ArgMax"), wrt="codes", check=True)
    wanted = np.zeros_like(CODES)
    np.add.at(wanted, np.argmax(X @ W, axis=1), 2 * G)
    np.testing.assert_allclose(exact.run({"x": X, "cotangent_y": G})["grad_codes"], wanted, rtol=1e-5)
    with pytest.raises(UsageError, match="y does not depend on codes"):
        gradc.vjp(model("ArgMax"), wrt="codes", straight_through=True)


def test_a_difference_that_carries_a_gradient_is_no_estimate() -> None:
    """x W + (x W W - x W), as a framework would have differentiated it."""
    source = model()
    source.graph.node[1].CopyFrom(helper.make_node("MatMul", ["z", "W"], ["q"]))
    for straight_through in (False, True):
        gradient = gradc.vjp(source, wrt="x", straight_through=straight_through, check=True)
        found = gradient.run({"x": X, "cotangent_y": G})["grad_x"]
        np.testing.assert_allclose(found, SLOPE @ W.T, rtol=1e-4, atol=1e-4)


def test_an_estimate_is_differentiated_twice() -> None:
    source = model()
    source.graph.node.append(helper.make_node("Mul", ["y", "y"], ["p"]))
    source.graph.output[0].name = "p"
    product = gradc.hvp(source, wrt="x", of="p", reduce="sum", straight_through=True, check=True)
    found = product.run({"x": X, "tangent_x": G})["hvp_x"]
    np.testing.assert_allclose(found, 8 * (G @ W) @ W.T, rtol=1e-4, atol=1e-4)
