"""20 steps of each optimizer on onnxruntime against torch in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.training_steps import Arrays, Steps

from gradc.optim import SGD, Adam, AdamW, Optimizer

torch = pytest.importorskip("torch")

STEPS, LR = 20, 0.125

CASES: list[tuple[Optimizer, str]] = [
    (SGD(), "SGD"),
    (SGD(weight_decay=0.1), "SGD"),
    (SGD(momentum=0.9), "SGD"),
    (SGD(momentum=0.9, dampening=0.3, maximize=True), "SGD"),
    (SGD(momentum=0.9, nesterov=True, weight_decay=0.1), "SGD"),
    (Adam(), "Adam"),
    (Adam(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1), "Adam"),
    (Adam(amsgrad=True, maximize=True), "Adam"),
    (Adam(betas=(0.0, 0.0), eps=1e-3), "Adam"),
    (AdamW(), "AdamW"),
    (AdamW(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.3), "AdamW"),
    (AdamW(weight_decay=0, amsgrad=True, maximize=True), "AdamW"),
]

SHAPES = {"w": (3, 4), "layer.0.bias": (1,), "scale": (), "none": (0, 3), "large": (64, 40)}


def draw(dtype: type, seed: int = 0) -> tuple[Arrays, Sequence[Arrays]]:
    """Return parameters, and the gradients of all steps."""
    rng = np.random.default_rng(seed)
    start, *gradients = [
        {name: rng.normal(size=shape).astype(dtype) for name, shape in SHAPES.items()}
        for _ in range(1 + STEPS)
    ]
    return start, gradients


def torch_steps(
    name: str, options: dict[str, Any], start: Arrays, gradients: Sequence[Arrays]
) -> tuple[Arrays, Any]:
    """Return the parameters after all steps in float64, and torch's optimizer."""
    values = {key: torch.nn.Parameter(torch.tensor(array.astype(np.float64))) for key, array in start.items()}
    optimizer = getattr(torch.optim, name)(list(values.values()), lr=LR, **options)
    for one in gradients:
        for key, value in values.items():
            value.grad = torch.tensor(one[key].astype(np.float64))
        optimizer.step()
    return {key: value.detach().numpy() for key, value in values.items()}, (optimizer, values)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("optimizer", "name"), CASES, ids=lambda one: str(one))
def test_parameters_and_states_are_torchs(optimizer: Optimizer, name: str, dtype: type):
    start, gradients = draw(dtype)
    expected, (of_torch, values) = torch_steps(name, vars(optimizer), start, gradients)
    steps = Steps(start, optimizer)
    found = steps.run_all(gradients, LR)
    largest = max(np.abs(array).max(initial=1) for array in expected.values())
    bound = 1e-10 if dtype is np.float64 else STEPS * np.finfo(dtype).eps * (largest + 8 * LR)
    for key, array in expected.items():
        assert found[key].dtype == dtype
        np.testing.assert_allclose(found[key], array, rtol=0, atol=bound)
        for slot in optimizer.slots(steps.types[key]):
            np.testing.assert_allclose(
                found[f"{key}.{slot}"], of_torch.state[values[key]][slot].numpy(), rtol=0, atol=8 * bound
            )
