"""What stands for an op without a kernel has the accuracy of a kernel, at every magnitude of the data.

Each op runs on onnxruntime's own kernel, at an opset that has one, and as what gradc writes for an opset or a
target without it. Normally distributed data show little: what cancels or overflows takes a large mean, and
large and tiny numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array
from support.onnx_models import run

import gradc
from gradc.runtime.session import newest_opset

SHAPE = (2, 4, 3, 8)


def _spoiled(x: np.ndarray, value: float) -> np.ndarray:
    return np.where(np.arange(x.size).reshape(x.shape) % 29 == 3, value, x)


NORMAL = np.random.default_rng(7).standard_normal(SHAPE)
DATA = {
    "normal": NORMAL,
    "mean 1000": NORMAL + 1000,
    "1e18": NORMAL * 1e18,
    "3e28": NORMAL * 3e28,
    "1e-18": NORMAL * 1e-18,
    "1e-30": NORMAL * 1e-30,
    "equal": np.full(SHAPE, 1000.0),
    "zeros": np.zeros(SHAPE),
    "inf": _spoiled(NORMAL, np.inf),
    "-inf": _spoiled(NORMAL, -np.inf),
    "-inf alone": np.full(SHAPE, -np.inf),
    "NaN": _spoiled(NORMAL, np.nan),
}
NO_NAN = frozenset(("NaN",))
"""Which of a NaN and a number is larger is open."""


@dataclass(frozen=True)
class Row:
    """An op on data and constants; `native` is an opset at which onnxruntime has a kernel."""

    op: str
    native: int
    attributes: dict[str, Any]
    constants: tuple[np.ndarray, ...] = ()
    results: int = 1
    without: frozenset[str] = frozenset()


def row(op: str, native: int, *constants: np.ndarray, results=1, without=frozenset(), **attributes) -> Row:
    return Row(op, native, attributes, constants, results, without)


def _ramp(count: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, count, dtype=np.float32)


AXES = np.array([1, -1])
ROWS = {
    "LayerNormalization": row("LayerNormalization", 17, _ramp(8), _ramp(8)),
    "its statistics": row("LayerNormalization", 17, np.ones((3, 8), np.float32), results=3, axis=2),
    "MeanVarianceNormalization": row("MeanVarianceNormalization", 13),
    "its axes": row("MeanVarianceNormalization", 13, axes=[-1]),
    "RMSNormalization": row("RMSNormalization", 23, _ramp(8)),
    "LpNormalization": row("LpNormalization", 13, axis=-1),
    "ReduceLogSumExp": row("ReduceLogSumExp", 18, AXES),
    "its axes alone": row("ReduceLogSumExp", 18, AXES, keepdims=0),
    "of no axes": row("ReduceLogSumExp", 18, noop_with_empty_axes=1),
    "ReduceLogSum": row("ReduceLogSum", 18, AXES),
    "ReduceL2": row("ReduceL2", 18, AXES),
    "ReduceSumSquare": row("ReduceSumSquare", 18, AXES),
    "ReduceMax": row("ReduceMax", 18, AXES, keepdims=0, without=NO_NAN),
    "LogSoftmax": row("LogSoftmax", 13, axis=1),
    "Gelu": row("Gelu", 20),
    "Mish": row("Mish", 18),
    "Softplus": row("Softplus", 13),
    "HardSwish": row("HardSwish", 14),
    "Celu": row("Celu", 12, alpha=2.0),
    "Selu": row("Selu", 13),
    "PRelu": row("PRelu", 16, _ramp(8)),
    "MaxPool": row("MaxPool", 12, kernel_shape=[2, 2], pads=[1, 0, 0, 1], without=NO_NAN | {"-inf alone"}),
    "DynamicQuantizeLinear": row(
        "DynamicQuantizeLinear", 13, results=3, without=frozenset(("NaN", "inf", "-inf", "-inf alone"))
    ),
}
NEWEST = newest_opset()
"""28 with the newest packages; ReduceLogSumExp has no kernel there."""

WHERE = [("cpu", 13), ("cuda", 15), ("cuda", NEWEST), ("cpu", NEWEST)]
EVERYWHERE = [(target, opset) for target in ("cpu", "cuda", "portable") for opset in range(13, NEWEST + 1)]


def model(of: Row, opset: int) -> onnx.ModelProto:
    constants = [from_array(value, f"c{index}") for index, value in enumerate(of.constants)]
    names = [f"y{index}" for index in range(of.results)]
    node = make_node(of.op, ["x", *(each.name for each in constants)], names, **of.attributes)
    outputs = [onnx.helper.make_empty_tensor_value_info(name) for name in names]
    graph = make_graph([node], "g", [make_tensor_value_info("x", 1, SHAPE)], outputs, constants)
    made = make_model(graph, opset_imports=[make_opsetid("", opset)], ir_version=10)
    return onnx.shape_inference.infer_shapes(made)


@cache
def wanted(name: str, data: str) -> list[np.ndarray]:
    return run(model(ROWS[name], ROWS[name].native), {"x": DATA[data].astype(np.float32)})


def check(name: str, target: str, opset: int) -> None:
    try:
        compiled = gradc.compile(model(ROWS[name], ROWS[name].native), target=target, opset=opset).proto
    except gradc.GradcError:
        if target != "cuda":  # whose kernels of newer opsets are few
            raise
        return
    for data, values in DATA.items():
        if data in ROWS[name].without:
            continue
        found = run(compiled, {"x": values.astype(np.float32)})
        for got, want in zip(found, wanted(name, data), strict=True):
            bound = 3e-4 if data == "mean 1000" else 3e-6
            assert_near(got, want, bound, f"{name}, {data}")


def assert_near(got: np.ndarray, want: np.ndarray, bound: float, what: str) -> None:
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, what)
        return
    largest = np.max(np.abs(want), initial=0, where=np.isfinite(want))
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound * float(largest), err_msg=what)


@pytest.mark.sweep(entries=r".*(?=-\w+-\d+\])")
@pytest.mark.parametrize(("target", "opset"), WHERE)
@pytest.mark.parametrize("name", ROWS)
def test_as_accurate_as_a_kernel(name: str, target: str, opset: int):
    check(name, target, opset)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ROWS)
def test_as_accurate_as_a_kernel_everywhere(name: str):
    for target, opset in EVERYWHERE:
        check(name, target, opset)


@pytest.mark.parametrize("opset", [17, 21, NEWEST])
def test_groups_of_channels(opset: int):
    """No runtime has a kernel of GroupNormalization."""
    scale, bias = _ramp(4), _ramp(4)[::-1].copy()
    source = model(row("GroupNormalization", 21, scale, bias, num_groups=2, epsilon=1e-3), 21)
    compiled = gradc.compile(source, opset=opset).proto
    for data in ("normal", "mean 1000", "1e18", "3e28", "1e-18", "equal", "zeros"):
        x = DATA[data].astype(np.float32)
        rows = x.astype(np.float64).reshape(2, 2, -1)
        centred = rows - rows.mean(-1, keepdims=True)
        with np.errstate(over="ignore"):
            variance = np.square(centred).mean(-1, keepdims=True).astype(np.float32)
        normal = (centred / np.sqrt(variance + 1e-3)).reshape(SHAPE)
        want = normal * scale.reshape(4, 1, 1) + bias.reshape(4, 1, 1)
        (got,) = run(compiled, {"x": x})
        np.testing.assert_allclose(got, want, atol=3e-4, err_msg=data)
