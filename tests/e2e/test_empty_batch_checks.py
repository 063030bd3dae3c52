"""The check of a gradient looks at an empty batch, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest

import gradc
from gradc.derivatives import derivation
from gradc.verification import empty_batches

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
DENSE = "g (float[N, 4] x) => (float[N, 3] y) { m = MatMul (x, w) a = Add (m, b) y = Tanh (a) }"
MODELS = {
    "dense": (DENSE, {"w": (4, 3), "b": (3,)}),
    "image": (
        """g (float[N, 2, 6, 6] x) => (float[N, 3] y) { c = Conv (x, k) n = BatchNormalization (c, s, s, s, s)
        r = Relu (n) p = MaxPool <kernel_shape = [2, 2]> (r) q = GlobalAveragePool (p) f = Flatten (q)
        y = MatMul (f, w) }""",
        {"k": (4, 2, 3, 3), "s": (4,), "w": (4, 3)},
    ),
    "attention": (
        """g (float[N, T, 4] x) => (float[N, T, 4] y) { a = MatMul (x, w) t = Transpose <perm = [0, 2, 1]> (a)
        s = MatMul (x, t) p = Softmax (s) y = MatMul (p, a) }""",
        {"w": (4, 4)},
    ),
    "no value for none": (
        "g (float[N, 4] x) => (float y) { m = MatMul (x, w) y = ReduceMean <keepdims = 0> (m) }",
        {"w": (4, 3)},
    ),
}


def made(text: str, shapes: Mapping[str, tuple[int, ...]]) -> onnx.ModelProto:
    found = onnx.parser.parse_model(f"{HEAD} {text}")
    rng = np.random.default_rng(0)
    arrays = {name: rng.uniform(0.1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    found.graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
    return found


def model(name: str) -> onnx.ModelProto:
    return made(*MODELS[name])


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whether the function has a value at each empty batch that is tried."""
    seen, values = list[str](), empty_batches._values

    def watched(*given: Any) -> Any:
        of = values(*given)
        seen.append("no value" if of is None else "a value")
        return of

    monkeypatch.setattr(empty_batches, "_values", watched)
    return seen


@pytest.mark.parametrize("name", MODELS)
def test_right_gradients(name: str, found: list[str]):
    proof = gradc.vjp(model(name), wrt=["x", "w"], check=True).proof
    assert proof is not None
    assert proof.status == "proved", str(proof)
    assert found == ["no value" if name == "no value for none" else "a value"]


STEPS = "g (float[T, 2, 4] x) => (float[1, 2, 3] y) { a, y = LSTM <hidden_size = 3> (x, w, r) }"


FIXED = "g (float[2, 4] x) => (float[2, 4] y) { y = Sin (x) }"


@pytest.mark.parametrize(
    ("text", "shapes"), [(STEPS, {"w": (1, 12, 4), "r": (1, 12, 3)}), (FIXED, {})], ids=["steps", "fixed"]
)
def test_models_without_a_batch(text: str, shapes: dict[str, tuple[int, ...]], found: list[str]):
    gradc.vjp(made(text, shapes), wrt="x", check=True)
    assert found == []


def with_last_node(monkeypatch: pytest.MonkeyPatch, result: str, *nodes: onnx.NodeProto, **constants: Any):
    """Let the written model compute `result` from `result_0` by these nodes."""
    stored = derivation.store_weights

    def changed(compiled: gradc.Compiled, request: Any) -> gradc.Compiled:
        found = stored(compiled, request)
        graph = found.parts.proto.graph
        for node in graph.node:
            node.output[:] = [f"{result}_0" if name == result else name for name in node.output]
        arrays = {name: np.asarray(array) for name, array in constants.items()}
        graph.initializer.extend(onnx.numpy_helper.from_array(a, n) for n, a in arrays.items())
        graph.node.extend(nodes)
        return found

    monkeypatch.setattr(derivation, "store_weights", changed)


def test_a_wrong_shape(monkeypatch: pytest.MonkeyPatch):
    """A Reshape that has a 0 for the size of its input is right but for an empty batch."""
    rows = [
        onnx.helper.make_node("Shape", ["x"], ["rows"], end=1),
        onnx.helper.make_node("Max", ["rows", "one"], ["some"]),
        onnx.helper.make_node("Concat", ["some", "four"], ["shape"], axis=0),
        onnx.helper.make_node("Expand", ["zero", "shape"], ["zeros"]),
        onnx.helper.make_node("Concat", ["grad_x_0", "zeros"], ["more"], axis=0),
        onnx.helper.make_node("Slice", ["more", "none", "some", "none"], ["grad_x"]),
    ]
    constants = {"one": [1], "four": [4], "none": [0], "zero": np.float32(0)}
    with_last_node(monkeypatch, "grad_x", *rows, **constants)
    with pytest.raises(gradc.CheckError, match="at an empty batch, grad_x has a wrong shape"):
        gradc.vjp(model("dense"), wrt=["x", "w"], check=True)


def test_no_zeros(monkeypatch: pytest.MonkeyPatch):
    rows = [
        onnx.helper.make_node("Size", ["x"], ["count"]),
        onnx.helper.make_node("Equal", ["count", "none"], ["is_empty"]),
        onnx.helper.make_node("Where", ["is_empty", "one", "zero"], ["more"]),
        onnx.helper.make_node("Add", ["grad_w_0", "more"], ["grad_w"]),
    ]
    constants = {"none": np.int64(0), "one": np.float32(1), "zero": np.float32(0)}
    with_last_node(monkeypatch, "grad_w", *rows, **constants)
    with pytest.raises(gradc.CheckError, match="at an empty batch, grad_w is not 0"):
        gradc.vjp(model("dense"), wrt=["x", "w"], check=True)


def test_no_value(monkeypatch: pytest.MonkeyPatch):
    """A gradient that has no value there is written, and it is said."""
    rows = [
        onnx.helper.make_node("Gather", ["grad_x_0", "none"], ["first"]),
        onnx.helper.make_node("Mul", ["first", "zero"], ["nothing"]),
        onnx.helper.make_node("Add", ["grad_x_0", "nothing"], ["grad_x"]),
    ]
    with_last_node(monkeypatch, "grad_x", *rows, none=np.int64(0), zero=np.float32(0))
    proof = gradc.vjp(model("dense"), wrt=["x", "w"], check=True).proof
    assert proof is not None
    assert proof.reason.startswith("at an empty batch: the gradient has no value: "), str(proof)
    assert proof.status == "partly proved"
