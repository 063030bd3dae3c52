"""`torch.cond`, `scan` and `while_loop` in captured functions: right at both branches, or refused."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch._higher_order_ops import scan, while_loop  # noqa: E402

from dialects.support.diagnostics import UnsupportedError  # noqa: E402
from gradc.torch import export  # noqa: E402


def choose(x, y):
    """The branch with the root has infinite derivatives where the other one is taken."""
    made = torch.cond(
        x.sum() > 0, lambda a, b: (a.sqrt() * b).sum(), lambda a, b: (a**2 * b.exp()).sum(), (x, y)
    )
    first = torch.autograd.grad(made, (x, y), create_graph=True)
    return made, *first, torch.autograd.grad(first[0].sum(), x)[0]


def test_results_and_two_orders_of_gradients_are_those_of_the_branch_that_is_taken():
    """The reference is an `if`: torch itself has no second derivative of `torch.cond`."""
    x, y = torch.tensor([0.5, 2.0, 1.0]), torch.tensor([0.1, -1.0, 3.0])
    compiled = export(choose, (x.clone().requires_grad_(), y.clone().requires_grad_()), check=False)
    for given in (x, -x, torch.zeros(3)):
        found = compiled.run({"x": given.numpy(), "y": y.numpy()}).values()
        leaves = given.clone().requires_grad_(), y.clone().requires_grad_()
        for mine, torchs in zip(found, choose_eagerly(*leaves), strict=True):
            assert np.allclose(mine, torchs.detach(), rtol=1e-5, atol=1e-6)


def choose_eagerly(x, y):
    made = (x.sqrt() * y).sum() if x.sum() > 0 else (x**2 * y.exp()).sum()
    first = torch.autograd.grad(made, (x, y), create_graph=True)
    return made, *first, torch.autograd.grad(first[0].sum(), x)[0]


def test_a_branch_may_close_over_weights_but_not_be_differentiated_then():
    layer, x = torch.nn.Linear(3, 3), torch.randn(2, 3)

    def call(x):
        return torch.cond(x.sum() > 0, lambda a: layer(a), lambda a: 2 * a, (x,))

    compiled = export(call, (x,), dynamic_shapes=({0: "n"},))
    for given in (x.abs(), -x.abs()):
        assert np.allclose(compiled.run({"x": given.numpy()})["output"], call(given).detach(), atol=1e-6)
    with pytest.raises(UnsupportedError, match=r"closes over a tensor .* pass the tensor as an operand"):
        export(lambda x: torch.autograd.grad(call(x).sum(), x), (x.clone().requires_grad_(),))


def test_a_scan_of_a_fixed_length_and_its_gradient():
    """Compared with a loop: torch 2.8 computes a wrong gradient."""

    def running(x):
        carried, rows = scan(lambda c, x: (c * 0.9 + x, (c * x).clone()), torch.zeros(3), x, reverse=True)
        return carried, rows, torch.autograd.grad(rows.sum() + carried.sum(), x)[0]

    def loop(x):
        carried, rows = torch.zeros(3), []
        for row in reversed(x):
            carried, rows = carried * 0.9 + row, [carried * row, *rows]
        stacked = torch.stack(rows)
        return carried, stacked, torch.autograd.grad(stacked.sum() + carried.sum(), x)[0]

    compiled = export(running, (torch.randn(4, 3, requires_grad=True),), check=False)
    x = torch.randn(4, 3, requires_grad=True)
    for found, wanted in zip(compiled.run({"x": x.detach().numpy()}).values(), loop(x), strict=True):
        assert np.allclose(found, wanted.detach(), atol=1e-6)


def test_loops_over_values_are_refused_at_their_line():
    def loop(x):
        return while_loop(lambda x: x.sum() < 10, lambda x: (x + 1,), (x,))

    with pytest.raises(UnsupportedError, match=r"test_branches.*number of steps of while_loop"):
        export(loop, (torch.rand(3),))
