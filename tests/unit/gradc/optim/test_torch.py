"""20 steps of each optimizer against torch in float64: onnxruntime, and the numpy reference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from support.training_steps import Arrays, Steps, draw

from gradc.optim import SGD, Adagrad, Adam, AdamW, Lion, Optimizer, RMSprop

torch = pytest.importorskip("torch")

STEPS, LR = 20, 0.125

OPTIMIZERS: list[Optimizer] = [
    SGD(),
    SGD(weight_decay=0.1),
    SGD(momentum=0.9),
    SGD(momentum=0.9, dampening=0.3, maximize=True),
    SGD(momentum=0.9, nesterov=True, weight_decay=0.1),
    Adam(),
    Adam(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.1, maximize=True),
    Adam(amsgrad=True),
    Adam(betas=(0.0, 0.0), eps=1e-3),
    AdamW(),
    AdamW(betas=(0.8, 0.99), eps=1e-3, weight_decay=0.3),
    AdamW(weight_decay=0, amsgrad=True, maximize=True),
    RMSprop(),
    RMSprop(alpha=0.9, eps=1e-3, weight_decay=0.1, momentum=0.8, centered=True, maximize=True),
    Adagrad(),
    Adagrad(lr_decay=0.1, weight_decay=0.1, initial_accumulator_value=0.5, eps=1e-3, maximize=True),
    Lion(),
    Lion(betas=(0.8, 0.95), weight_decay=0.1, maximize=True),
    Lion(betas=(0.0, 0.0)),
]

SHAPES = {"layer.0.weight": (64, 40), "bias": (1,), "none": (0, 3)}


class TorchLion(torch.optim.Optimizer):
    """Lion as its paper states it."""

    def __init__(self, parameters: Any, lr: float, betas: Any, weight_decay: float, maximize: bool):
        super().__init__(parameters, {"lr": lr})
        self.betas, self.weight_decay, self.sign = betas, weight_decay, -1 if maximize else 1

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                g, (first, second) = p.grad * self.sign, self.betas
                p.mul_(1 - group["lr"] * self.weight_decay)
                p.sub_(group["lr"] * torch.sign(first * m + (1 - first) * g))
                m.mul_(second).add_(g, alpha=1 - second)


def torch_values(optimizer: Optimizer, start: Arrays, gradients: Sequence[Arrays]) -> Arrays:
    """Return the parameters and states after all steps in float64."""
    values = {
        name: torch.nn.Parameter(torch.tensor(array.astype(np.float64))) for name, array in start.items()
    }
    kind = type(optimizer).__name__
    made: Any = TorchLion if kind == "Lion" else getattr(torch.optim, kind)
    of_torch = made(list(values.values()), lr=LR, **vars(optimizer))
    for one in gradients:
        for name, value in values.items():
            value.grad = torch.tensor(one[name].astype(np.float64))
        of_torch.step()
    found = {name: value.detach().numpy() for name, value in values.items()}
    for name, value in values.items():
        for slot, state in of_torch.state[value].items():
            if slot != "step" and state is not None:
                found[f"{name}.{slot}"] = state.numpy()
    return found


@pytest.mark.sweep(entries=r"\w+")
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_parameters_and_states_are_torchs(optimizer: Optimizer):
    start, gradients = draw(SHAPES, [np.float32, np.float64], STEPS)
    steps = Steps(start, optimizer)
    expected = torch_values(optimizer, start, gradients)
    of_reference, _ = steps.reference(gradients, LR)
    for state in steps.states:
        value = of_reference[state.name]
        of_reference[state.name] = state.to_torch(value, start[state.parameter])
        np.testing.assert_allclose(state.from_torch(of_reference[state.name]), value, rtol=1e-6)
    assert of_reference.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(of_reference[name], value, rtol=1e-11, atol=1e-12, err_msg=name)
    steps.check(gradients, LR)
    for name, value in start.items():
        assert steps.values[name].dtype == value.dtype


def test_clip_of_the_global_norm():
    start, gradients = draw({"w": (3, 4), "b": (2,), "scale": ()}, [np.float64], 1)
    values = [torch.nn.Parameter(torch.tensor(start[name])) for name in start]
    for value, gradient in zip(values, gradients[0].values(), strict=True):
        value.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_(values, 0.5)
    torch.optim.SGD(values, lr=LR).step()
    found = Steps(start, SGD(), clip=0.5).run_all(gradients, LR)
    for name, value in zip(start, values, strict=True):
        np.testing.assert_allclose(found[name], value.detach(), rtol=1e-13)


def test_ema_is_torchs():
    start, gradients = draw({"w": (3, 4)}, [np.float64], 5)
    model = torch.nn.ParameterDict({"w": torch.tensor(start["w.float64"])})
    average = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=_ema(0.8))
    average.update_parameters(model)
    of_torch = torch.optim.SGD(model.parameters(), lr=LR)
    for one in gradients:
        model["w"].grad = torch.tensor(one["w.float64"])
        of_torch.step()
        average.update_parameters(model)
    found = Steps(start, SGD(), ema=0.8).run_all(gradients, LR)
    np.testing.assert_allclose(found["w.float64.ema"], average.module["w"].detach(), rtol=1e-13)


def _ema(decay: float) -> Any:
    return torch.optim.swa_utils.get_ema_multi_avg_fn(decay)
