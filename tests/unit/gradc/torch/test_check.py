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
