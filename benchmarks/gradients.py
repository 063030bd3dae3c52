"""Gradients of small random models: against the model's own forward on onnxruntime, and against torch.

    python benchmarks/gradients.py [NAME ...] [--runs 25]

One thread. Values are held against torch autograd in float64 before anything is timed; they take turns.
A line has the nodes of the gradient over those of the model, and two ratios with their quartiles: gradient /
forward, and gradient / torch's forward and backward. Needs torch, with onnx's exporter; run it on a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn

import gradc

BOUND = 2e-4
"""Of the largest value: what f32 may lose in networks of this depth."""

LEAST = 0.004
"""Seconds of one measurement: what is quicker runs several times."""


def _conv(i: int, o: int, k: int = 3, s: int = 1, act: type[nn.Module] = nn.ReLU, g: int = 1) -> nn.Module:
    return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o), act())


class Residual(nn.Module):
    def __init__(self, body: nn.Module):
        super().__init__()
        self.body = body

    def forward(self, x):
        return x + self.body(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([_conv(3, 16), _conv(16, 32), _conv(32, 64)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
        self.merge = nn.ModuleList([_conv(64, 32), _conv(32, 16)])

    def forward(self, x):
        kept = []
        for index, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if index else x)
            kept.append(x)
        for up, merge, skip in zip(self.up, self.merge, kept[1::-1], strict=True):
            x = merge(torch.cat([skip, up(x)], 1))
        return x


def _inverted(i: int, o: int, s: int, act: type[nn.Module]) -> nn.Module:
    wide = 6 * i
    narrow = nn.Sequential(nn.Conv2d(wide, o, 1, bias=False), nn.BatchNorm2d(o))
    body = nn.Sequential(_conv(i, wide, 1, act=act), _conv(wide, wide, 3, s, act, wide), narrow)
    return Residual(body) if s == 1 and i == o else body


def _mobile(act: type[nn.Module]) -> nn.Module:
    sizes = [(16, 24, 2), (24, 24, 1), (24, 40, 2), (40, 40, 1), (40, 80, 2), (80, 80, 1)]
    blocks = [_inverted(*size, act) for size in sizes]
    return nn.Sequential(_conv(3, 16, 3, 2, act), *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _resnet() -> nn.Module:
    stages = [_conv(3, 32, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for i, o in ((32, 32), (32, 64), (64, 128)):
        stages += [_conv(i, o, 3, 1 + (i != o)), Residual(nn.Sequential(_conv(o, o), _conv(o, o)))]
    return nn.Sequential(*stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def _mlp() -> nn.Module:
    layers = [layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU())]
    return nn.Sequential(*layers, nn.LayerNorm(512), nn.Linear(512, 10))


class Block(nn.Module):
    def __init__(self, width: int = 128, heads: int = 4):
        super().__init__()
        self.heads, self.first, self.second = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (
            p.reshape(n, t, self.heads, -1).transpose(1, 2) for p in self.qkv(self.first(x)).chunk(3, -1)
        )
        weights = (q @ k.transpose(-1, -2) * (width // self.heads) ** -0.5).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(n, t, width))
        return x + self.wide(self.second(x))


IMAGE = (1, 3, 96, 96)
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "mlp": (_mlp, (16, 512)),
    "resnet": (_resnet, IMAGE),
    "mobile": (lambda: _mobile(nn.ReLU6), IMAGE),
    "mobile-silu": (lambda: _mobile(nn.SiLU), IMAGE),
    "mobile-hardswish": (lambda: _mobile(nn.Hardswish), IMAGE),
    "unet": (UNet, (1, 3, 64, 64)),
    "transformer": (lambda: nn.Sequential(Block(), Block(), Block()), (2, 48, 128)),
}


def _runner(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> Callable[[], Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return lambda: session.run(None, feeds)


def _seconds(run: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def _ratio(above: Sequence[float], below: Sequence[float]) -> str:
    ratios = [a / b for a, b in zip(above, below, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"{middle:5.2f} ({low:.2f} .. {high:.2f})"


def _measured(name: str, runs: int) -> tuple[float, float]:
    make, shape = MODELS[name]
    torch.manual_seed(0)
    module, x, file = make().eval(), torch.randn(shape), io.BytesIO()
    names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "N"}}}
    torch.onnx.export(module, (x,), file, opset_version=18, dynamo=False, **names)
    model = onnx.load_from_string(file.getvalue())
    cotangent = torch.randn(module(x).shape)

    def torch_gradient(net: nn.Module = module, x=x, cotangent=cotangent):
        leaf = x.detach().requires_grad_()
        return torch.autograd.grad(net(leaf), leaf, cotangent)[0]

    compiled = gradc.vjp(model, wrt=["x"], of=["y"], threads=1)
    forward = _runner(model, {"x": x.numpy()})
    gradient = _runner(compiled.model, {"x": x.numpy(), "cotangent_y": cotangent.numpy()})
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    exact = make().double().eval()
    exact.load_state_dict(module.state_dict())
    wanted = torch_gradient(exact, x.double(), cotangent.double()).numpy()
    error = np.abs(gradient()[0] - wanted).max() / np.abs(wanted).max()
    if error > BOUND:
        sys.exit(f"{name}: wrong by {error:.1e} of the largest value")
    contestants = (gradient, forward, torch_gradient)
    times = [max(1, int(LEAST / _seconds(run, 3))) for run in contestants]
    found = [[_seconds(run, n) for run, n in zip(contestants, times, strict=True)] for _ in range(runs)]
    own, primal, peer = zip(*found, strict=True)
    nodes = [sum(n.op_type != "Constant" for n in m.graph.node) for m in (compiled.model, model)]
    print(f"{name:17} {nodes[0] / nodes[1]:5.2f}   {_ratio(own, primal)}   {_ratio(own, peer)}", flush=True)
    return statistics.median(own) / statistics.median(primal), statistics.median(own) / statistics.median(
        peer
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}")
    parser.add_argument("--runs", type=int, default=25)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'model':17} nodes   gradient / forward     gradient / torch")
    found = [_measured(name, given.runs) for name in given.names or MODELS]
    of_forward, of_torch = zip(*found, strict=True)
    print(
        f"median {statistics.median(of_forward):.2f} forwards, "
        f"geometric mean {statistics.geometric_mean(of_torch):.2f} of torch"
    )


if __name__ == "__main__":
    main()
