"""A capture leaves the tensors of the user's modules as they are."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture  # noqa: E402


class Counting(torch.nn.Module):
    """Changes a scalar, a buffer and a parameter by numbers and by its input."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.tensor(0.0))
        self.register_buffer("total", torch.zeros(3))
        self.weight = torch.nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        with torch.no_grad():
            self.calls += 1
            self.total += x
            self.weight.mul_(0.9)
        return x * self.weight * self.calls


def test_changes_in_place_are_results_and_change_nothing():
    module = Counting()
    graph = capture(module, (torch.ones(3),))
    assert set(graph.updates) == {"calls", "total", "weight"}
    assert float(module.calls) == 0
    assert module.total.tolist() == [0, 0, 0]
    assert module.weight.tolist() == [1, 1, 1]
