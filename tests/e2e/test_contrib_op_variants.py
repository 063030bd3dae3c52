"""Forms of com.microsoft's ops that files hold: values and gradients by all operands of floats, against what
onnxruntime's own kernels give, and against differences of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import gradc

RNG = np.random.default_rng(0)
FLOATS = (np.float32, np.float16)

Case = tuple[str, list[Any], dict[str, Any]]
"""Op, operands, attributes; None for an operand that is left out."""


def normal(*shape: int) -> np.ndarray:
    return np.asarray(RNG.normal(size=shape), np.float32)


def ints(*numbers: Any) -> np.ndarray:
    return np.array(numbers, np.int32)


def model_of(case: Case, results: int = 1) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Operands of floats are inputs, others are constants."""
    op, operands, attributes = case
    names = ["" if x is None else f"i{i}" for i, x in enumerate(operands)]
    given = {name: x for name, x in zip(names, operands, strict=True) if name}
    feeds = {name: x for name, x in given.items() if x.dtype in FLOATS}
    dtype = helper.np_dtype_to_tensor_dtype(next(iter(feeds.values())).dtype)
    outputs = ["y", *(f"unread{i}" for i in range(1, results))]
    graph = helper.make_graph(
        [helper.make_node(op, names, outputs, domain="com.microsoft", **attributes)],
        "g",
        [helper.make_tensor_value_info(name, dtype, x.shape) for name, x in feeds.items()],
        [helper.make_tensor_value_info("y", dtype, None)],
        [numpy_helper.from_array(x, name) for name, x in given.items() if name not in feeds],
    )
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def kernel_of(model: onnx.ModelProto) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda feeds: np.asarray(session.run(["y"], feeds)[0])


def agree(
    model: onnx.ModelProto,
    feeds: dict[str, np.ndarray],
    kernel: Callable[[dict[str, np.ndarray]], np.ndarray],
    step: float = 3e-3,
) -> None:
    found = gradc.value_and_grad(model, wrt=list(feeds), of="y", cotangents=True, allow_unused=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    y, rng = kernel(feeds), np.random.default_rng(1)
    cotangent = rng.normal(size=y.shape).astype(y.dtype)
    got = found.run({**feeds, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], y, rtol=3e-5, atol=3e-5)
    for name, x in feeds.items():
        direction = rng.normal(size=x.shape) * np.abs(x).mean()
        ends = [
            kernel({**feeds, name: (x + s * step * direction).astype(x.dtype)}).astype(np.float64)
            for s in (1, -1)
        ]
        slopes = cotangent * (ends[0] - ends[1]) / (2 * step)
        slope = (got[f"grad_{name}"] * direction).sum()
        assert abs(slope - slopes.sum()) <= 1e-2 * (np.abs(slopes).sum() + 0.01), name


MASKED = "DecoderMaskedMultiHeadAttention"
ATTENTION = [normal(2, 4, 6), normal(6, 12) / 2, normal(12)]
LENGTHS = ints(2, 4, 0, 2, 6, 0, 2, 6)
"""Of keys; then where the queries and the keys of each sequence begin."""

HEADS = normal(2, 2, 5, 3)
TURNED = [normal(2, 4, 64), normal(2, 4, 32), normal(2, 4, 32), None, None]
ANGLES = [normal(12, 8), normal(12, 8)]
GROUPED = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}
PLACES = np.array([[3, 9, 1, 2], [0, 1, 2, 3]])
BLOCKS = normal(7, 3) / 10
TABLE = RNG.integers(0, 16, (7, 40)).astype(ml_dtypes.uint4)
POINTS = RNG.integers(0, 16, (7, 3)).astype(ml_dtypes.uint4)
CHOSEN = np.array([[2, 0, -1], [1, 1, 3]])
ROWS = {"gather_axis": 0, "quantize_axis": 1, "block_size": 16}
COLUMNS = {**ROWS, "gather_axis": 1, "quantize_axis": 0}
SIGNED = RNG.integers(-8, 8, (2, 9, 32)).astype(ml_dtypes.int4)

REGIONS = np.array([[0.11, 0.31, 0.79, 0.87], [-0.23, 0.22, 0.71, 1.34]], np.float32)
CROPS = [REGIONS, ints(0, 1), ints(3, 4)]
"""Regions, of which image, and how large what is made of them."""

ONE = [normal(2, 1, 6) for _ in range(3)]
BUFFERS = [normal(2, 2, 6, 3) for _ in range(2)]
SEEN = ints([1, 0, 1, 1], [1, 1, 1, 1])
KEPT = {"num_heads": 2, "past_present_share_buffer": 1}

CASES: tuple[Case, ...] = (
    ("CropAndResize", [normal(2, 3, 6, 5), *CROPS], {"mode": "nearest"}),
    ("CropAndResize", [normal(2, 3, 6, 5), *CROPS], {"extrapolation_value": 2.5}),
    ("CropAndResize", [normal(2, 3, 1, 5), *CROPS], {}),
    ("CropAndResize", [normal(2, 3, 1, 5), *CROPS], {"mode": "nearest", "extrapolation_value": -1.0}),
    (MASKED, [*ONE, None, normal(1, 2, 1, 4), *BUFFERS, ints(3)], KEPT),
    (MASKED, [*ONE, SEEN, None, *BUFFERS, ints(3), None, None, normal(18)], KEPT),
    (MASKED, [*ONE, None, None, *BUFFERS, ints(3), ints(1), np.zeros((2, 1, 6), np.int32)], KEPT),
    (MASKED, [ONE[0], HEADS, HEADS[::-1].copy()], {"num_heads": 2}),
    ("Attention", [*ATTENTION, LENGTHS], {"num_heads": 2}),
    ("MultiHeadAttention", [*[normal(2, 4, 6) for _ in range(3)], None, LENGTHS], {"num_heads": 2}),
    ("MultiHeadAttention", [normal(2, 4, 6), HEADS, HEADS[::-1].copy(), normal(18)], {"num_heads": 2}),
    ("GroupQueryAttention", [*TURNED, ints(3, 3), ints(4), *ANGLES, PLACES], GROUPED),
    (
        "GroupQueryAttention",
        [*(x if x is None else x[:, :1] for x in TURNED), ints(0, 0), ints(1), *ANGLES, PLACES[:, :1]],
        GROUPED,
    ),
    ("FusedConv", [normal(1, 2, 5, 5), normal(4, 2, 3, 3)], {"activation": "HardSwish"}),
    ("GatherBlockQuantized", [TABLE, CHOSEN, BLOCKS], ROWS),
    ("GatherBlockQuantized", [TABLE, CHOSEN, BLOCKS, POINTS], ROWS),
    ("GatherBlockQuantized", [TABLE.T, np.array(3), BLOCKS.T], COLUMNS),
    ("GatherBlockQuantized", [SIGNED, CHOSEN, normal(2, 9, 2)], {**COLUMNS, "quantize_axis": 2}),
    ("GatherBlockQuantized", [SIGNED, CHOSEN, normal(2, 1, 32)], {**COLUMNS, "quantize_axis": 1}),
    (
        "GatherBlockQuantized",
        [
            RNG.integers(0, 256, (7, 2, 16)).astype(np.uint8),
            CHOSEN,
            normal(7, 2, 2),
            RNG.integers(0, 256, (7, 2, 1)).astype(np.uint8),
        ],
        {**ROWS, "quantize_axis": 2},
    ),
)  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[2]}"[:60])
def test_what_stands_for_an_op_is_the_op(case: Case):
    has_present = case[0] == "GroupQueryAttention" or case[2] == KEPT
    model, feeds = model_of(case, 3 if has_present else 1)
    agree(model, feeds, kernel_of(model), 3e-4 if case[0] in ("FusedConv", "CropAndResize") else 3e-3)


def test_a_product_that_a_gelu_follows():
    """Of no provider of the processor."""
    w, b = normal(5, 3), normal(3)
    model, feeds = model_of(("GemmFastGelu", [normal(4, 5), w, b], {}))
    text = """<ir_version: 10, opset_import: ["": 21]>
      g (float[4,5] x, float[5,3] w, float[3] b) => (float[4,3] y) {
        p = MatMul (x, w) s = Add (p, b) y = Gelu <approximate = "tanh"> (s)
      }"""
    kernel = kernel_of(onnx.parser.parse_model(text))
    agree(model, feeds, lambda at: kernel(dict(zip("xwb", at.values(), strict=True))))


ROUTED, EXPERTS = normal(6, 8), 4
ROUTER = 2 * normal(6, EXPERTS)


def layers(rows: int, width: int, count: int = 1) -> list[np.ndarray]:
    """Weights and biases of two layers; the first has `count` rows for each column of the second."""
    sizes = (EXPERTS, count * rows, width), (EXPERTS, count * rows), (EXPERTS, width, rows), (EXPERTS, width)
    return [normal(*size) / 2 for size in sizes]


def of_bits(bits: int, rows: int, width: int, block: int, zeros: bool) -> list[Any]:
    """Codes, scales and zero points of one layer."""
    blocks = width // block if block else 1
    packed = -(-(blocks if block else rows) * bits // 8)
    codes = RNG.integers(0, 256, (EXPERTS, rows, width * bits // 8)).astype(np.uint8)
    points = RNG.integers(0, 256, (EXPERTS, *([rows] if block else []), packed)).astype(np.uint8)
    scales = np.asarray((RNG.random((EXPERTS, rows, blocks)) + 0.5) / 2**bits, np.float32)
    return [codes, scales if block else scales[..., 0], points if zeros else None]


def mixture_of_codes(bits: int, block: int, zeros: bool, shares: bool = False) -> Case:
    first, second = of_bits(bits, 32, 32, block, zeros), of_bits(bits, 32, 16, block, zeros)
    operands = [
        normal(6, 32),
        ROUTER,
        *first[:2],
        normal(4, 32),
        *second[:2],
        normal(4, 32),
        None,
        None,
        None,
    ]
    operands += [first[2], second[2], None, np.abs(normal(6, EXPERTS)) + 1 if shares else None]
    own = {**SWIGLU, "expert_weight_bits": bits, **({"block_size": block} if block else {})}
    return "QMoE", operands, own


SWIGLU = {
    "activation_alpha": 1.702,
    "activation_beta": 1.0,
    "activation_type": "swiglu",
    "k": 2,
    "normalize_routing_weights": 1,
    "swiglu_fusion": 1,
    "swiglu_limit": 2.0,
}
MIXTURES: tuple[Case, ...] = (
    ("MoE", [ROUTED, ROUTER, *layers(5, 8)], {"k": 1}),
    ("MoE", [ROUTED.reshape(2, 3, 8), ROUTER, *layers(5, 8)], {"k": 2, "activation_type": "silu"}),
    ("MoE", [ROUTED, ROUTER, *layers(5, 8)], {"k": 4, "activation_type": "gelu"}),
    ("MoE", [ROUTED, ROUTER, *layers(5, 8, 2)], SWIGLU),
    *(
        mixture_of_codes(bits, block, zeros)
        for bits in (2, 4)
        for block in (0, 16)
        for zeros in (False, True)
    ),
    mixture_of_codes(8, 0, True),
    mixture_of_codes(4, 16, True, shares=True),
)


@pytest.mark.sweep
@pytest.mark.parametrize("case", MIXTURES, ids=lambda c: f"{c[0]}-{c[2]}"[:90])
def test_a_mixture_of_experts_is_the_op(case: Case):
    model, feeds = model_of(case)
    agree(model, feeds, kernel_of(model), 3e-4)


def mixture(x: np.ndarray, router: np.ndarray, *given: np.ndarray, function: Any) -> np.ndarray:
    """Of the two experts that the router likes most, whose first layer is in two parts."""
    w, b, v, c, u, d = (array.astype(np.float64) for array in given)
    chosen = np.argsort(-router, 1)[:, :2]
    shares = np.exp(router.astype(np.float64)) / np.exp(router.astype(np.float64)).sum(1, keepdims=True)
    y = np.zeros(x.shape)
    for row, experts in enumerate(chosen):
        for e in experts:
            inner = function(w[e] @ x[row] + b[e], u[e] @ x[row] + d[e])
            y[row] += shares[row, e] * (v[e] @ inner + c[e])
    return y


def swiglu(gate: np.ndarray, other: np.ndarray) -> np.ndarray:
    return gate / (1 + np.exp(-gate)) * other


def late(gate: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Bounded behind the activation."""
    return np.minimum(gate / (1 + np.exp(-gate)), 0.5) * np.clip(other, -0.5, 0.5)


APART: dict[str, tuple[dict[str, Any], Any]] = {
    "silu of three layers": ({"activation_type": "silu"}, swiglu),
    "swiglu of three layers": ({"activation_type": "swiglu"}, swiglu),
    "halves": ({"activation_type": "swiglu", "swiglu_fusion": 2}, swiglu),
    "bounded late": (
        {"activation_type": "swiglu", "swiglu_limit": 0.5, "swiglu_limit_after_activation": 1}, late,
    ),
    "relu2": ({"activation_type": "relu2"}, lambda g, o: np.maximum(g, 0) ** 2 * o),
    "geglu": (
        {"activation_type": "geglu", "swiglu_fusion": 2},
        lambda g, o: 0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g**3))) * o,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_a_mixture_that_only_other_providers_know(name: str):
    """By its definition."""
    own, function = APART[name]
    w, b, v, c = layers(5, 8)
    u, d, *_ = layers(5, 8)
    halves = own.get("swiglu_fusion")
    given = [np.concatenate([w, u], 1), np.concatenate([b, d], 1), v, c] if halves else [w, b, v, c, u, d]
    model, feeds = model_of(("MoE", [ROUTED, ROUTER, *given], {**own, "k": 2}))

    def kernel(at: dict[str, np.ndarray]) -> np.ndarray:
        x, router, first, bias, *others = at.values()
        parts = [first, bias, *others]
        if halves:
            parts = [first[:, :5], bias[:, :5], *others, first[:, 5:], bias[:, 5:]]
        return mixture(x, router, *parts, function=function).astype(np.float32)

    agree(model, feeds, kernel, 3e-4)
