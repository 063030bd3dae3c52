"""write-optimizer: names, order of inputs and results, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.training_steps import module_of
from xdsl.context import Context
from xdsl.dialects.builtin import f32, f64, i64

from dialects.support.diagnostics import UsageError
from dialects.support.entry import entry_function, input_names, output_names
from dialects.support.shapes import tensor_type
from gradc.optim import SGD, AdamW, Function, Group
from passes.training.write_optimizer import WriteOptimizerPass

W = tensor_type(f32, (2, 3))
B = tensor_type(f64, ())


def write(
    types: dict[str, Any], gradients: dict[str, str] | None = None, optimizer: Any = None, **options: Any
):
    gradients = gradients or {name: f"grad_{name}" for name in types}
    module = module_of(types)
    made = WriteOptimizerPass(gradients, optimizer or SGD(momentum=0.9), **options)
    made.apply(Context(), module)
    module.verify()
    return made, entry_function(module)


def test_inputs_and_results():
    made, function = write({"w": W, "b": B})
    assert input_names(function) == (
        "w", "b", "g.w", "g.b", "lr", "step", "w.momentum_buffer", "b.momentum_buffer"
    )  # fmt: skip
    assert output_names(function) == ("new_w", "new_b", "new_w.momentum_buffer", "new_b.momentum_buffer")
    updates = made.updates({"w": W, "b": B})
    assert list(updates) == ["w", "b", "w.momentum_buffer", "b.momentum_buffer"]
    assert set(updates.values()) == set(output_names(function))


def test_a_parameter_that_is_not_trained_keeps_its_gradient():
    _, function = write({"w": W, "b": B}, {"b": "grad_b"})
    assert output_names(function) == ("grad_w", "new_b", "new_b.momentum_buffer")


def test_initial_states():
    made, _ = write({"w": W, "b": B}, optimizer=AdamW(amsgrad=True))
    found = made.initial({"w": np.ones((2, 3), np.float32), "b": np.array(1.0)})
    assert {name: (array.dtype, array.shape) for name, array in found.items()} == {
        "w.exp_avg": (np.float32, (2, 3)), "w.exp_avg_sq": (np.float32, (2, 3)),
        "w.max_exp_avg_sq": (np.float32, (2, 3)), "b.exp_avg": (np.float64, ()),
        "b.exp_avg_sq": (np.float64, ()), "b.max_exp_avg_sq": (np.float64, ()),
    }  # fmt: skip
    assert not any(map(np.any, found.values()))


@pytest.mark.parametrize("name", ["lr", "step", "w.momentum_buffer"])
def test_a_name_of_the_step_in_the_model(name: str):
    types = {"w": W, name: W}
    with pytest.raises(UsageError, match=rf"value named {name}, .*; rename gives it .*, as {name}="):
        write(types, {"w": "grad_w"})


def test_unknown_names_and_dtypes():
    with pytest.raises(UsageError, match="no parameter v"):
        write({"w": W}, {"v": "grad_w"})
    with pytest.raises(UsageError, match="no gradient grad_u; did you mean grad_w"):
        write({"w": W}, {"w": "grad_u"})
    with pytest.raises(UsageError, match="the dtype of the parameter w: given s64"):
        write({"w": tensor_type(i64, (2,))})


def test_a_group_that_matches_nothing():
    with pytest.raises(UsageError, match=r"the group b.bia matches no .* parameter; did you mean b.bias.$"):
        write({"b.bias": W}, groups=[Group("b.*", lr=0.1), Group("b.bia", lr=0.1)])


@pytest.mark.parametrize("options", [{"clip": 0.0}, {"clip": float("nan")}, {"ema": 1.0}, {"ema": -0.1}])
def test_wrong_options(options: dict[str, float]):
    ((name, value),) = options.items()
    with pytest.raises(UsageError, match=f"{name}: given {value}, expected a number"):
        write({"w": W}, **options)


def test_results_that_are_equal_stay_apart():
    same = Function(lambda p, g, state, lr, step: (g, {"v": g, "u": state["u"]}), state={"v": 0.0, "u": 0.0})
    _, function = write({"w": W}, optimizer=same)
    assert output_names(function) == ("new_w", "new_w.v", "new_w.u")
    assert input_names(function) == ("w", "g.w", "lr", "step", "w.v", "w.u")
