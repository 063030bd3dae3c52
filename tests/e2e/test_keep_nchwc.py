"""What lies between convolutions stays in onnxruntime's blocks of channels, and means what it meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc

Body = tuple[list[onnx.NodeProto], dict[str, np.ndarray]]
node: Any = helper.make_node
SIDE = 6


def scalar(value: float) -> np.ndarray:
    return np.array(value, np.float32)


def per_channel(channels: int) -> np.ndarray:
    return np.linspace(-1, 2, channels, dtype=np.float32).reshape(1, channels, 1, 1)


BODIES: dict[str, Callable[[int], Body]] = {
    "factor": lambda c: ([node("Mul", ["a", "k"], ["r"])], {"k": scalar(0.3)}),
    "factors": lambda c: ([node("Mul", ["k", "a"], ["r"])], {"k": per_channel(c)}),
    "offset": lambda c: ([node("Add", ["a", "k"], ["r"])], {"k": scalar(-0.3)}),
    "offsets": lambda c: ([node("Add", ["k", "a"], ["r"])], {"k": per_channel(c)[0]}),
    "from one": lambda c: ([node("Sub", ["k", "a"], ["r"])], {"k": scalar(1)}),
    "less one": lambda c: ([node("Sub", ["a", "k"], ["r"])], {"k": scalar(1)}),
    "negation": lambda c: ([node("Neg", ["a"], ["r"])], {}),
    "difference": lambda c: ([node("Sub", ["a", "b"], ["r"])], {}),
    "silu slope": lambda c: (
        [
            node("Sigmoid", ["a"], ["s"]),
            node("Sub", ["k", "s"], ["t"]),
            node("Mul", ["a", "s"], ["y"]),
            node("Mul", ["y", "t"], ["u"]),
            node("Add", ["s", "u"], ["r"]),
        ],
        {"k": scalar(1)},
    ),
    "bounded": lambda c: (
        [node("Clip", ["a", "low", "high"], ["y"]), node("Mul", ["y", "a"], ["r"])],
        {"low": scalar(-0.5), "high": scalar(0.7)},
    ),
    "bounded by 0 and 1": lambda c: (
        [node("Clip", ["a", "low", "high"], ["y"]), node("Mul", ["y", "a"], ["r"])],
        {"low": scalar(0), "high": scalar(1)},
    ),
    "mask of a bound": lambda c: (
        [
            node("Clip", ["a", "low", "high"], ["y"]),
            node("Equal", ["y", "a"], ["e"]),
            node("Cast", ["e"], ["m"], to=TensorProto.FLOAT),
            node("Mul", ["m", "b"], ["q"]),
            node("Mul", ["q", "y"], ["r"]),
        ],
        {"low": scalar(0), "high": scalar(6)},
    ),
    "squeeze and excite": lambda c: (
        [
            node("ReduceMean", ["a", "axes"], ["p"], keepdims=1),
            node("Sigmoid", ["p"], ["q"]),
            node("Mul", ["a", "q"], ["t"]),
            node("Mul", ["t", "b"], ["r"]),
        ],
        {"axes": np.array([2, 3])},
    ),
    "sum": lambda c: (
        [
            node("ReduceSum", ["a", "axes"], ["p"], keepdims=1),
            node("Tanh", ["p"], ["q"]),
            node("Mul", ["q", "b"], ["r"]),
        ],
        {"axes": np.array([-2, -1])},
    ),
    "a plain tensor enters": lambda c: (
        [
            node("Add", ["a", "x"], ["s"]),
            node("Sigmoid", ["s"], ["t"]),
            node("Mul", ["t", "s"], ["u"]),
            node("Mul", ["u", "b"], ["v"]),
            node("Add", ["v", "s"], ["r"]),
        ],
        {},
    ),
    "step of a magnitude": lambda c: (
        [
            node("Abs", ["a"], ["m"]),
            node("HardSigmoid", ["m"], ["s"], alpha=-0.75, beta=1.5),
            node("Mul", ["s", "b"], ["r"]),
        ],
        {},
    ),
    "hard-swish": lambda c: (
        [node("HardSwish", ["a"], ["s"]), node("Sub", ["a", "k"], ["t"]), node("Mul", ["s", "t"], ["r"])],
        {"k": scalar(0.3)},
    ),
    "hard-swish slope": lambda c: (
        [
            node("HardSigmoid", ["a"], ["s"], alpha=1 / 6, beta=0.5),
            node("Abs", ["a"], ["m"]),
            node("HardSigmoid", ["m"], ["i"], alpha=-8388608.0, beta=25165824.0),
            node("Mul", ["a", "i"], ["t"]),
            node("Mul", ["t", "k"], ["u"]),
            node("Add", ["s", "u"], ["v"]),
            node("Mul", ["v", "b"], ["r"]),
        ],
        {"k": scalar(1 / 6)},
    ),
    "a constant tensor": lambda c: (
        [
            node("Add", ["a", "k"], ["s"]),
            node("Sigmoid", ["s"], ["t"]),
            node("Mul", ["t", "b"], ["r"]),
        ],
        {"k": np.random.default_rng(5).standard_normal((1, c, SIDE, SIDE)).astype(np.float32)},
    ),
    "twice the same": lambda c: ([node("Mul", ["a", "a"], ["t"]), node("Sub", ["t", "t"], ["r"])], {}),
}


STAY = ("factors", "a constant tensor", "mask of a bound", "sum")
"""In blocks as it is, or it stays: comparisons and sums that are not a derivative's."""


def model(name: str, channels: int, batch: int = 1, size: Any = SIDE, opset: int = 18) -> onnx.ModelProto:
    """Two convolutions, what is between, and a third one."""
    rng = np.random.default_rng(0)
    body, constants = BODIES[name](channels)
    weights = rng.standard_normal((channels, channels, 3, 3)) / np.sqrt(9 * channels)
    conv: dict[str, Any] = {"pads": [1] * 4}
    nodes = [node("Conv", ["x", "w"], ["a"], **conv), node("Conv", ["a", "w"], ["b"], **conv), *body]
    nodes += [node("Conv", ["r", "w"], ["y0"], **conv), node("Conv", ["b", "w"], ["y1"], **conv)]
    shape = [batch, channels, size, size]
    held = [
        numpy_helper.from_array(value, key)
        for key, value in {"w": weights.astype(np.float32), **constants}.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("y0", "y1")]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], results, held
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def reorders(made: onnx.ModelProto, folder: Path) -> int:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    nodes = onnx.load(options.optimized_model_filepath).graph.node
    if not any(n.domain == "com.microsoft.nchwc" for n in nodes):
        pytest.skip("onnxruntime has no blocks on this processor")
    return sum(n.op_type.startswith("Reorder") for n in nodes)


def numbers(made: onnx.ModelProto, x: np.ndarray) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options)
    return [np.asarray(found) for found in session.run(["y0", "y1"], {"x": x})]


@pytest.mark.sweep
@pytest.mark.parametrize("channels", [16, 24, 32])
@pytest.mark.parametrize("name", BODIES)
def test_the_numbers_stay(name: str, channels: int):
    source = model(name, channels, batch=2)
    x = np.random.default_rng(1).standard_normal((2, channels, SIDE, SIDE)).astype(np.float32) * 4
    found = gradc.compile(source).run({"x": x})
    for result, wanted in zip(("y0", "y1"), numbers(source, x), strict=True):
        np.testing.assert_allclose(found[result], wanted, atol=2e-5 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.sweep
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", BODIES)
def test_nan_and_inf_stay(name: str, special: float):
    """No bound of a convolution hides a NaN, and no factor makes one of an inf."""
    source = model(name, 32, batch=2)
    x = np.random.default_rng(1).standard_normal((2, 32, SIDE, SIDE)).astype(np.float32)
    x[0, :, 0, 0] = special
    with np.errstate(invalid="ignore"):
        found, wanted = gradc.compile(source).run({"x": x}), numbers(source, x)
    for result, exact in zip(("y0", "y1"), wanted, strict=True):
        assert not np.isfinite(exact[0]).all()
        np.testing.assert_allclose(found[result], exact, atol=1e-4)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [name for name in BODIES if name not in STAY])
def test_there_are_fewer_reorders(name: str, tmp_path: Path):
    source = model(name, 32)
    before = reorders(source, tmp_path)
    assert reorders(gradc.compile(source).model, tmp_path) < before


@pytest.mark.sweep
@pytest.mark.parametrize("opset", range(13, 27))
def test_every_opset(opset: int):
    source = model("mask of a bound", 32)
    x = np.random.default_rng(1).standard_normal((1, 32, SIDE, SIDE)).astype(np.float32) * 4
    found = gradc.compile(source, opset=opset).run({"x": x})
    np.testing.assert_allclose(found["y0"], numbers(source, x)[0], atol=1e-4)


@pytest.mark.parametrize("options", [{"strict_ieee": True}, {"target": "portable"}], ids=str)
def test_other_targets_and_strict_numbers_keep_the_ops(options: dict[str, Any]):
    kinds = [n.op_type for n in gradc.compile(model("bounded", 32), **options).model.graph.node]
    assert kinds.count("Conv") == 4


def test_sizes_of_run_time_keep_the_ops():
    kinds = [n.op_type for n in gradc.compile(model("bounded", 32, size="S")).model.graph.node]
    assert kinds.count("Conv") == 4


def test_what_saves_nothing_stays():
    """A result of the model is plain anyhow."""
    source = model("negation", 32)
    del source.graph.node[-2:]
    source.graph.node[-1].output[0] = "y0"
    source.graph.node[1].output[0] = "y1"
    kinds = [n.op_type for n in gradc.compile(source).model.graph.node]
    assert kinds.count("Neg") == 1


def test_a_product_with_channels_is_in_blocks_as_it_is(tmp_path: Path):
    """onnxruntime makes a convolution of it."""
    source = model("factors", 32)
    found = gradc.compile(source).model
    assert [n.op_type for n in found.graph.node].count("Mul") == 1
    assert reorders(found, tmp_path) == reorders(source, tmp_path) == 3


BOUNDS = [(0.0, 6.0), (-1.0, 1.0), (-3.0, 0.0), (0.5, 2.0), (-0.3, 0.7), (-8.0, -1 / 3)]


def clipped(low: float, high: float, bias: float | None = None) -> onnx.ModelProto:
    """A Clip between convolutions that change nothing; with a bias the last one doubles, with weights of its
    own, into which a factor may be folded."""
    eye = np.zeros((32, 32, 3, 3), np.float32)
    eye[:, :, 1, 1] = np.eye(32)
    held = {"w": eye, "low": scalar(low), "high": scalar(high)}
    if bias is not None:
        held |= {"v": 2 * eye, "bias": np.full(32, bias, np.float32)}
    nodes = [
        node("Conv", ["x", "w"] if bias is None else ["x", "w", "bias"], ["a"], pads=[1] * 4),
        node("Clip", ["a", "low", "high"], ["b"]),
        node("Conv", ["b", "w" if bias is None else "v"], ["y"], pads=[1] * 4),
    ]
    shape = (1, 32, 14, 14)
    x_info, y_info = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy")
    initial = [numpy_helper.from_array(value, key) for key, value in held.items()]
    graph = helper.make_graph(nodes, "g", [x_info], [y_info], initial)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def test_bounds_of_what_others_read_are_not_moved():
    source = clipped(0, 6, bias=0.0)
    source.graph.node.append(node("Tanh", ["a"], ["z"]))
    source.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, 32, 14, 14)))
    compiled = gradc.value_and_grad(source, wrt="x", of=["y", "z"], cotangents=True, check=True)
    assert not compiled.remarks


@pytest.mark.parametrize(("low", "high"), BOUNDS)
def test_masks_are_exact_at_their_bounds(low: float, high: float):
    """The derivative of a Clip, between convolutions that change nothing."""
    tiny = np.finfo(np.float32).tiny
    near = [np.float32(v) for v in (0.0, tiny, -tiny, 1e30, -1e30)]
    for bound in (np.float32(low), np.float32(high)):
        near += [bound, *(np.nextafter(bound, np.float32(side), dtype=np.float32) for side in (-9e9, 9e9))]
    points = np.array([p for p in near if p == 0 or abs(p) >= tiny], np.float32)
    x = np.resize(points, (1, 32, 14, 14))
    compiled = gradc.vjp(clipped(low, high), wrt="x", check=False)
    kinds = [n.op_type for n in compiled.model.graph.node]
    assert kinds.count("HardSigmoid") == 2
    assert "Equal" not in kinds
    cotangent = np.random.default_rng(0).standard_normal(x.shape).astype(np.float32)
    found = compiled.run({"x": x, "cotangent_y": cotangent})["grad_x"]
    inside = (x >= np.float32(low)) & (x <= np.float32(high))
    np.testing.assert_array_equal(found, np.where(inside, cotangent, 0))
