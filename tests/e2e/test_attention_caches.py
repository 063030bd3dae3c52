"""Attentions with a past, of com.microsoft also codes, or buffers that are longer than what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state
QUERY, KEY, VALUE = (np.asarray(RNG.normal(size=(2, 1, width)), np.float32) for width in (64, 32, 32))
KEY, VALUE = np.clip(KEY, -2.5, 2.5), np.clip(VALUE, -2.5, 2.5)  # within the bounds of the codes
LENGTHS = np.array([3, 3], np.int32), np.array([4], np.int32)


def model_of(op: str, others: list[Any], **attributes: Any) -> onnx.ModelProto:
    """Of queries, keys and values, and constants; None for one left out. Nobody reads the present."""
    names = ["" if other is None else f"w{i}" for i, other in enumerate(others)]
    node = helper.make_node(
        op, ["q", "k", "v", *names], ["y", "a", "b"], domain="com.microsoft", **attributes
    )
    width = 64 if op == "MultiHeadAttention" else 32
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 1, size])
            for name, size in (("q", 64), ("k", width), ("v", width))
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(x, name) for name, x in zip(names, others, strict=True) if name],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def run(model: onnx.ModelProto, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["y"], {"q": q, "k": k, "v": v})[0])


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Of one query of four heads, two of which share one of keys and values."""
    queries = q.astype(np.float64).reshape(2, 1, 4, 16).transpose(0, 2, 1, 3)
    scores = queries @ k.repeat(2, 1).transpose(0, 1, 3, 2) / 4
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v.repeat(2, 1)).transpose(0, 2, 1, 3).reshape(2, 1, 64)


@pytest.fixture(autouse=True)
def _the_same_numbers():
    """Whatever tests ran before."""
    RNG.bit_generator.state = START


@pytest.mark.parametrize("kind", ["PER_TENSOR", "PER_CHANNEL"])
def test_a_past_of_codes(kind: str):
    """Gradients by keys and values pass straight through what is rounded of them; those by queries always."""
    pasts = [RNG.integers(-100, 100, (2, 2, 3, 16)).astype(np.int8) for _ in range(2)]
    size = (1,) if kind == "PER_TENSOR" else (2, 16)
    scales = [np.asarray(RNG.random(size) * 0.02 + 0.02, np.float32) for _ in range(2)]
    others = [*pasts, *LENGTHS, *[None] * 5, *scales]
    own = {
        "k_quant_type": kind,
        "v_quant_type": kind,
        "kv_cache_bit_width": 8,
        "num_heads": 4,
        "kv_num_heads": 2,
    }
    model = model_of("GroupQueryAttention", others, **own)
    cotangent = np.asarray(RNG.normal(size=(2, 1, 64)), np.float32)
    feeds = {"q": QUERY, "k": KEY, "v": VALUE}
    found = gradc.value_and_grad(
        model, wrt=list("qkv"), of="y", cotangents=True, straight_through=True, check=True
    )
    assert not found.remarks
    got = found.run({**feeds, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], run(model, **feeds), rtol=1e-4, atol=1e-5)
    of_queries = gradc.vjp(model, wrt="q", of="y").run({**feeds, "cotangent_y": cotangent})
    np.testing.assert_allclose(of_queries["grad_q"], got["grad_q"], rtol=1e-5, atol=1e-6)

    def value(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> float:
        """Of floats, where the new ones are rounded at the point and move from there."""
        parts = []
        for new, at, past, scale in zip((k, v), (KEY, VALUE), pasts, scales, strict=True):
            by = scale.astype(np.float64).reshape(-1)
            base = np.clip(np.rint(at / by), -128, 127) * by + (new - at)
            heads = base.reshape(2, 1, 2, 16).transpose(0, 2, 1, 3)
            whole = past * (by if by.size == 1 else by.reshape(1, 2, 1, 16))
            parts.append(np.concatenate([whole, heads], 2))
        return float((attention(q, *parts) * cotangent).sum())

    for name, x in feeds.items():
        direction = RNG.normal(size=x.shape)
        ends = [value(**{**feeds, name: x + s * direction}) for s in (1e-4, -1e-4)]
        slope = (ends[0] - ends[1]) / 2e-4
        np.testing.assert_allclose((got[f"grad_{name}"] * direction).sum(), slope, rtol=1e-3, atol=1e-4)


def test_heads_that_are_normed_before_they_meet():
    """As onnxruntime's other providers do."""
    weights = [np.asarray(RNG.normal(size=16), np.float32) for _ in range(2)]
    others = [None, None, np.array([0, 0], np.int32), np.array([1], np.int32), *[None] * 7, *weights]
    model = model_of(
        "GroupQueryAttention",
        others,
        num_heads=4,
        kv_num_heads=2,
        qk_norm_epsilon=0.1,
        k_norm_epsilon=0.2,
        qk_output=1,
    )
    model.graph.node[0].output[1:] = ["", "", "read"]
    del model.graph.output[:]
    model.graph.output.append(helper.make_tensor_value_info("read", TensorProto.FLOAT, [2, 4, 1, 1]))
    found = gradc.value_and_grad(model, wrt=list("qk"), of="read", cotangents=True, check=True)
    assert ["input v is unused" in str(remark) for remark in found.remarks] == [True]
    ones = np.ones((2, 4, 1, 1), np.float32)
    got = found.run({"q": QUERY, "k": KEY, "v": VALUE, "cotangent_read": ones})
    heads = [x.reshape(2, 1, -1, 16).transpose(0, 2, 1, 3) for x in (QUERY, KEY)]
    q, k = (
        x / np.sqrt(np.square(x).mean(-1, keepdims=True) + epsilon) * scale
        for x, epsilon, scale in zip(heads, (0.1, 0.2), weights, strict=True)
    )
    np.testing.assert_allclose(
        got["read"], (q * k.repeat(2, 1)).sum(-1, keepdims=True) / 4, rtol=1e-4, atol=1e-5
    )


def test_buffers_that_are_longer_than_what_they_hold():
    pasts = [np.asarray(RNG.normal(size=(2, 4, 5, size)), np.float32) for size in (16, 16)]
    others = [None, None, None, *pasts, np.array([2], np.int32)]
    model = model_of("MultiHeadAttention", others, num_heads=4)
    feeds = {"q": QUERY, "k": 2 * QUERY, "v": QUERY - 1}
    found = gradc.value_and_grad(model, wrt=list("qkv"), of="y", cotangents=True, check=True)
    assert not found.remarks
    got = found.run({**feeds, "cotangent_y": np.ones((2, 1, 64), np.float32)})
    np.testing.assert_allclose(got["y"], run(model, **feeds), rtol=1e-4, atol=1e-5)


def test_a_present_that_the_model_gives_does_not_keep_a_gradient_from_being_checked():
    """By a value within, of which less is simplified."""
    pasts = [np.asarray(RNG.normal(size=(2, 2, 3, 16)), np.float32) for _ in range(2)]
    model = model_of("GroupQueryAttention", [*pasts, *LENGTHS], num_heads=4, kv_num_heads=2)
    model.graph.node.insert(0, helper.make_node("Tanh", ["q"], ["inner"]))
    model.graph.node[1].input[0] = "inner"
    model.graph.output.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, [2, 2, 4, 16]))
    found = gradc.value_and_grad(model, wrt="inner", of="y", cotangents=True, check=True)
    assert not found.remarks
    assert not {node.domain for node in found.model.graph.node} - {""}


@pytest.mark.parametrize("of", ["y", "keys", "scores"])
def test_a_past_comes_with_its_present(of: str):
    """Without which onnxruntime has no Attention of a past: also where nobody asks for it."""
    size = "float[1, 1, 2, 8]"
    model = onnx.parser.parse_model(f"""<ir_version: 11, opset_import: ["": 23]>
        g ({size} q, {size} k, {size} v, {size} past_k, {size} past_v)
        => ({size} y, float[1, 1, 4, 8] keys, float[1, 1, 4, 8] values, float[1, 1, 2, 4] scores) {{
        y, keys, values, scores = Attention (q, k, v, , past_k, past_v) }}""")
    given = {name.name: RNG.standard_normal((1, 1, 2, 8)).astype(np.float32) for name in model.graph.input}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run([of], given)
    found = gradc.value_and_grad(model, of=of, wrt="k", reduce="sum").run(given)
    np.testing.assert_allclose(found[of], np.asarray(expected), rtol=1e-5)
