"""Networks whose training steps are compared: small ones, built from the layers of large ones.

`torch` is a parameter, so that it is imported on demand only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Batch = tuple[np.ndarray, np.ndarray]
"""The input `x` and the int64 labels of a cross entropy."""

WORDS, CONTEXT, WIDTH, HEADS = 2000, 64, 128, 4

RATE = 1e-3
"""Learning rate."""


@dataclass(frozen=True)
class Trained:
    """`make` creates a network from the module `torch`, `draw` its batch."""

    make: Callable[[Any], Any]
    draw: Callable[[np.random.Generator], Batch]
    what: str


def _vectors(random: np.random.Generator) -> Batch:
    return random.standard_normal((64, 784)).astype(np.float32), random.integers(0, 10, 64)


def _images(count: int, size: int) -> Callable[[np.random.Generator], Batch]:
    def draw(random: np.random.Generator) -> Batch:
        x = random.standard_normal((count, 3, size, size)).astype(np.float32)
        return x, random.integers(0, 10, count)

    return draw


def _masks(random: np.random.Generator) -> Batch:
    x = random.standard_normal((4, 3, 64, 64)).astype(np.float32)
    return x, random.integers(0, 4, (4, 64, 64))


def _texts(random: np.random.Generator) -> Batch:
    return random.integers(0, WORDS, (8, CONTEXT)), random.integers(0, WORDS, (8, CONTEXT))


def _sentences(random: np.random.Generator) -> Batch:
    return random.integers(0, 500, (16, 32)), random.integers(0, 5, 16)


def _mlp(torch: Any) -> Any:
    nn = torch.nn
    hidden = (nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(512, 10))


def _conv(torch: Any, i: int, o: int, k: int = 3, s: int = 1, g: int = 1) -> tuple[Any, Any]:
    """Return a convolution without bias and its BatchNorm."""
    nn = torch.nn
    return nn.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(o)


def _head(torch: Any, width: int) -> tuple[Any, ...]:
    nn = torch.nn
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10)


def _resnet(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, i: int, o: int, s: int):
            super().__init__()
            self.body = nn.Sequential(*_conv(torch, i, o, s=s), nn.ReLU(), *_conv(torch, o, o))
            same = i == o and s == 1
            self.shortcut = nn.Identity() if same else nn.Sequential(*_conv(torch, i, o, 1, s))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.shortcut(x) + self.body(x))

    sizes = ((32, 32, 1), (32, 64, 2), (64, 64, 1), (64, 128, 2), (128, 128, 1))
    blocks = (Block(*size) for size in sizes)
    return nn.Sequential(*_conv(torch, 3, 32), nn.ReLU(), *blocks, *_head(torch, 128))


def _mobilenet(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, i: int, wide: int, o: int, s: int):
            super().__init__()
            first = (*_conv(torch, i, wide, 1), nn.Hardswish())
            depthwise = (*_conv(torch, wide, wide, s=s, g=wide), nn.Hardswish())
            self.body = nn.Sequential(*first, *depthwise, *_conv(torch, wide, o, 1))
            self.adds = i == o and s == 1

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.adds else self.body(x)

    sizes = ((16, 48, 24, 2), (24, 96, 24, 1), (24, 96, 40, 2), (40, 160, 40, 1))
    blocks = (Block(*size) for size in (*sizes, (40, 160, 80, 2), (80, 240, 80, 1)))
    return nn.Sequential(*_conv(torch, 3, 16, s=2), nn.Hardswish(), *blocks, *_head(torch, 80))


def _unet(torch: Any) -> Any:
    nn, narrow = torch.nn, 16

    def twice(i: int, o: int) -> Any:
        parts = [(nn.Conv2d(a, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU()) for a in (i, o)]
        return nn.Sequential(*(layer for part in parts for layer in part))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            wide = 2 * narrow, 4 * narrow
            sizes = ((3, narrow), (narrow, wide[0]), wide)
            self.down = nn.ModuleList([twice(i, o) for i, o in sizes])
            self.up = nn.ModuleList([nn.ConvTranspose2d(i, o, 2, 2) for o, i in sizes[:0:-1]])
            self.merge = nn.ModuleList([twice(i, o) for o, i in sizes[:0:-1]])
            self.out, self.pool = nn.Conv2d(narrow, 4, 1), nn.MaxPool2d(2)

        def forward(self, x: Any) -> Any:
            kept: list[Any] = []
            for index, block in enumerate(self.down):
                x = block(self.pool(x) if index else x)
                kept.append(x)
            for up, merge, skip in zip(self.up, self.merge, kept[1::-1], strict=True):
                x = merge(torch.cat([up(x), skip], 1))
            return self.out(x)

    return UNet()


def _blocks(torch: Any, count: int, causal: bool) -> Any:
    """Return transformer blocks that normalize before attention and perceptron."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

        def forward(self, x: Any) -> Any:
            n, t, _ = x.shape
            parts = self.qkv(self.first(x)).view(n, t, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            found = nn.functional.scaled_dot_product_attention(*parts, is_causal=causal)
            x = x + self.out(found.transpose(1, 2).reshape(n, t, WIDTH))
            return x + self.mlp(self.second(x))

    return nn.Sequential(*(Block() for _ in range(count)), nn.LayerNorm(WIDTH))


def _vit(torch: Any) -> Any:
    nn, patch = torch.nn, 8

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, WIDTH, patch, patch)
            self.positions = nn.Parameter(0.02 * torch.randn(64, WIDTH))
            self.blocks, self.out = _blocks(torch, 4, causal=False), nn.Linear(WIDTH, 10)

        def forward(self, x: Any) -> Any:
            x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
            return self.out(self.blocks(x).mean(1))

    return ViT()


def _language_model(layers: int, causal: bool) -> Callable[[Any], Any]:
    """Return a maker of language models whose output layer is the embedding."""

    def make(torch: Any) -> Any:
        nn = torch.nn

        class LanguageModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.words = nn.Embedding(WORDS, WIDTH)
                nn.init.normal_(self.words.weight, std=0.02)
                self.positions = nn.Parameter(0.02 * torch.randn(CONTEXT, WIDTH))
                self.blocks = _blocks(torch, layers, causal)
                self.out = nn.Linear(WIDTH, WORDS, bias=False)
                self.out.weight = self.words.weight

            def forward(self, x: Any) -> Any:
                return self.out(self.blocks(self.words(x) + self.positions))

        return LanguageModel()

    return make


def _lstm(torch: Any) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.out = nn.Embedding(500, 64), nn.Linear(96, 5)
            self.lstm = nn.LSTM(64, 96, 2, batch_first=True)

        def forward(self, x: Any) -> Any:
            found, _ = self.lstm(self.words(x))
            return self.out(found[:, -1])

    return Classifier()


STEP_NETWORKS: Mapping[str, Trained] = {
    "mlp": Trained(_mlp, _vectors, "a perceptron, 64 x 784"),
    "resnet": Trained(_resnet, _images(16, 32), "five residual blocks, 16 x 3 x 32 x 32"),
    "mobilenet": Trained(_mobilenet, _images(16, 64), "six inverted residuals, 16 x 3 x 64 x 64"),
    "unet": Trained(_unet, _masks, "a U-Net, 4 x 3 x 64 x 64"),
    "vit": Trained(_vit, _images(8, 64), "a vision transformer of four blocks, 8 x 3 x 64 x 64"),
    "bert": Trained(_language_model(2, causal=False), _texts, "an encoder of two blocks, 8 x 64 tokens"),
    "gpt": Trained(_language_model(3, causal=True), _texts, "a decoder of three blocks, 8 x 64 tokens"),
    "lstm": Trained(_lstm, _sentences, "a two-layer LSTM, 16 x 32 tokens"),
}


def eager_step(torch: Any, call: Any, parameters: Any, x: Any, label: Any) -> Callable[[], float]:
    """Return a step of AdamW on a cross entropy, by eager torch, which returns the loss."""
    optimizer = torch.optim.AdamW(parameters, lr=RATE)

    def step() -> float:
        optimizer.zero_grad()
        logits = call(x)
        by_class = logits.transpose(1, 2) if logits.dim() == 3 else logits
        loss = torch.nn.functional.cross_entropy(by_class, label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
