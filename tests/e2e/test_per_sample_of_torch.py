"""Derivatives per sample of exported models against torch.func."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

nn = torch.nn


class Attention(nn.Module):
    """A transformer layer with a class token."""

    def __init__(self) -> None:
        super().__init__()
        self.token = nn.Parameter(torch.randn(1, 1, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        tokens = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1)
        return self.head(self.layer(tokens)[:, 0])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(9, 6)
        self.head = nn.Linear(6, 3)

    def forward(self, ids: Any) -> Any:
        return self.head(torch.tanh(self.table(ids)).mean(1))


def distinct(module: Any) -> Any:
    """Return a module whose parameters differ, as the exporter merges equal ones."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += torch.randn_like(parameter) / 10
    return module.eval()


def mlp() -> Any:
    return nn.Sequential(nn.Linear(4, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 3))


def cnn() -> Any:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.GroupNorm(2, 4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3, groups=2),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


FLOATS: dict[str, tuple[Callable[[], Any], tuple[int, ...]]] = {
    "mlp": (mlp, (4,)),
    "cnn": (cnn, (2, 6, 6)),
    "attention": (Attention, (5, 8)),
    "lstm": (Recurrent, (6, 4)),
}


class Loss(nn.Module):
    """The mean of the losses of all samples, as a training script computes it."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Any, labels: Any) -> Any:
        return nn.functional.cross_entropy(self.network(x), labels)


def export(module: Any, inputs: tuple[Any, ...], path: Path, *, dynamic: bool) -> Path:
    batch = torch.export.Dim("batch")
    shapes = tuple({0: batch} for _ in inputs) if dynamic else None
    torch.onnx.export(module, inputs, path, dynamo=True, dynamic_shapes=shapes, verbose=False)
    return path


def of_each(function: Callable[..., Any], module: Any, *batched: Any) -> Mapping[str, np.ndarray]:
    """The derivative of a function of parameters and one sample by the parameters, for each sample."""
    parameters = {name: one.detach() for name, one in module.named_parameters()}
    axes = (None, *(0 for _ in batched))
    found = torch.func.vmap(function, axes)(parameters, *batched)
    return {name: array.detach().numpy() for name, array in found.items()}


@pytest.mark.sweep
@pytest.mark.parametrize("batch", ["dynamic", 1, 4])
@pytest.mark.parametrize("name", FLOATS)
def test_gradients_of_a_loss(name: str, batch: str | int, tmp_path: Path):
    torch.manual_seed(0)
    make, shape = FLOATS[name]
    count = batch if isinstance(batch, int) else 3
    network = distinct(make())
    x, labels = torch.randn(count, *shape), torch.arange(count) % 3
    loss = Loss(network).eval()
    path = export(loss, (x, labels), tmp_path / "loss.onnx", dynamic=batch == "dynamic")
    found = gradc.grad(path, wrt=":weights", per_sample=True)
    results = found.run({"x": x.numpy(), "labels": labels.numpy()})

    def one(parameters: Any, x: Any, label: Any) -> Any:
        return torch.func.functional_call(loss, parameters, (x[None], label[None]))

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = of_each(torch.func.grad(one), loss, x, labels) if name != "lstm" else None
    if expected is None:
        expected = single_gradients(loss, x, labels)
    assert found.proof is not None
    named = found.gradients.keys() & expected.keys()
    renamed = {"cnn": 2, "lstm": 4, "attention": 4}.get(name, 0)  # by the exporter, at most
    assert len(named) >= len(expected) - renamed
    for weight in named:
        result = found.gradients[weight]
        np.testing.assert_allclose(results[result], expected[weight], rtol=1e-3, atol=2e-5, err_msg=weight)


def single_gradients(loss: Any, x: Any, labels: Any) -> Mapping[str, np.ndarray]:
    """The gradients of single samples, for a module that torch cannot map over."""
    rows: dict[str, list[np.ndarray]] = {}
    for index in range(len(x)):
        loss.zero_grad()
        loss(x[index : index + 1], labels[index : index + 1]).backward()
        for name, one in loss.named_parameters():
            rows.setdefault(name, []).append(one.grad.numpy().copy())
    return {name: np.stack(arrays) for name, arrays in rows.items()}


@pytest.mark.parametrize("name", ["mlp", "cnn", "attention"])
def test_jacobians(name: str, tmp_path: Path):
    torch.manual_seed(0)
    make, shape = FLOATS[name]
    network, x = distinct(make()), torch.randn(3, *shape)
    path = export(network, (x,), tmp_path / "network.onnx", dynamic=True)
    found = gradc.jacobian(path, wrt=":inputs", per_sample=True)
    (result,) = found.outputs
    given = {found.inputs[0].name: x.numpy()}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        expected = torch.func.vmap(torch.func.jacrev(lambda one: network(one[None])[0]))(x)
    np.testing.assert_allclose(found.run(given)[result.name], expected.detach().numpy(), rtol=1e-3, atol=2e-5)


def test_an_embedding(tmp_path: Path):
    torch.manual_seed(0)
    network, ids = distinct(Words()), torch.tensor([[1, 2, 3], [3, 3, 0], [4, 8, 1]])
    path = export(network, (ids,), tmp_path / "words.onnx", dynamic=True)
    found = gradc.jacobian(path, wrt="table.weight", per_sample=True)

    def one(parameters: Any, ids: Any) -> Any:
        return torch.func.functional_call(network, parameters, (ids[None],))[0]

    expected = of_each(torch.func.jacrev(one), network, ids)["table.weight"]
    got = found.run({"ids": ids.numpy()})[found.gradients["table.weight"]]
    np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5)
