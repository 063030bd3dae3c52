"""Gates, norms and older forms of com.microsoft: what stands for them against onnxruntime's own kernels, and
against their definition where only its other providers have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.support.diagnostics import GradcError

RNG = np.random.default_rng(0)
START = RNG.bit_generator.state


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape), np.float32)


MORE = {"CausalConvWithState": ["state"], "LinearAttention": ["state"], "Unique": ["i", "n"]}
"""Results that onnxruntime insists on."""


def model_of(op: str, dims: Any, others: tuple[Any, ...], **attributes: Any) -> onnx.ModelProto:
    """Of x, of which a "b" is a size that only run time knows, and of constants; None for one left out."""
    names = ["" if other is None else f"w{i}" for i, other in enumerate(others)]
    read = attributes.pop("read", 0)
    results = [*(f"unread{i}" for i in range(read)), "y", *MORE.get(op, [])]
    node = helper.make_node(op, ["x", *names], results, domain="com.microsoft", **attributes)
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", floats, dims)],
        [helper.make_tensor_value_info("y", floats, None)],
        [numpy_helper.from_array(np.asarray(x), name) for name, x in zip(names, others, strict=True) if name],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


GRID = np.asarray(RNG.uniform(-1.1, 1.1, (2, 3, 3, 2)), np.float32)
REGIONS = np.array([[0, 0, 1, 1], [0.1, 0.3, 0.8, 0.9], [-0.2, 0.2, 0.7, 1.3]], np.float32)
CROPS = (REGIONS, np.array([0, 1, 1], np.int32))
HEADS = {"q_num_heads": 4, "kv_num_heads": 2}
PLACES = RNG.integers(0, 9, (3, 2, 4))
TABLES = normal(9, 6), normal(9, 6)
SCALES = normal(2, 5), normal(2, 5), normal(2, 5)
CASES: tuple[tuple[str, Any, tuple[Any, ...], dict[str, Any]], ...] = (
    ("BranchwiseRMSNorm", ("b", 4, 3, 5), (), {}),
    ("BranchwiseRMSNorm", ("b", 4, 3, 5), (normal(3, 5),), {"epsilon": 0.1}),
    ("BranchwiseRMSNorm", ("b", 4, 15), (normal(15),), {"num_branches": 3}),
    ("BranchwiseRMSNorm", ("b", 4, 15), (normal(5),), {"num_branches": 3}),
    ("CDist", ("b", 5), (normal(4, 5),), {"metric": "sqeuclidean"}),
    ("CDist", ("b", 5), (normal(4, 5),), {"metric": "euclidean"}),
    ("ConvTransposeWithDynamicPads", ("b", 2, 4, 5), (normal(2, 3, 3, 3), np.array([1, 0, 1, 1])),
     {"strides": [2, 1]}),
    ("CausalConvWithState", ("b", 4, 7), (normal(4, 1, 3), normal(4)), {"activation": "silu"}),
    ("CausalConvWithState", (2, 4, 7), (normal(4, 1, 3), None, normal(2, 4, 4)), {"dilation": 2}),
    ("CausalConvWithState", (2, 7, 4), (normal(4, 1, 3), normal(4), normal(2, 2, 4)), {"channels_last": 1}),
    ("CropAndResize", (2, 3, 6, 5), (*CROPS, np.array([3, 4], np.int32)), {}),
    ("CropAndResize", (2, 3, 6, 5), (*CROPS, np.array([1, 4], np.int32)), {}),
    ("EngramGate", (2, 3, 2, 5), (normal(2, 3, 2, 5), normal(2, 3, 5), *SCALES[:2]), {}),
    ("EngramGate", (2, 3, 2, 5), (normal(2, 3, 2, 5), normal(2, 3, 5), *SCALES),
     {"read": 1}),
    ("ExpandDims", ("b", 3), (np.array(-1, np.int32),), {}),
    ("GatedAdd", (2, 3, 4), (normal(2, 3, 4), normal(2, 3, 1)), {}),
    ("GatedRMSNorm", (2, 3, 8), (normal(4), normal(2, 3, 8)), {}),
    ("GatedRMSNorm", (2, 3, 8), (normal(8), normal(2, 3, 8)), {"activation": "sigmoid", "epsilon": 0.1}),
    ("GatherND", (2, 3, 4), (np.array([[0, 1], [1, 2]]),), {}),
    ("GridSample", (2, 3, 4, 5), (GRID,), {"align_corners": 1}),
    ("GridSample", (2, 3, 4, 5), (GRID,),
     {"mode": "bicubic", "padding_mode": "reflection"}),
    ("HyperConnectionPostMix", (2, 3, 4, 5), (normal(2, 3, 5), normal(2, 3, 4)), {}),
    ("HyperConnectionPostMix", (2, 3, 20), (normal(2, 3, 5), normal(2, 3, 4, 5), normal(2, 3, 4, 4)),
     {"num_branches": 4}),
    ("HyperConnectionPreMix", (2, 3, 4, 5), (normal(2, 3, 4),), {"reduction_scale": 0.5}),
    ("HyperConnectionPreMix", (2, 3, 20), (normal(2, 3, 20),), {"num_branches": 4}),
    ("LinearAttention", (2, 3, 24), (normal(2, 3, 12), normal(2, 3, 8)), {**HEADS, "update_rule": "linear"}),
    ("LinearAttention", (2, 3, 24), (normal(2, 3, 12), normal(2, 3, 8), None, -abs(normal(2, 3, 12))),
     {**HEADS, "update_rule": "gated"}),
    ("LinearAttention", (2, 3, 24),
     (normal(2, 3, 12) / 3, normal(2, 3, 8), normal(2, 2, 6, 4), -abs(normal(2, 3, 2)),
      abs(normal(2, 3, 2)) / 2), HEADS),
    ("LinearAttentionGate", ("b", 3, 4), (normal(4), normal(4)), {}),
    ("MRotaryEmbedding", (2, 4, 24), (PLACES, *TABLES), {"mrope_section": [2, 3, 1], "num_heads": 2}),
    ("MRotaryEmbedding", (2, 3, 4, 14), (PLACES, *TABLES),
     {"mrope_section": [2, 2, 2], "mrope_layout": 1, "interleaved": 1, "rotary_embedding_dim": 12,
      "num_heads": 3}),
    ("Pad", ("b", 3), (np.array([0, 2, 1, 0]), np.array([0.5], np.float32)), {}),
    ("Pad", ("b", 3), (np.array([[0, 2, 1, -1]]),), {"mode": "edge"}),
    ("SampleOp", ("b", 3), (), {}),
    ("ScaledSiLU", ("b", 3), (), {"alpha": 1.5}),
    ("ScaledSiLU", ("b", 3), (np.float32(0.7),), {}),
    ("Trilu", ("b", 3, 4), (np.array(1),), {"upper": 0}),
    ("UnfoldTensor", ("b", 7, 3), (), {"dim": 1, "size": 3, "step": 2}),
    ("UnfoldTensor", (2, "b", 3), (), {"dim": 1, "size": 1, "step": 1}),
    ("Unique", (6,), (), {}),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _the_same_numbers():
    """Whatever tests ran before."""
    RNG.bit_generator.state = START


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[1]}-{c[3]}"[:70])
def test_what_stands_for_an_op_is_the_op(case: Any):
    op, dims, others, attributes = case
    model = model_of(op, dims, others, **attributes)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, check=True)
    assert not found.remarks, [str(remark) for remark in found.remarks]
    assert not {node.domain for node in found.model.graph.node} - {""}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for batch in (1, 3) if "b" in dims else (0,):
        x = normal(*(batch if dim == "b" else dim for dim in dims))
        y = np.asarray(session.run(["y"], {"x": x})[0])
        got = found.run({"x": x, "cotangent_y": normal(*y.shape)})
        np.testing.assert_allclose(got["y"], y, rtol=2e-5, atol=2e-5)
        assert np.abs(got["grad_x"]).max() > 0


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def softmax(x: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    found = np.exp(x - x.max(axes, keepdims=True))
    return found / found.sum(axes, keepdims=True)


def group_norm(x: np.ndarray, groups: int, epsilon: float = 1e-5) -> np.ndarray:
    """Channels last, scaled by nothing."""
    apart = x.reshape(*x.shape[:-1], groups, -1)
    axes = (*range(1, x.ndim - 1), x.ndim)
    centred = apart - apart.mean(axes, keepdims=True)
    return (centred / np.sqrt(np.square(centred).mean(axes, keepdims=True) + epsilon)).reshape(x.shape)


def gelu(x: np.ndarray) -> np.ndarray:
    from math import erf

    return x * (1 + np.vectorize(erf)(x / np.sqrt(2))) / 2


ROW, SKIP, WIDE = normal(8), normal(2, 3, 5, 8), normal(2, 1, 1, 4)
KERNEL, ADDED = normal(4, 8, 1, 1), normal(2, 3, 5, 4)
DEFINED: Mapping[str, tuple[Any, tuple[Any, ...], dict[str, Any], Callable[[np.ndarray], np.ndarray]]] = {
    "BiasAdd": ((2, 3, 8), (ROW, SKIP[:, 0, :3]), {}, lambda x: x + ROW + SKIP[:, 0, :3]),
    "BiasDropout": ((2, 3, 8), (ROW, SKIP[:, 0, :3]), {}, lambda x: x + ROW + SKIP[:, 0, :3]),
    "BiasSoftmax": (
        (2, 3, 5, 4), (WIDE,), {"axis": 3, "is_inner_broadcast": 1}, lambda x: softmax(x + WIDE, (3,)),
    ),
    "BiasSoftmax of two axes": ((2, 3, 5, 4), (WIDE,), {"axis": 2}, lambda x: softmax(x + WIDE, (2, 3))),
    "BiasSplitGelu": ((2, 3, 8), (ROW,), {}, lambda x: (x + ROW)[..., :4] * gelu((x + ROW)[..., 4:])),
    "GroupNorm": (
        (2, 3, 5, 8), (ROW, ROW[::-1].copy()), {"groups": 2, "activation": 1, "channels_last": 1},
        lambda x: silu(group_norm(x, 2) * ROW + ROW[::-1]),
    ),
    "GroupNorm of channels": (
        (2, 8, 3, 5), (ROW, ROW), {"groups": 4, "activation": 0, "channels_last": 0},
        lambda x: np.moveaxis(group_norm(np.moveaxis(x, 1, -1), 4) * ROW + ROW, -1, 1),
    ),
    "SkipGroupNorm": (
        (2, 3, 5, 8), (ROW, ROW, SKIP[:, 0, 0], ROW), {"groups": 2, "activation": 0, "channels_last": 1},
        lambda x: group_norm(x + SKIP[:, :1, :1] + ROW, 2) * ROW + ROW,
    ),
    "NhwcFusedConv": (
        (2, 3, 5, 8), (KERNEL, ROW[:4], ADDED), {"activation": "Relu"},
        lambda x: np.maximum(x @ KERNEL[:, :, 0, 0].T + ROW[:4] + ADDED, 0),
    ),
    "NhwcConv": ((2, 3, 5, 8), (KERNEL,), {}, lambda x: x @ KERNEL[:, :, 0, 0].T),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_ops_without_a_kernel_of_the_cpu(name: str):
    dims, others, attributes, function = DEFINED[name]
    model = model_of(name.split()[0], dims, others, **attributes)
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True, check=True)
    assert not found.remarks
    x = normal(*dims)
    want = function(x.astype(np.float64))
    got = found.run({"x": x, "cotangent_y": normal(*want.shape)})
    np.testing.assert_allclose(got["y"], want, rtol=1e-4, atol=1e-5)


def test_an_inverse_stays_and_has_its_gradient():
    """By its own result: the file needs onnxruntime, as the model does."""
    model = model_of("Inverse", ("b", 3, 3), ())
    found = gradc.value_and_grad(model, wrt="x", of="y", cotangents=True)
    assert [node.op_type for node in found.model.graph.node].count("Inverse") == 1
    x, cotangent = normal(2, 3, 3) + 4 * np.eye(3, dtype=np.float32), normal(2, 3, 3)
    got = found.run({"x": x, "cotangent_y": cotangent})
    turned = np.linalg.inv(x).swapaxes(1, 2)
    np.testing.assert_allclose(got["grad_x"], -turned @ cotangent @ turned, rtol=1e-3, atol=1e-3)
    second = gradc.hvp(model, wrt="x", of="y", reduce="sum").run({"x": x, "tangent_x": cotangent})
    ends = [-_sum_of_inverse(x + np.float64(s) * cotangent) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(second["hvp_x"], (ends[0] - ends[1]) / 2e-5, rtol=1e-2, atol=1e-2)


def _sum_of_inverse(x: np.ndarray) -> np.ndarray:
    turned = np.linalg.inv(x.astype(np.float64)).swapaxes(1, 2)
    return turned @ np.ones_like(turned) @ turned


def test_every_op_that_onnxruntime_has_on_a_cpu_has_a_gradient_or_a_reason():
    from onnxruntime.capi import onnxruntime_pybind11_state as native

    from passes.autodiff.activity import non_differentiable
    from passes.autodiff.rules import contributed
    from passes.decompositions.registry import Reason, table_of

    known = {*contributed.RULES, *contributed.REFUSED, *non_differentiable.OF_OTHER_DOMAINS}
    known |= {*table_of(Reason.OTHER_DOMAIN)}
    kernels = {
        (one.domain, one.op_name)
        for one in native.get_all_opkernel_def()
        if one.provider == "CPUExecutionProvider"
    }
    named = {f"{domain}.{name}" for domain, name in kernels if domain == "com.microsoft"}
    assert len(named) > 80
    assert not named - known


def test_an_op_without_one_says_why():
    source = model_of(
        "MaxpoolWithMask", (1, 2, 4, 4), (np.ones((1, 2, 4, 4), np.int32),), kernel_shape=[2, 2]
    )
    with pytest.raises(GradcError, match=r"MaxpoolWithMask has none: onnxruntime documents"):
        gradc.vjp(source, wrt="x", of="y")
