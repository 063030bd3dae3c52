"""Gradients of models as exporters write them against autograd in float64, also at other sizes than theirs.

Each test runs where its packages are: `pip install -e '.[exporters]' transformers scikit-learn skl2onnx`.
"""

from __future__ import annotations

import contextlib
import copy
import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import gradc

RNG = np.random.default_rng(0)


def close(found: np.ndarray, wanted: np.ndarray, bound: float = 1e-4) -> None:
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= bound * np.abs(wanted).max()


@pytest.fixture
def torch() -> Any:
    module = pytest.importorskip("torch")
    module.manual_seed(0)
    return module


def residual_network(torch: Any) -> Any:
    nn = torch.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
            self.wide = nn.Conv2d(8, 8, 3, 1, 1, groups=8)
            self.pool = nn.MaxPool2d(3, 2, 1)
            self.up = nn.Upsample(scale_factor=2, mode="bilinear")
            self.fc = nn.Linear(8, 5)

        def forward(self, x: Any) -> Any:
            x = self.stem(x)
            x = torch.relu(x + self.wide(x))
            return self.fc((x.mean() * self.up(self.pool(x))).mean((2, 3)))

    return Network()


def attention_block(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.qkv, self.fc = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            parts = (p.view(n, t, 2, 4).transpose(1, 2) for p in self.qkv(self.norm(x)).split(8, -1))
            seen = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
            return x + nn.functional.gelu(self.fc(seen.transpose(1, 2).reshape(n, t, 8)), approximate="tanh")

    return Block()


def recurrent_network(torch: Any) -> Any:
    nn = torch.nn

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cells, self.fc = nn.GRU(8, 6, batch_first=True, bidirectional=True), nn.Linear(12, 3)

        def forward(self, x: Any) -> Any:
            return self.fc(self.cells(x)[0])

    return Network()


def exported(torch: Any, network: Any, x: Any, axes: dict[int, str], exporter: str, path: Path) -> Path:
    given: dict[str, Any] = {"input_names": ["x"], "output_names": ["y"]}
    with contextlib.redirect_stdout(io.StringIO()):
        if exporter == "script":
            torch.onnx.export(
                network, (x,), str(path), dynamo=False, opset_version=16, dynamic_axes={"x": axes}, **given
            )
        else:
            pytest.importorskip("onnxscript")
            sizes = (dict.fromkeys(axes, torch.export.Dim.DYNAMIC),)
            program = torch.onnx.export(
                network, (x,), dynamo=True, opset_version=20, dynamic_shapes=sizes, **given
            )
            program.save(str(path))
    return path


@pytest.mark.sweep(parts=3)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("make", "sizes", "axes", "exporters"),
    [
        (residual_network, [(2, 3, 20, 24), (1, 3, 17, 11)], {0: "n", 2: "h", 3: "w"}, ("script", "dynamo")),
        (attention_block, [(2, 6, 8), (1, 3, 8)], {0: "n", 1: "t"}, ("script", "dynamo")),
        (recurrent_network, [(2, 6, 8), (1, 3, 8)], {0: "n", 1: "t"}, ("script",)),
    ],
)
def test_models_of_torch(
    make: Any, sizes: list[Any], axes: dict[int, str], exporters: tuple[str, ...], torch: Any, tmp_path: Path
):
    network = make(torch).eval()
    wide = copy.deepcopy(network).double()
    for exporter in exporters:
        x = torch.randn(*sizes[0])
        path = exported(torch, network, x, axes, exporter, tmp_path / f"{exporter}.onnx")
        found = gradc.vjp(path, wrt=["x", "fc.bias"])
        for size in sizes:
            x = torch.randn(*size, dtype=torch.float64).float().double().requires_grad_()
            y = wide(x)
            cotangent = torch.randn(*y.shape).double()
            wanted = torch.autograd.grad(y, [x, wide.fc.bias], cotangent)
            given = {"x": x.detach().float().numpy(), "cotangent_y": cotangent.float().numpy()}
            got = found.run(given)
            for name, gradient in zip(("x", "fc.bias"), wanted, strict=True):
                close(got[f"grad_{name}"], gradient.numpy())


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_transformers(torch: Any, tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    bert = transformers.BertModel(config).eval()

    class Wrapped(torch.nn.Module):
        def __init__(self, model: Any) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(inputs_embeds=x).last_hidden_state

    path = exported(
        torch, Wrapped(bert).eval(), torch.randn(2, 5, 8), {0: "n", 1: "t"}, "script", tmp_path / "b.onnx"
    )
    found, wide = gradc.vjp(path, wrt="x"), copy.deepcopy(bert).double()
    for size in ((2, 5, 8), (1, 3, 8)):
        x = torch.randn(*size).double().requires_grad_()
        y = wide(inputs_embeds=x).last_hidden_state
        cotangent = torch.randn(*size).double()
        (wanted,) = torch.autograd.grad(y, x, cotangent)
        given = {"x": x.detach().float().numpy(), "cotangent_y": cotangent.float().numpy()}
        close(found.run(given)["grad_x"], wanted.numpy(), 1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["perceptron", "gaussian_process"])
def test_a_model_of_scikit_learn(kind: str):
    skl2onnx = pytest.importorskip("skl2onnx")
    process = pytest.importorskip("sklearn.gaussian_process")
    network = pytest.importorskip("sklearn.neural_network")

    x = RNG.normal(size=(30, 3)).astype(np.float32)
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    made = {
        "perceptron": network.MLPRegressor(
            hidden_layer_sizes=(8,), activation="tanh", max_iter=30, random_state=0
        ),
        "gaussian_process": process.GaussianProcessRegressor(
            process.kernels.RBF(), alpha=0.1, optimizer=None
        ),
    }[kind].fit(x, y)
    found = gradc.vjp(skl2onnx.to_onnx(made, x[:1], target_opset=17))
    (output,) = found.cotangents.values()
    for count in (4, 1):
        points, cotangent = x[:count], RNG.normal(size=(count, 1)).astype(np.float32)
        wanted = np.zeros(points.shape)
        for axis in range(3):
            step = np.eye(3)[axis] * 1e-5
            change = made.predict(points + step) - made.predict(points - step)
            wanted[:, axis] = change / 2e-5 * cotangent[:, 0]
        close(found.run({"X": points, output: cotangent})["grad_X"], wanted, 1e-3)


def test_a_spectrogram_of_a_signal_without_an_axis_of_parts():
    """As torch's exporter writes it, and onnxruntime runs it."""
    text = """<ir_version: 8, opset_import: ["": 17]> g (float[n,24] x) => (float[n,p,q,r] y)
        <int64 step = {4}, float[8] window = {1,2,3,4,4,3,2,1}> { y = STFT<onesided = 1>(x, step, window) }"""
    found = gradc.vjp(onnx.parser.parse_model(text))
    assert not any("could not" in remark.message for remark in found.remarks)
    x, cotangent = RNG.normal(size=(2, 24)), RNG.normal(size=(2, 5, 5, 2)).astype(np.float32)
    given = {"x": x.astype(np.float32), "cotangent_y": cotangent}
    window = np.array([1, 2, 3, 4, 4, 3, 2, 1])
    spectra = np.fft.rfft(np.stack([np.eye(24)[:, i : i + 8] * window for i in range(0, 17, 4)], 1))
    wanted = np.einsum("npqr,spqr->ns", cotangent, np.stack([spectra.real, spectra.imag], -1))
    close(found.run(given)["grad_x"], wanted)
