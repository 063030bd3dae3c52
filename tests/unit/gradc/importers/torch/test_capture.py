"""Captures with fixed sizes, evaluated by torch's ops and compared with the functions."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

from support.captured_graphs import capture, evaluate  # noqa: E402

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
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    before = {name: tensor.detach().clone() for name, tensor in state.items()}
    graph = capture(module, (x,))
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name])
    outputs, updates = evaluate(graph, (x,), before)
    assert module.count is state["count"]
    assert all(parameter.grad is None for parameter in module.parameters())
    for found, wanted in zip(outputs, module(x), strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)
    assert set(updates) == {"count", "norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}
    for name, tensor in module.named_buffers():
        torch.testing.assert_close(updates[name], tensor)


def statistics(x: Any) -> Any:
    half = x[: len(x) // 2]
    return F.pad(half, (0, 1)).sum() / len(x), torch.cat([x, half]).flatten(), 1 / len(x) * x.T


@pytest.mark.parametrize("count", [5, 6, 7, 100])
def test_sizes_are_expressions_of_the_dims(count: int):
    graph = capture(statistics, (torch.randn(5, 3),), dynamic_shapes={"x": {0: "N"}})
    assert graph.dims == {"N": 5}
    x = torch.randn(count, 3)
    outputs, _ = evaluate(graph, (x,))
    for found, wanted in zip(outputs, statistics(x), strict=True):
        torch.testing.assert_close(found, wanted)


def test_literals_of_sizes_are_ops():
    def scaled(x: Any) -> Any:
        return x / torch.tensor(len(x)) + torch.tensor([1.0, 1 / len(x), 3.0])

    graph = capture(scaled, (torch.randn(5, 3),), dynamic_shapes=({0: torch.export.Dim("N", min=2)},))
    x = torch.randn(11, 3)
    torch.testing.assert_close(evaluate(graph, (x,))[0][0], scaled(x))


def test_strided_convolutions_are_right_at_sizes_that_were_not_traced():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3, 2, 1),
        torch.nn.MaxPool2d(3, 2, 1, ceil_mode=True),
        torch.nn.Conv2d(4, 2, 2, 2),
    )

    def saliency(image: Any) -> Any:
        image = image.detach().requires_grad_()
        return torch.autograd.grad(net(image).flatten(1).square().mean(), image)

    shapes = {"image": {0: "B", 2: "H", 3: "W"}}
    graph = capture(saliency, (torch.randn(2, 3, 32, 32),), dynamic_shapes=shapes)
    state = {name: parameter.detach() for name, parameter in net.named_parameters()}
    for size in (29, 30, 31, 33, 47):
        image = torch.randn(1, 3, size, size + 3)
        torch.testing.assert_close(evaluate(graph, (image,), state)[0][0], saliency(image)[0])
