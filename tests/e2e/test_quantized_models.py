"""Networks that onnxruntime quantised in each of its formats have the gradients of the networks that they
were, straight through what is rounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import gradc

torch = pytest.importorskip("torch")
quantization: Any = pytest.importorskip("onnxruntime.quantization")

NN: Any = torch.nn


class Mlp(NN.Module):
    shape = (4, 80)

    def __init__(self) -> None:
        super().__init__()
        self.layers = NN.Sequential(
            NN.Linear(80, 64), NN.LeakyReLU(0.1), NN.Linear(64, 32), NN.Tanh(), NN.Linear(32, 4)
        )

    def forward(self, x: Any) -> Any:
        return self.layers(x)


class Cnn(NN.Module):
    shape = (4, 3, 16, 16)

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = NN.Conv2d(3, 8, 3, padding=1), NN.Conv2d(8, 8, 3, padding=1)
        self.most, self.mean, self.last = NN.MaxPool2d(2), NN.AvgPool2d(2), NN.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        x = torch.relu(self.first(x))
        x = self.mean(self.most(x + torch.sigmoid(self.second(x))))
        return self.last(x.flatten(1))


class Transformer(NN.Module):
    shape = (4, 8, 32)

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (NN.Linear(32, 32) for _ in range(4))
        self.wide, self.narrow = NN.Linear(32, 64), NN.Linear(64, 32)
        self.norms = NN.ModuleList([NN.LayerNorm(32), NN.LayerNorm(32)])

    def forward(self, x: Any) -> Any:
        inner = self.norms[0](x)
        q, k, v = (f(inner).reshape(-1, 8, 4, 8).transpose(1, 2) for f in (self.q, self.k, self.v))
        rows = torch.softmax(q @ k.transpose(-1, -2) * 8**-0.5, -1) @ v
        x = x + self.o(rows.transpose(1, 2).reshape(-1, 8, 32))
        return x + self.narrow(NN.functional.gelu(self.wide(self.norms[1](x))))


NETWORKS = {"mlp": Mlp, "cnn": Cnn, "transformer": Transformer}


class Samples(quantization.CalibrationDataReader):
    def __init__(self, shape: tuple[int, ...]) -> None:
        self.rest = iter([np.random.default_rng(i).normal(size=shape) for i in range(8)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        x = next(self.rest, None)
        return None if x is None else {"x": x.astype(np.float32)}


def quantize(how: str, source: Path, target: Path, shape: tuple[int, ...]) -> None:
    """Quantise in the format `how`, perhaps with a scale for each channel.

    Weights take 7 bits: without VNNI onnxruntime saturates sums of u8 x s8 products in 16 bits.
    """
    name, _, columns = how.partition(" ")
    kinds = quantization.QuantType
    if name == "dynamic":
        quantization.quantize_dynamic(
            source, target, per_channel=bool(columns), weight_type=kinds.QInt8, reduce_range=True
        )
    elif name in ("4", "8"):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

        made = MatMulNBitsQuantizer(onnx.load(source), block_size=16, bits=int(name), is_symmetric=False)
        made.process()
        onnx.save(made.model.model, target)
    else:
        format_ = quantization.QuantFormat[name]
        given = {"per_channel": bool(columns), "activation_type": kinds.QUInt8, "weight_type": kinds.QInt8}
        quantization.quantize_static(
            source, target, Samples(shape), quant_format=format_, reduce_range=True, **given
        )


@pytest.mark.sweep(entries=r"\w+", parts=16)
@pytest.mark.parametrize("is_optimised", [False, True], ids=["", "optimised"])
@pytest.mark.parametrize(
    "how", ["QDQ", "QDQ columns", "QOperator", "QOperator columns", "dynamic", "dynamic columns", "4", "8"]
)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_quantised_network_has_its_gradient(name: str, how: str, is_optimised: bool, tmp_path: Path):
    torch.manual_seed(0)
    net = NETWORKS[name]().eval()
    floats, target, optimised = (tmp_path / f"{part}.onnx" for part in ("floats", "quantised", "optimised"))
    axes = {"x": {0: "b"}, "y": {0: "b"}}
    x = torch.randn(net.shape, generator=torch.Generator().manual_seed(1))
    torch.onnx.export(
        net, (x,), floats, input_names=["x"], output_names=["y"], dynamic_axes=axes, dynamo=False
    )
    quantize(how, floats, target, net.shape)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(optimised)
    session = onnxruntime.InferenceSession(target, options, providers=["CPUExecutionProvider"])
    source = optimised if is_optimised else target
    straight = how not in ("4", "8")
    found = gradc.value_and_grad(
        source, wrt="x", of="y", cotangents=True, straight_through=straight, check=True
    )
    assert not {node.domain for node in found.model.graph.node} - {""}
    x = x[:3].requires_grad_()
    y = net(x)
    cotangent = torch.randn(y.shape, generator=torch.Generator().manual_seed(2))
    y.backward(cotangent)
    feeds = {"x": x.detach().numpy()}
    got = found.run({**feeds, "cotangent_y": cotangent.numpy()})
    want, grad = np.asarray(session.run(["y"], feeds)[0]), x.grad.numpy()
    bound = 2e-2 if straight else 1e-5
    np.testing.assert_allclose(got["y"], want, atol=bound * np.abs(want).max())
    cosine = (got["grad_x"] * grad).sum() / np.linalg.norm(got["grad_x"]) / np.linalg.norm(grad)
    assert cosine > (0.98 if name == "cnn" else 0.995)
