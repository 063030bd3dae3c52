"""Captures with fixed sizes, evaluated by torch's ops and compared with the functions."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import evaluate  # noqa: E402

from gradc.importers.torch.capture import capture  # noqa: E402

F = torch.nn.functional


def energy_and_forces(x: Any) -> dict[str, Any]:
    distances = ((x[:, None] - x[None]).pow(2).sum(-1) + 1).sqrt()
    energy = distances.sum().tanh() + F.layer_norm(x, (3,)).pow(3).sum()
    return {"energy": energy, "forces": -torch.autograd.grad(energy, x)[0]}


def test_forces_are_captured():
    x = torch.randn(5, 3, requires_grad=True)
    graph = capture(energy_and_forces, (x,))
    assert [entry.name for entry in graph.inputs] == ["x"]
    assert [output.name for output in graph.outputs] == ["energy", "forces"]
    expected = energy_and_forces(x)
    outputs, updates = evaluate(graph, (x.detach(),))
    assert not updates
    for found, wanted in zip(outputs, expected.values(), strict=True):
        torch.testing.assert_close(found, wanted.detach())


def test_each_op_has_the_line_of_the_user():
    graph = capture(energy_and_forces, (torch.randn(5, 3, requires_grad=True),))
    first = energy_and_forces.__code__.co_firstlineno
    lines = {int(op.location.rpartition(":")[2]) - first for op in graph.ops}
    assert lines == {1, 2, 3}
    assert {op.location.rpartition(":")[0] for op in graph.ops} == {__file__}


class Counting(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: Any) -> Any:
        self.count = self.count + 1
        loss = self.norm(self.linear(x)).pow(3).sum()
        return torch.autograd.grad(loss, list(self.parameters()))


def test_buffers_that_change_are_updates():
    torch.manual_seed(0)
    module = Counting()
    x = torch.randn(5, 3)
    graph = capture(module, (x,))
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    outputs, updates = evaluate(graph, (x,), {name: t.detach().clone() for name, t in state.items()})
    assert module.count is state["count"]
    assert all(parameter.grad is None for parameter in module.parameters())
    for found, wanted in zip(outputs, module(x), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert set(updates) == {"count", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    for name, tensor in module.named_buffers():
        torch.testing.assert_close(updates[name], tensor)
