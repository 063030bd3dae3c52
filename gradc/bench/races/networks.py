"""Small networks with random weights, built from the repeated parts of large ones.

`torch` is a parameter, so that it is imported on demand only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

IMAGE = (1, 3, 96, 96)


@dataclass(frozen=True)
class Network:
    """`make` creates a network from the module `torch`; `shape` is that of its input, batch first."""

    make: Callable[[Any], Any]
    shape: tuple[int, ...]
    what: str


def _conv(torch: Any, i: int, o: int, k: int = 3, s: int = 1, act: str = "ReLU", g: int = 1) -> Any:
    nn = torch.nn
    conv = nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(o), getattr(nn, act)())


def _head(torch: Any, width: int) -> tuple[Any, ...]:
    nn = torch.nn
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)


def _residual(torch: Any, body: Any, shortcut: Any | None = None) -> Any:
    class Residual(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut = body, shortcut or torch.nn.Identity()

        def forward(self, x: Any) -> Any:
            return self.shortcut(x) + self.body(x)

    return Residual()


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    layers = [layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.GELU())]
    return nn.Sequential(*layers, nn.LayerNorm(512), nn.Linear(512, 10))


def _resnet(torch: Any) -> Any:
    nn = torch.nn
    stages = [_conv(torch, 3, 32, 7, 2), nn.MaxPool2d(3, 2, 1)]
    for i, o in ((32, 32), (32, 64), (64, 128)):
        body = nn.Sequential(_conv(torch, o, o), _conv(torch, o, o))
        stages += [_conv(torch, i, o, 3, 1 + (i != o)), _residual(torch, body)]
    return nn.Sequential(*stages, *_head(torch, 128))


def _resnet50_stage(torch: Any) -> Any:
    """Return the second stage of ResNet-50, whose first block strides."""

    def bottleneck(i: int, narrow: int, o: int, s: int) -> Any:
        nn = torch.nn
        last = nn.Sequential(nn.Conv2d(narrow, o, 1, bias=False), nn.BatchNorm2d(o))
        body = nn.Sequential(_conv(torch, i, narrow, 1), _conv(torch, narrow, narrow, 3, s), last)
        shortcut = None if i == o else nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))
        return nn.Sequential(_residual(torch, body, shortcut), nn.ReLU())

    return torch.nn.Sequential(
        bottleneck(256, 128, 512, 2), *(bottleneck(512, 128, 512, 1) for _ in range(3))
    )


def _inverted_residual(torch: Any, i: int, o: int, s: int, act: str) -> Any:
    nn, wide = torch.nn, 6 * i
    narrow = nn.Sequential(nn.Conv2d(wide, o, 1, bias=False), nn.BatchNorm2d(o))
    depthwise = _conv(torch, wide, wide, 3, s, act, wide)
    body = nn.Sequential(_conv(torch, i, wide, 1, act=act), depthwise, narrow)
    return _residual(torch, body) if s == 1 and i == o else body


def _mobile(act: str) -> Callable[[Any], Any]:
    def make(torch: Any) -> Any:
        sizes = [(16, 24, 2), (24, 24, 1), (24, 40, 2), (40, 40, 1), (40, 80, 2), (80, 80, 1)]
        blocks = [_inverted_residual(torch, *size, act) for size in sizes]
        return torch.nn.Sequential(_conv(torch, 3, 16, 3, 2, act), *blocks, *_head(torch, 80))

    return make


def _unet(torch: Any) -> Any:
    nn = torch.nn

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([_conv(torch, 3, 16), _conv(torch, 16, 32), _conv(torch, 32, 64)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 2, 2)])
            self.merge = nn.ModuleList([_conv(torch, 64, 32), _conv(torch, 32, 16)])

        def forward(self, x: Any) -> Any:
            kept = []
            for index, block in enumerate(self.down):
                x = block(nn.functional.max_pool2d(x, 2) if index else x)
                kept.append(x)
            for up, merge, skip in zip(self.up, self.merge, kept[1::-1], strict=True):
                x = merge(torch.cat([skip, up(x)], 1))
            return x

    return UNet()


def _vit(torch: Any) -> Any:
    nn, width, heads = torch.nn, 128, 4

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            parts = self.qkv(self.first(x)).chunk(3, -1)
            q, k, v = (part.reshape(n, t, heads, -1).transpose(1, 2) for part in parts)
            weights = (q @ k.transpose(-1, -2) * (width // heads) ** -0.5).softmax(-1)
            x = x + self.out((weights @ v).transpose(1, 2).reshape(n, t, width))
            return x + self.wide(self.second(x))

    return nn.Sequential(Block(), Block(), Block())


def _lstm_cells(torch: Any) -> Any:
    """Return an LSTM cell, unrolled step by step."""
    nn, width, steps = torch.nn, 128, 8

    class Cells(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)

        def forward(self, x: Any) -> Any:
            h = c = torch.zeros_like(x[:, 0])
            for step in range(steps):
                i, f, g, o = (self.inner(x[:, step]) + self.outer(h)).chunk(4, -1)
                c = f.sigmoid() * c + i.sigmoid() * g.tanh()
                h = o.sigmoid() * c.tanh()
            return h

    return Cells()


NETWORKS: Mapping[str, Network] = {
    "mlp": Network(_mlp, (16, 512), "products, GELU, a norm"),
    "resnet": Network(_resnet, IMAGE, "a small ResNet"),
    "resnet50-stage": Network(_resnet50_stage, (1, 256, 56, 56), "bottlenecks of a ResNet-50"),
    "mobile": Network(_mobile("ReLU6"), IMAGE, "inverted residuals, depthwise"),
    "mobile-silu": Network(_mobile("SiLU"), IMAGE, "the same with SiLU"),
    "mobile-hardswish": Network(_mobile("Hardswish"), IMAGE, "the same with hard-swish"),
    "unet": Network(_unet, (1, 3, 64, 64), "a U-Net, transposed convolutions and pools"),
    "vit": Network(_vit, (2, 48, 128), "blocks of a vision transformer"),
    "lstm-cells": Network(_lstm_cells, (8, 8, 128), "an LSTM cell, eight steps"),
}
