"""Functions that leave tensors in Python objects, which their next call may read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture  # noqa: E402

import gradc  # noqa: E402
from dialects.support.diagnostics import GradcError  # noqa: E402


class Remembering(torch.nn.Module):
    """Keeps a value of its first call, which all later ones read."""

    def __init__(self) -> None:
        super().__init__()
        self.memory: Any = None

    def forward(self, x: Any) -> Any:
        if self.memory is None:
            self.memory = x.sum(0)
        return x * self.memory


class Recording(torch.nn.Module):
    """Keeps a value that each call writes before it reads it, as hooks of Grad-CAM do."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)
        self.seen: Any = None
        self.layer.register_forward_hook(self._see)

    def _see(self, _: Any, given: Any, result: Any) -> None:
        self.seen = result

    def forward(self, x: Any) -> Any:
        return torch.autograd.grad(self.layer(x).pow(2).sum(), self.seen)[0]


def growing_list() -> Callable[[Any], Any]:
    kept: list[Any] = []

    def call(x: Any) -> Any:
        kept.append(x.sum())
        return x * len(kept)

    return call


def cache_by_size() -> Callable[[Any], Any]:
    tables: dict[int, Any] = {}

    def call(x: Any) -> Any:
        if len(x) not in tables:
            tables[len(x)] = torch.arange(len(x)).float()
        return x * tables[len(x)][:, None]

    return call


@pytest.mark.parametrize("function", [Remembering(), growing_list()], ids=["attribute", "list"])
def test_values_of_an_earlier_call_are_refused(function: Any):
    with pytest.raises(GradcError, match=r"test_second_calls.py:\d+:1: error: the function (reads|leaves) a"):
        capture(function, (torch.ones(4, 3),), dynamic_shapes=({0: "N"},))


@pytest.mark.parametrize("function", [Recording(), cache_by_size()], ids=["hook", "cache"])
def test_what_no_later_call_depends_on_is_exported(function: Any):
    x = torch.randn(4, 3).requires_grad_()
    found = gradc.torch.export(function, (x,), dynamic_shapes=({0: "N"},))
    more = torch.randn(7, 3).requires_grad_()
    expected = function(more).detach()
    assert torch.allclose(torch.from_numpy(found.run({"x": more.detach().numpy()})["output"]), expected)
