"""Trainable weights of networks that torch exports are its parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from dialects.onnx.values import constant_of
from gradc.compiler.driver import load
from gradc.compiler.options import Options
from gradc.compiler.trainable_weights import find_weights
from gradc.derivatives.module import convert_to_onnx

torch: Any = pytest.importorskip("torch")
pytest.importorskip("onnxscript")
nn: Any = torch.nn

pytestmark = pytest.mark.filterwarnings("ignore")


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8)
        self.slope, self.up = nn.PReLU(8), nn.ConvTranspose2d(8, 4, 2, 2)
        self.groups, self.each = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.scale = nn.Parameter(torch.rand(4, 1, 1) + 0.5)
        self.head = nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        x = torch.nn.functional.relu6(self.slope(self.norm(self.conv(x))))
        x = self.each(self.groups(self.up(x))) * self.scale
        return self.head(x.mean((2, 3)).clamp(-1.5, 2.5))


class Transformer(nn.Module):
    """A class token, learned positions, a causal mask, and encoder layers."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, 4)
        self.cls_token, self.positions = (nn.Parameter(torch.randn(1, n, 16)) for n in (1, 17))
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu") for _ in range(2)
        )
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 4)
        self.register_buffer("mask", torch.triu(torch.full((17, 17), -1e4), 1))

    def forward(self, x: Any) -> Any:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x, src_mask=self.mask)
        return self.head(self.norm(x)[:, 0])


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 8)
        self.lstm = nn.LSTM(8, 6, 2, batch_first=True)
        self.both = nn.LSTM(6, 5, bidirectional=True, batch_first=True)
        self.gru, self.rnn = nn.GRU(10, 6, batch_first=True), nn.RNN(6, 4, batch_first=True)
        self.out = nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        for layer in (self.lstm, self.both, self.gru, self.rnn):
            x = layer(self.words(x) if layer is self.lstm else x)[0]
        return self.out(x)


class Language(nn.Module):
    """Root mean squares, a temperature, rotations by buffers, sinusoidal positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.q, self.k, self.v = nn.Linear(16, 16, bias=False), nn.Linear(16, 16), nn.Linear(16, 16)
        self.gain, self.temperature = nn.Parameter(torch.rand(16) + 0.5), nn.Parameter(torch.tensor(1.3))
        self.head = nn.Linear(16, 50, bias=False)
        angles = torch.arange(12.0)[:, None] / 10000 ** (torch.arange(0, 16, 2.0) / 16)
        self.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[None])

    def forward(self, x: Any) -> Any:
        x = self.words(x) + self.pe
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.gain
        scores = self.q(x) @ self.k(x).transpose(1, 2) / 4 * self.temperature
        return self.head(x + scores.softmax(-1) @ self.v(x))


NETWORKS = {net.__name__: net for net in (Convolutions, Transformer, Recurrent, Language)}
EXPORTS: dict[str, dict[str, Any]] = {
    "script": {"dynamo": False, "opset_version": 17},
    "script-raw": {
        "dynamo": False,
        "opset_version": 17,
        "training": torch.onnx.TrainingMode.TRAINING,
        "do_constant_folding": False,
    },
    "dynamo": {"dynamo": True, "opset_version": 18, "verbose": False, "external_data": False},
    "dynamo-raw": {
        "dynamo": True,
        "opset_version": 18,
        "verbose": False,
        "external_data": False,
        "optimize": False,
    },
}
FOLDED = {"norm.weight", "norm.bias"}
"""Parameters of the BatchNormalization that an exporter folds into the convolution."""


def export_network(name: str, export: str, path: Path) -> tuple[Any, Any]:
    """Export a network whose parameters differ, and return it with its input."""
    torch.manual_seed(0)
    network = NETWORKS[name]()
    for parameter in network.parameters():  # exporters merge equal ones
        parameter.data += torch.rand_like(parameter)
    has_images = name in ("Convolutions", "Transformer")
    x = torch.randn(2, 3, 16, 16) if has_images else torch.randint(0, 30, (2, 12))
    network.train(export == "script-raw")
    torch.onnx.export(network, (x,), str(path), input_names=["x"], **EXPORTS[export])
    return network, x


def in_form_of_the_file(values: list[np.ndarray], stored: str) -> np.ndarray:
    """Return parameters as the file stores them; reordered ones are sorted."""
    if stored == "transposed":
        return values[0].T
    if stored == "reordered":
        return np.sort(np.concatenate([value.ravel() for value in values]))
    return values[0]


@pytest.mark.sweep
@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize("name", NETWORKS)
def test_trainable_weights_are_the_parameters(name: str, export: str, tmp_path: Path):
    network, _ = export_network(name, export, tmp_path / "m.onnx")
    module = convert_to_onnx(load(tmp_path / "m.onnx", for_gradients=()), Options())
    weights = [one for one in find_weights(module).values() if one.is_trainable]
    found = {other for one in weights for other in one.source.names or [one.name]}
    parameters = {parameter: value.detach().numpy() for parameter, value in network.named_parameters()}
    folded = FOLDED if name == "Convolutions" and not export.endswith("raw") else set[str]()
    assert parameters.keys() - folded <= found
    assert found - parameters.keys() <= {"conv.bias"} if folded else found == parameters.keys()
    for one in weights:
        array, stored = constant_of(one.value), one.source.stored
        assert array is not None
        if stored != "folded" and not (folded and one.name == "conv.weight"):
            expected = in_form_of_the_file([parameters[n] for n in one.source.names or [one.name]], stored)
            array = np.sort(array, None) if stored == "reordered" else array
            array = array.ravel() if stored == "reshaped" else array
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize("export", ["script", "dynamo"])
def test_gradients_by_all_weights_are_those_of_autograd(export: str, tmp_path: Path):
    network, x = export_network("Language", export, tmp_path / "m.onnx")
    found = gradc.grad(tmp_path / "m.onnx", wrt=":weights", reduce="mean", check=False)
    network(x).mean().backward()
    sources = find_weights(load(tmp_path / "m.onnx", for_gradients=()))
    results = found.run({"x": x.numpy()})
    gradients = {parameter: value.grad.numpy() for parameter, value in network.named_parameters()}
    assert len(results) == len(gradients)
    for name, result in found.gradients.items():
        source = sources[name].source
        expected = in_form_of_the_file([gradients[n] for n in source.names or [name]], source.stored)
        np.testing.assert_allclose(results[result], expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
