"""Groups, clip, EMA, half types and functions on onnxruntime, against the numpy reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.training_steps import Steps, draw

from dialects.support.diagnostics import UsageError
from gradc import ops
from gradc.ops import Value
from gradc.optim import SGD, Adagrad, AdamW, Cosine, Function, Group, Lion, RMSprop, no_decay

SHAPES = {"layer.0.weight": (3, 4), "layer.0.bias": (4,), "scale": ()}
STEPS, LR = 10, 0.125


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_options_of_groups(dtype: type):
    start, gradients = draw(SHAPES, [dtype], STEPS)
    groups = [
        no_decay("*.bias.*,scale.*"),
        Group("layer.*", lr_scale=0.5, betas=(0.8, 0.9)),
        Group(["*.bias.*"], lr=0.1),
        Group("layer.*", eps=1e-3),
        Group("scale.*", lr_scale=0.0),
    ]
    steps = Steps(start, AdamW(weight_decay=0.3), groups=groups, clip=0.7, ema=0.9)
    steps.check(gradients, LR)
    (scale,) = (name for name in start if name.startswith("scale"))
    np.testing.assert_array_equal(steps.values[scale], start[scale])


def test_slots_differ_by_group():
    start, gradients = draw(SHAPES, [np.float64], STEPS)
    steps = Steps(start, SGD(momentum=0.9), groups=[Group("scale*", momentum=0.0)])
    assert [name for name in steps.values if name.endswith("momentum_buffer")] == [
        "layer.0.weight.float64.momentum_buffer", "layer.0.bias.float64.momentum_buffer"
    ]  # fmt: skip
    steps.check(gradients, LR)


def test_a_schedule_in_the_graph():
    start, gradients = draw(SHAPES, [np.float32], STEPS)
    steps = Steps(start, RMSprop(), groups=[Group("*bias*", lr_scale=3)], lr=Cosine(0.01, 3, 8, 0.001))
    assert "lr" not in steps.inputs
    steps.check(gradients, LR)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("optimizer", [AdamW(), Lion(weight_decay=0.1)], ids=str)
def test_half_parameters_have_float32_masters(dtype: type, optimizer: AdamW | Lion):
    start, gradients = draw({"w": (3, 4)}, [dtype], STEPS)
    steps = Steps(start, optimizer, clip=2.0, ema=0.9)
    (name,) = start
    assert {steps.values[f"{name}.{slot}"].dtype.name for slot in ("master", "exp_avg", "ema")} == {"float32"}
    steps.check(gradients, 1e-4)
    master = steps.values[f"{name}.master"]
    np.testing.assert_array_equal(steps.values[name], master.astype(dtype))


def heavy_ball(p: Value, g: Value, state: Mapping[str, Value], lr: Value, step: Value):
    v = state["v"] * 0.9 + g / ops.Sqrt(step.cast(p.dtype))
    return p - v * lr + (state["start"] - p) * 0.01, {"v": v, "start": state["start"]}


def test_a_users_function():
    start, gradients = draw(SHAPES, [np.float32, np.float64], STEPS)
    Steps(start, Function(heavy_ball, state={"v": 0.5, "start": None})).check(gradients, LR)


def test_a_function_without_states():
    start, gradients = draw(SHAPES, [np.float64], 2)
    steps = Steps(start, Function(lambda p, g, state, lr, step: p - g.sign() * lr))
    steps.check(gradients, LR)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda p, g, state, lr, step: p, "the new states .*given none, expected v"),
        (
            lambda p, g, state, lr, step: (p, {"v": lr}),
            r"the new state v .*given f64 \[\], expected f64 \[4\]",
        ),
        (lambda p, g, state, lr, step: (1, {"v": p}), "the new parameter .*given int, expected a Value"),
        (lambda p, g, state, lr, step: None, "the result of the optimizer <lambda>: given NoneType"),
    ],
)
def test_a_wrong_function(function, message: str):
    with pytest.raises(UsageError, match=message):
        Steps({"w": np.zeros(4)}, Function(function, state={"v": 0.0}))


def test_an_overflow_of_the_gradient_stays_visible():
    steps = Steps({"w": np.zeros(2, np.float32)}, SGD(), clip=1.0)
    found = steps.run({"w": np.float32([np.nan, 1])}, LR, 1)["w"]
    assert np.isnan(found).all(), "torch's clip does the same"


def test_empty_and_single_elements_and_zero_gradients():
    start = {"empty": np.zeros((0, 3), np.float32), "one": np.ones(1, np.float32)}
    zeros = {name: np.zeros_like(value) for name, value in start.items()}
    for optimizer in (Adagrad(), AdamW(weight_decay=0), Lion(), RMSprop(centered=True)):
        found = Steps(start, optimizer, clip=1.0, ema=0.9).run_all([zeros] * 3, LR)
        np.testing.assert_array_equal(found["one"], start["one"])
        assert found["empty"].shape == (0, 3)


LARGE = {"large": (640, 480), "odd": (300_007,), "small": (5,)}


@pytest.mark.parametrize(
    ("optimizer", "dtype"),
    [(AdamW(amsgrad=True), np.float32), (Lion(weight_decay=0.1), np.float16), (SGD(0.9, 0.1), np.float64)],
    ids=str,
)
def test_large_parameters_are_updated_in_chunks(optimizer: Any, dtype: type):
    start, gradients = draw(LARGE, [dtype], 3)
    steps = Steps(start, optimizer, ema=0.9)
    large, odd, small = start
    stored = {state.name: state.type.get_shape() for state in steps.states}
    assert stored[f"{large}.ema"] == (5, 61440)
    assert (stored[f"{odd}.ema"], stored[f"{small}.ema"]) == ((300_007,), (5,)), "300,007 is a prime"
    assert [node.op_type for node in steps.compiled.model.graph.node].count("Scan") == 1
    steps.check(gradients, 2**-10)


def test_a_large_parameter_of_a_function_is_in_one_piece():
    start, gradients = draw({"large": (640, 480)}, [np.float32], 2)
    scaled = Function(lambda p, g, state, lr, step: p - g * lr / ops.Sqrt(ops.ReduceSumSquare(g, keepdims=0)))
    steps = Steps(start, scaled)
    steps.check(gradients, LR)
