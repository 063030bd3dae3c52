"""Train a small classifier of shapes in PyTorch and export its Grad-CAM: `python examples/web/grad_cam.py`.

Writes examples/web/models/grad_cam.onnx, which grad_cam.html runs. Needs torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SIZE = 48
CLASSES = ("ring", "square", "cross")
FOLDER = Path(__file__).resolve().parent / "models"


def shape(name: str, row: float, column: float, radius: float) -> np.ndarray:
    """Return an image of one shape, with lines of about 2 pixels."""
    y, x = np.mgrid[:SIZE, :SIZE] + 0.5
    y, x = y - row, x - column
    far = np.maximum(abs(x), abs(y))
    distance = {
        "ring": abs(np.hypot(x, y) - radius),
        "square": abs(far - radius),
        "cross": np.minimum(abs(x - y), abs(x + y)) / 2**0.5 + 9 * (far > radius),
    }[name]
    return np.clip(2 - distance, 0, 1).astype(np.float32)


def images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return noisy images, [count, 1, SIZE, SIZE], and which shapes each has, [count, 3]."""
    rng = np.random.default_rng(seed)
    wanted = rng.integers(0, 2, (count, len(CLASSES)))
    found = rng.normal(0, 0.1, (count, 1, SIZE, SIZE)).astype(np.float32)
    for image, row in zip(found, wanted, strict=True):
        for name, is_there in zip(CLASSES, row, strict=True):
            if is_there:
                place, radius = rng.uniform(8, SIZE - 8, 2), rng.uniform(4, 8)
                image[0] = np.maximum(image[0], shape(name, *place, radius))
    return found, wanted.astype(np.float32)


def main(folder: Path = FOLDER, steps: int = 150) -> None:
    import torch
    from torch import nn

    import gradc

    class GradCAM(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            first = nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.ReLU()
            second = nn.Conv2d(12, 24, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)
            self.features = nn.Sequential(*first, *second, nn.Conv2d(24, 24, 5, padding=2), nn.ReLU())
            self.head = nn.Sequential(nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, len(CLASSES)))

        def forward(self, image: Any, label: Any) -> Any:
            features = self.features(image)
            scores = self.head(features)
            (slope,) = torch.autograd.grad(scores.gather(1, label[:, None]).sum(), features)
            found = (slope.mean((2, 3), keepdim=True) * features).sum(1, keepdim=True).relu()
            size = image.shape[2:]
            return scores.sigmoid(), nn.functional.interpolate(found, size, mode="bilinear")

    torch.manual_seed(0)
    model = GradCAM()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        x, wanted = (torch.from_numpy(array) for array in images(24, step))
        loss = nn.functional.binary_cross_entropy_with_logits(model.head(model.features(x)), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, wanted = images(200, 1000)
    with torch.no_grad():
        right = (model.head(model.features(torch.from_numpy(x))).numpy() > 0) == (wanted > 0)
    folder.mkdir(exist_ok=True)
    file = folder / "grad_cam.onnx"
    example = torch.from_numpy(x[:1]), torch.tensor([0])
    names = {"output_names": ["probabilities", "map"]}
    compiled = gradc.torch.export(model.eval(), example, file, target="portable", **names)
    print(f"{100 * right.mean():.0f} % right; {file}: {len(compiled.model.graph.node)} nodes")


if __name__ == "__main__":
    main()
