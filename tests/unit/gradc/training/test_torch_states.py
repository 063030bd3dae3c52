"""States of a step and of torch's optimizer are interchangeable."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from support.trained_networks import BATCH, network

import gradc
from dialects.support.diagnostics import UsageError
from gradc.optim import SGD, AdamW, Optimizer, RMSprop

OPTIMIZERS = [AdamW(amsgrad=True), RMSprop(momentum=0.5, centered=True), SGD(momentum=0.9)]


def run(step: gradc.TrainStep, values: dict[str, np.ndarray], first: int, last: int) -> dict[str, np.ndarray]:
    model = gradc.compile(step.model)
    for number in range(first, last + 1):
        scalars = {"lr": np.array(0.125, np.float32), "step": np.array(number)}
        results = model.run({**BATCH, **scalars, **values})
        values = {name: results[new] for name, new in step.updates.items()}
    return values


def torch_step(
    optimizer: Optimizer, values: dict[str, np.ndarray], states: Any, number: int
) -> dict[str, Any]:
    """Return the parameters after one more step of torch with these states."""
    torch = pytest.importorskip("torch")
    parameters = {name: torch.nn.Parameter(torch.tensor(values[name])) for name in states}
    made = getattr(torch.optim, type(optimizer).__name__)(
        list(parameters.values()), lr=0.125, **vars(optimizer)
    )
    taken = made.state_dict()
    taken["state"] = {
        index: {"step": torch.tensor(float(number - 1)), **{k: torch.tensor(v) for k, v in state.items()}}
        for index, state in enumerate(states.values())
    }
    made.load_state_dict(taken)
    x, label = torch.tensor(BATCH["x"]), torch.tensor(BATCH["label"])
    h = torch.tanh(x @ parameters["fc1.weight"] + parameters["fc1.bias"])
    torch.nn.functional.cross_entropy(h @ parameters["fc2.weight"], label).backward()
    made.step()
    return {name: value.detach().numpy() for name, value in parameters.items()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda one: type(one).__name__)
def test_torch_continues_from_the_states_of_a_step(optimizer: Optimizer):
    step = gradc.train_step(network(), loss=gradc.losses.CrossEntropy(), optimizer=optimizer, check=False)
    third = run(step, dict(step.initial), 1, 3)
    states = step.torch_states(third)
    for name, value in torch_step(optimizer, third, states, 4).items():
        np.testing.assert_allclose(run(step, third, 4, 4)[name], value, rtol=1e-10, err_msg=name)
    for name, value in step.states_of_torch(states).items():
        np.testing.assert_allclose(value, third[name], rtol=1e-14, err_msg=name)


def test_chunks_have_the_shape_of_the_parameter():
    rng = np.random.default_rng(0)
    weight = onnx.numpy_helper.from_array(rng.normal(size=(640, 480)).astype(np.float32), "w")
    text = '<ir_version: 9, opset_import: ["": 18]> m (float[N,640] x) => (float[N,480] y) {y = MatMul(x, w)}'
    model = onnx.parser.parse_model(text)
    model.graph.initializer.append(weight)
    step = gradc.train_step(model, loss=gradc.losses.MSE(), optimizer=AdamW(), trainable="w", check=False)
    assert step.initial["w.exp_avg"].shape == (5, 61440)
    states = step.torch_states(step.initial)
    assert states["w"]["exp_avg"].shape == (640, 480)
    assert step.states_of_torch(states)["w.exp_avg"].shape == (5, 61440)


def test_missing_states_and_wrong_sizes():
    step = gradc.train_step(network(), loss=gradc.losses.CrossEntropy(), optimizer=AdamW(), check=False)
    states = step.torch_states(step.initial)
    with pytest.raises(UsageError, match=r"the state exp_avg_sq of fc1.weight: given exp_avg, expected"):
        step.states_of_torch({**states, "fc1.weight": {"exp_avg": np.zeros((4, 5))}})
    with pytest.raises(UsageError, match=r"the state exp_avg of fc1.bias: given 4 elements, expected 5"):
        step.states_of_torch({**states, "fc1.bias": {"exp_avg": np.zeros(4), "exp_avg_sq": np.zeros(5)}})
