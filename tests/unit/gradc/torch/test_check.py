"""The comparison of an exported model with its function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from dialects.support.diagnostics import GradcError
from gradc.torch.export_function import export
from passes.lower_aten import lower_aten


class Normalized(torch.nn.Module):
    """The gradient of a batch norm in training mode, by its input only."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x: Any) -> Any:
        return torch.autograd.grad(self.norm(x).tanh().sum(), x)[0]


def test_an_empty_batch_leaves_running_statistics_as_they_are():
    model = Normalized()
    model.norm.running_mean += 0.5
    compiled = export(model, (torch.randn(6, 3, requires_grad=True),), dynamic_shapes=({0: "N"},))
    found = compiled.run({"x": np.zeros((0, 3), np.float32)})
    assert found["new_norm.running_mean"].tolist() == [0.5] * 3
    assert found["new_norm.running_var"].tolist() == [1.0] * 3


def test_the_first_op_that_differs_is_named(monkeypatch: pytest.MonkeyPatch):
    wrong = {**lower_aten.RULES, "tanh.default": lambda f, e: f.self}
    monkeypatch.setattr(lower_aten, "RULES", wrong)
    with pytest.raises(GradcError, match=r"test_check\.py:\d+:1: .*aten\.tanh\.default.* first to differ"):
        export(Normalized(), (torch.randn(6, 3, requires_grad=True),))


def test_a_gradient_of_zero_may_differ_by_roundings_of_float64():
    """No sum of differences depends on the bias: torch's gradient by it is noise, gradc's is other noise."""
    layer = torch.nn.Linear(4, 3).double()

    def spread(x: Any) -> Any:
        z = layer(x)
        loss = (torch.cdist(z, z) ** 3).sum()
        return torch.autograd.grad(loss, (layer.weight, layer.bias))

    assert export(spread, (torch.randn(7, 4).double(),)).outputs


def test_a_small_result_is_compared_all_the_same(monkeypatch: pytest.MonkeyPatch):
    wrong = {**lower_aten.RULES, "sin.default": lambda f, e: f.self * 1e-6}
    monkeypatch.setattr(lower_aten, "RULES", wrong)
    with pytest.raises(GradcError, match=r"aten\.sin\.default.* first to differ"):
        export(lambda x: (x, x.sin()), (torch.zeros(3).double() + 1e-3,))


class Averaged(torch.nn.Module):
    """A batch norm whose running statistics are means over all batches."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm2d(3, momentum=None)

    def forward(self, x: Any) -> Any:
        return torch.autograd.grad(self.norm(x).tanh().sum(), x)[0]


def test_means_over_all_batches():
    """Each call divides by its own counter."""
    model, x = Averaged(), torch.randn(5, 3, 2, 2, requires_grad=True)
    compiled = export(model, (x,), dynamic_shapes=({0: "N"},))
    state = {}
    for _ in range(3):
        found = compiled.run({"x": x.detach().numpy(), **state})
        state = {name.removeprefix("new_"): found[name] for name in found if name.startswith("new_")}
        expected = model(x)
        assert np.allclose(found["output"], expected.numpy(), atol=1e-5)
    assert np.allclose(state["norm.running_var"], model.norm.running_var.numpy(), atol=1e-5)
    assert state["norm.num_batches_tracked"] == 3


def test_an_exception_of_the_run_by_torch_names_its_line():
    with pytest.raises(GradcError, match=r"test_check\.py:\d+:1: .* fails when torch runs it"):
        export(lambda x: torch.linalg.cholesky(x - 9 * torch.eye(3)), (torch.eye(3),))


def test_slices_of_slices_at_all_sizes():
    """The sizes n - 3 of the results are 0 below 3."""

    def windows(x: Any) -> Any:
        return torch.diff(x, n=3, dim=0), x[1:][1:][1:] - x[2:][:-1], torch.diff(x, dim=1, prepend=x[:, :1])

    compiled = export(windows, (torch.randn(6, 3),), dynamic_shapes=({0: "n"},))
    for n in (0, 1, 2, 3, 4, 9):
        x = torch.randn(n, 3)
        for found, wanted in zip(compiled.run({"x": x.numpy()}).values(), windows(x), strict=True):
            assert np.allclose(found, wanted.numpy(), atol=1e-6)


def test_distances_of_no_points():
    """The backward kernel of torch ends the process for them."""

    def energy(x: Any) -> Any:
        return torch.autograd.grad(torch.pdist(x).sin().sum(), x)[0]

    x = torch.randn(4, 3, requires_grad=True)
    compiled = export(energy, (x,), dynamic_shapes=({0: "n"},))
    assert compiled.run({"x": np.zeros((0, 3), np.float32)})["output"].shape == (0, 3)
