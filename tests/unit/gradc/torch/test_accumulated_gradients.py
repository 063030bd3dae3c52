"""Gradients that an earlier call left in leaf tensors: models start without, as after `zero_grad()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc

torch: Any = pytest.importorskip("torch")

LINEAR = torch.nn.Linear(3, 2)
FACTOR = torch.ones(3, requires_grad=True)
OPTIMIZER = torch.optim.SGD(LINEAR.parameters(), lr=0.1)
LEAVES = (*LINEAR.parameters(), FACTOR)
X = torch.linspace(-1, 1, 12).reshape(4, 3)


def saliency(x: Any) -> Any:
    x = x.detach().requires_grad_()
    LINEAR(x * FACTOR).square().sum().backward()
    return x.grad


def by_weight(x: Any) -> Any:
    LINEAR(x).square().sum().backward()
    return LINEAR.weight.grad


def by_weight_from_zero(x: Any) -> Any:
    LINEAR.zero_grad()
    return by_weight(x)


def by_factor(x: Any) -> Any:
    (x * FACTOR).square().sum().backward()
    return FACTOR.grad


def clear() -> None:
    for leaf in LEAVES:
        leaf.grad = None


@pytest.mark.parametrize("was_called", [False, True])
@pytest.mark.parametrize(
    ("function", "adds"),
    [(saliency, False), (by_weight, True), (by_weight_from_zero, False), (by_factor, True)],
)
def test_each_run_starts_without_gradients(function: Callable[..., Any], adds: bool, was_called: bool):
    clear()
    expected = function(X).clone()
    if not was_called:
        clear()
    before = [None if leaf.grad is None else leaf.grad.clone() for leaf in LEAVES]
    compiled = gradc.torch.export(function, (X,))
    (found,) = compiled.run({compiled.inputs[0].name: X.numpy()}).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert any("zero_grad" in remark.message for remark in compiled.remarks) == adds
    for leaf, gradient in zip(LEAVES, before, strict=True):
        assert (leaf.grad is None) == (gradient is None)
        assert gradient is None or torch.equal(leaf.grad, gradient)


def step_that_adds(x: Any) -> Any:
    loss = LINEAR(x).square().sum()
    loss.backward()
    OPTIMIZER.step()
    return loss


def step_from_zero(x: Any) -> Any:
    OPTIMIZER.zero_grad()
    return step_that_adds(x)


@pytest.mark.parametrize("was_called", [False, True])
def test_a_step_that_adds_to_the_gradients_of_the_step_before_is_refused(was_called: bool):
    clear()
    if was_called:
        saliency(X)
    assert gradc.torch.train_step(step_from_zero, (X,)).updates
    with pytest.raises(gradc.GradcError, match="zero_grad") as caught:
        gradc.torch.train_step(step_that_adds, (X,))
    position = caught.value.diagnostic.position
    assert position is not None
    assert position.file == __file__
