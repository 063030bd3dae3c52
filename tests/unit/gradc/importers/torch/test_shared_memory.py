"""Arguments that share memory: refused where a model, whose inputs share none, computes something else."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture  # noqa: E402

from dialects.support.diagnostics import GradcError  # noqa: E402


def product_slope(x: Any, y: Any) -> Any:
    return torch.autograd.grad((x * y).sum(), x)


def change_second(x: Any, y: Any) -> Any:
    y.add_(1)
    return x * 2


def add(x: Any, y: Any) -> Any:
    return x + y


def test_one_leaf_given_twice_is_refused():
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(GradcError, match=r"test_shared_memory.py:\d+:.*x and y are one tensor"):
        capture(product_slope, (x, x))
    capture(product_slope, (x, x.detach().clone().requires_grad_()))


def test_a_change_of_shared_memory_is_refused():
    x = torch.arange(6.0)
    with pytest.raises(GradcError, match="changes y in place, which shares memory with x"):
        capture(change_second, (x, x[2:4]))
    capture(change_second, (x[:3], x[3:]))


def test_arguments_that_are_read_only_may_share_memory():
    x = torch.ones(3)
    capture(add, (x, x))
    capture(add, (x, x[:1]))
