"""Forms of com.microsoft's ops that files hold: values and gradients by all operands of floats, against what
onnxruntime's own kernels give, and against differences of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnx
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
    found = gradc.value_and_grad(model, wrt=list(feeds), of="y", cotangents=True)
    assert not {node.domain for node in found.model.graph.node} - {""}
    y, rng = kernel(feeds), np.random.default_rng(1)
    cotangent = rng.normal(size=y.shape).astype(y.dtype)
    got = found.run({**feeds, "cotangent_y": cotangent})
    np.testing.assert_allclose(got["y"], y, rtol=3e-5, atol=3e-5)
    for name, x in feeds.items():
        direction = rng.normal(size=x.shape)
        ends = [
            kernel({**feeds, name: (x + s * step * direction).astype(x.dtype)}).astype(np.float64)
            for s in (1, -1)
        ]
        slopes = cotangent * (ends[0] - ends[1]) / (2 * step)
        slope = (got[f"grad_{name}"] * direction).sum()
        assert abs(slope - slopes.sum()) <= 1e-2 * (np.abs(slopes).sum() + 0.01), name


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

CASES: tuple[Case, ...] = (
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


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0]}-{c[2]}"[:60])
def test_what_stands_for_an_op_is_the_op(case: Case):
    model, feeds = model_of(case, 3 if case[0] == "GroupQueryAttention" else 1)
    agree(model, feeds, kernel_of(model), 3e-4 if case[0] == "FusedConv" else 3e-3)
