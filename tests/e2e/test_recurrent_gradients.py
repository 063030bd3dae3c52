"""Gradients of LSTM, GRU and RNN on onnxruntime, of sizes that only run time knows: as numpy has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import gradc
from dialects.onnx.recurrence import GATES

FEATURES, HIDDEN = 2, 3
DTYPES = {"f32": (TensorProto.FLOAT, np.float32, 2e-6), "f16": (TensorProto.FLOAT16, np.float16, 4e-3)}
DTYPES["f64"] = (TensorProto.DOUBLE, np.float64, 1e-12)


AS_IT_IS = {"activation_alpha": [1.0], "activation_beta": [0.0]}
"""Of an Affine that gives what it is given."""


def model_of(op: str, dtype: str, both: bool, **attributes: Any):
    """With lengths and a first state, of a time and a batch that have names."""
    element, numpy, _ = DTYPES[dtype]
    rows, directions, rng = GATES[op] * HIDDEN, 1 + both, np.random.default_rng(0)
    inputs = [("x", element, ["T", "N", FEATURES]), ("lengths", TensorProto.INT32, ["N"])]
    inputs.append(("h", element, [directions, "N", HIDDEN]))
    weights = {
        "w": rng.normal(size=(directions, rows, FEATURES)),
        "r": rng.normal(size=(directions, rows, HIDDEN)),
        "b": rng.normal(size=(directions, 2 * rows)),
    }
    direction = "bidirectional" if both else "reverse"
    names = ["x", "w", "r", "b", "lengths", "h"]
    node = helper.make_node(op, names, ["y", "last"], hidden_size=HIDDEN, direction=direction, **attributes)
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info(*given) for given in inputs],
        [
            helper.make_tensor_value_info("y", element, None),
            helper.make_tensor_value_info("last", element, None),
        ],
        [numpy_helper.from_array(array.astype(numpy), name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("op", "dtype", "both", "attributes"),
    [
        ("RNN", "f32", True, {}),
        ("GRU", "f32", False, {"linear_before_reset": 1}),
        ("GRU", "f16", True, {}),
        ("LSTM", "f32", True, {"clip": 1.5}),
        ("LSTM", "f16", False, {}),
        ("LSTM", "f32", False, {"activations": ["Sigmoid", "Tanh", "Affine"]}),
        ("GRU", "f32", False, {"activations": ["Sigmoid", "ScaledTanh"]}),
        ("RNN", "f32", False, {"activations": ["ThresholdedRelu"]}),
        ("LSTM", "f32", False, {"activations": ["Softsign", "Tanh", "Affine"], **AS_IT_IS}),
        ("LSTM", "f64", True, {"clip": 1.5}),
        ("LSTM", "f64", False, {"input_forget": 1, "activations": ["Softsign", "LeakyRelu", "ScaledTanh"]}),
        ("GRU", "f64", True, {}),
        ("GRU", "f64", False, {"linear_before_reset": 1, "activations": ["HardSigmoid", "ThresholdedRelu"]}),
        ("RNN", "f64", True, {"activations": ["Elu", "Softplus"]}),
    ],
)
def test_the_gradient_runs(op: str, dtype: str, both: bool, attributes: dict[str, Any]):
    _, numpy, bound = DTYPES[dtype]
    wrt = ["x", "w", "r", "b", "h"]
    found = gradc.vjp(model_of(op, dtype, both, **attributes), wrt=wrt, of=["y", "last"])
    directions, rng = 1 + both, np.random.default_rng(1)
    for steps, batch in ((5, 3), (1, 1)):
        sizes = {
            "x": (steps, batch, FEATURES),
            "h": (directions, batch, HIDDEN),
            "cotangent_y": (steps, directions, batch, HIDDEN),
            "cotangent_last": (directions, batch, HIDDEN),
        }
        feeds = {name: rng.normal(size=size).astype(numpy) for name, size in sizes.items()}
        feeds["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
        got, want = found.run(feeds), found.reference(feeds)
        for name in wrt:
            exact = want[f"grad_{name}"].astype(np.float64)
            assert np.abs(got[f"grad_{name}"] - exact).max() <= bound * max(1, np.abs(exact).max()), name


FUNCTIONS = (
    *("Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "Sigmoid", "Softplus", "Softsign"),
    *("Tanh", "ThresholdedRelu"),
)


@pytest.mark.sweep
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("op", sorted(GATES))
def test_double_precision_runs_as_a_scan(op: str, function: str):
    """onnxruntime lists kernels for LSTM and GRU in f64, which fail when they run; for RNN none. Also lengths
    of 0, peepholes, and an empty batch, at which its kernels of f32 end the process."""
    names = [function] * {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    given = {"activations": names, "activation_alpha": [0.5] * 3, "activation_beta": [0.3] * 3}
    model, rng = model_of(op, "f64", False, **given), np.random.default_rng(1)
    if op == "LSTM":
        model.graph.node[0].input.extend(["", "p"])
        peepholes = numpy_helper.from_array(rng.normal(size=(1, 3 * HIDDEN)), "p")
        model.graph.initializer.append(peepholes)
    compiled = gradc.compile(model)
    for steps, batch in ((4, 3), (4, 0), (1, 1)):
        feeds = {
            "x": rng.normal(size=(steps, batch, FEATURES)),
            "h": rng.normal(size=(1, batch, HIDDEN)),
            "lengths": np.array([steps, 0, 1][:batch], np.int32),
        }
        got, want = compiled.run(feeds), compiled.reference(feeds)
        for name, exact in want.items():
            np.testing.assert_allclose(got[name], exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("op", sorted(GATES))
def test_the_size_of_what_is_hidden_may_be_left_to_the_weights(op: str):
    """ONNX has it so; onnxruntime does not load such a model."""
    model, rng = model_of(op, "f32", False), np.random.default_rng(1)
    kept = [one for one in model.graph.node[0].attribute if one.name != "hidden_size"]
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.extend(kept)
    feeds = {"x": rng.normal(size=(4, 2, FEATURES)), "h": rng.normal(size=(1, 2, HIDDEN))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    feeds |= {"lengths": np.array([4, 2], np.int32), "cotangent_y": np.ones((4, 1, 2, HIDDEN), np.float32)}
    for compiled in (gradc.compile(model), gradc.vjp(model, wrt="x", of="y")):
        given = {info.name: feeds[info.name] for info in compiled.inputs}
        want = compiled.reference(given)
        for name, array in compiled.run(given).items():
            np.testing.assert_allclose(array, want[name], rtol=1e-4, atol=1e-6)


def by_batch_of(op: str, outputs: list[str]):
    """In layout 1, of a batch that has a name."""
    rows, rng = GATES[op] * HIDDEN, np.random.default_rng(0)
    states = {"h": ["N", 2, HIDDEN], **({"c": ["N", 2, HIDDEN]} if op == "LSTM" else {})}
    inputs = {"x": ["N", 4, FEATURES], **states}
    weights = {"w": rng.normal(size=(2, rows, FEATURES)), "r": rng.normal(size=(2, rows, HIDDEN))}
    node = helper.make_node(
        op, ["x", "w", "r", "", "", *states], outputs, hidden_size=HIDDEN, direction="bidirectional", layout=1
    )
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs.items()]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs if n]
    tensors = [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()]
    graph = helper.make_graph([node], "g", infos, results, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.sweep
@pytest.mark.parametrize("outputs", [["y", "last"], ["y"], ["", "last"]])
@pytest.mark.parametrize("op", sorted(GATES))
def test_the_batch_may_come_first(op: str, outputs: list[str]):
    """Which onnxruntime has no kernels for: numpy is held against what runs, forward and backward."""
    model, rng = by_batch_of(op, outputs), np.random.default_rng(1)
    results = {"y": (4, 2, HIDDEN), "last": (2, HIDDEN)}
    of = [name for name in outputs if name]
    forward, backward = gradc.compile(model), gradc.vjp(model, wrt=["x", "h"], of=of)
    for batch in (3, 1):
        sizes = {"x": (batch, 4, FEATURES), "h": (batch, 2, HIDDEN), "c": (batch, 2, HIDDEN)}
        sizes |= {f"cotangent_{name}": (batch, *results[name]) for name in of}
        feeds = {name: rng.normal(size=size).astype(np.float32) for name, size in sizes.items()}
        for compiled in (forward, backward):
            given = {info.name: feeds[info.name] for info in compiled.inputs}
            got, want = compiled.run(given), compiled.reference(given)
            for name, exact in want.items():
                np.testing.assert_allclose(got[name], exact, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("op", ["GRU", "LSTM"])
def test_an_empty_batch_is_refused_before_onnxruntime_ends_the_process(op: str):
    model = by_batch_of(op, ["y", "last"])
    feeds = {
        "x": np.zeros((0, 4, FEATURES), np.float32),
        "h": np.zeros((0, 2, HIDDEN), np.float32),
        "c": np.zeros((0, 2, HIDDEN), np.float32),
        "cotangent_y": np.zeros((0, 4, 2, HIDDEN), np.float32),
        "cotangent_last": np.zeros((0, 2, HIDDEN), np.float32),
    }
    for compiled in (gradc.compile(model), gradc.vjp(model, wrt=["x"], of=["y", "last"])):
        given = {info.name: feeds[info.name] for info in compiled.inputs}
        with pytest.raises(gradc.GradcError, match="empty batch"):
            compiled.run(given)


def weights_of_any_size(op: str, both: bool, attributes: dict[str, Any], *, known: bool, optional: bool):
    """Weights as inputs: of known sizes, or of sizes that only a run tells and without `hidden_size`."""
    directions, rows = 1 + both, GATES[op] * HIDDEN
    shapes = {
        "x": ("T", "N", FEATURES),
        "w": (directions, rows, FEATURES),
        "r": (directions, rows, HIDDEN),
        "b": (directions, 2 * rows),
        "lengths": ("N",),
        "h": (directions, "N", HIDDEN),
        "c": (directions, "N", HIDDEN),
        "p": (directions, 3 * HIDDEN),
    }
    names = list(shapes)[: {"LSTM": 8}.get(op, 6)] if optional else ["x", "w", "r"]
    attributes = {**attributes, "direction": "bidirectional" if both else "forward"}
    node = helper.make_node(op, names, ["y"], **attributes, **({"hidden_size": HIDDEN} if known else {}))
    inputs = [
        helper.make_tensor_value_info(
            name,
            TensorProto.INT32 if name == "lengths" else TensorProto.FLOAT,
            shapes[name] if known or name == "x" else [None] * len(shapes[name]),
        )
        for name in names
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", inputs, [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), shapes


@pytest.mark.sweep
@pytest.mark.parametrize("optional", [True, False])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(
    ("op", "attributes"),
    [("LSTM", {}), ("LSTM", {"clip": 1.5}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("RNN", {})],
    ids=str,
)
def test_a_size_of_what_is_hidden_that_only_the_weights_of_a_run_tell(
    op: str, attributes: dict[str, Any], both: bool, optional: bool
):
    """onnxruntime does not load such a model either."""
    open_, shapes = weights_of_any_size(op, both, attributes, known=False, optional=optional)
    model, _ = weights_of_any_size(op, both, attributes, known=True, optional=optional)
    rng, sizes = np.random.default_rng(3), {"T": 4, "N": 2}
    feeds = {
        value.name: rng.normal(size=[sizes.get(d, d) for d in shapes[value.name]]).astype(np.float32)
        for value in model.graph.input
    }
    if optional:
        feeds["lengths"] = np.array([4, 2], np.int32)
    for make in (gradc.compile, lambda one: gradc.grad(one, reduce="sum", check=False)):
        want = make(model).run(feeds)
        for name, array in make(open_).run(feeds).items():
            np.testing.assert_allclose(array, want[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op", sorted(GATES))
def test_weights_of_no_known_rank_are_refused(op: str):
    model, _ = weights_of_any_size(op, False, {}, known=True, optional=False)
    model.graph.input[2].type.tensor_type.ClearField("shape")
    with pytest.raises(gradc.UnsupportedError, match=f"onnx.{op} .* rank of a value: given unknown"):
        gradc.grad(model, wrt="x", reduce="sum")
    x = np.ones((4, 2, FEATURES), np.float32)
    rng, rows = np.random.default_rng(0), GATES[op] * HIDDEN
    feeds = {"x": x, "w": rng.normal(size=(1, rows, FEATURES)), "r": rng.normal(size=(1, rows, HIDDEN))}
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    compiled = gradc.compile(model)
    np.testing.assert_allclose(compiled.run(feeds)["y"], compiled.reference(feeds)["y"], atol=1e-5)
