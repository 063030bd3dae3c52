"""Models of the kinds that people differentiate more than once: controllers, dynamics, energies, networks.

`torch` is a parameter, so that it is imported on demand only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradc.bench.races.networks import NETWORKS, Network
from gradc.bench.races.torch_functions import image_network, mlp


def _cell(torch: Any) -> Any:
    nn = torch.nn

    class Cell(nn.Module):
        """A step of a recurrent controller: observation and both states in one vector, the next states."""

        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(8, 16)

        def forward(self, x: Any) -> Any:
            parts = x[:, :8], (x[:, 8:24], x[:, 24:])
            return torch.cat(self.cell(*parts), -1)

    return Cell()


def _quadrotor(torch: Any) -> Any:
    class Step(torch.nn.Module):
        """A step of the dynamics of a quadrotor: twelve states and four thrusts."""

        def forward(self, x: Any) -> Any:
            state, thrust = x[:, :12], x[:, 12:]
            velocity, (roll, pitch, yaw), rates = state[:, 3:6], state[:, 6:9].unbind(1), state[:, 9:12]
            sine, cosine = torch.sin, torch.cos
            axis = (
                cosine(yaw) * sine(pitch) * cosine(roll) + sine(yaw) * sine(roll),
                sine(yaw) * sine(pitch) * cosine(roll) - cosine(yaw) * sine(roll),
                cosine(pitch) * cosine(roll),
            )
            a, b, c, d = thrust.unbind(1)
            p, q, r = rates.unbind(1)
            force = torch.stack(axis, 1) * thrust.sum(1, keepdim=True)
            torque = torch.stack([b - d - q * r, c - a + p * r, a - b + c - d], 1)
            slope = torch.tan(pitch) * (sine(roll) * q + cosine(roll) * r)
            turn = torch.stack([p + slope, cosine(roll) * q - sine(roll) * r, r / cosine(pitch)], 1)
            return state + 0.05 * torch.cat([velocity, force, turn, torque], 1)

    return Step()


def _energy(torch: Any) -> Any:
    class Energy(torch.nn.Module):
        """Pair potential of the atoms of a molecule, with a network of the distances."""

        def __init__(self) -> None:
            super().__init__()
            self.network = mlp(torch, 1, 16, 1)

        def forward(self, x: Any) -> Any:
            atoms = x.reshape(-1, 3)
            offsets = atoms[:, None] - atoms[None]
            distance = (offsets.square().sum(-1, keepdim=True) + 0.1).sqrt()
            return (self.network(distance) * torch.exp(-distance)).sum().reshape(1, 1)

    return Energy()


def _transformer(torch: Any) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        """One block of a transformer, and a linear layer on the mean of its positions."""

        def __init__(self) -> None:
            super().__init__()
            self.norm, self.last = nn.LayerNorm(16), nn.LayerNorm(16)
            self.project, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
            self.wide, self.head = mlp(torch, 16, 32, 16, act="GELU"), nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            q, k, v = self.project(self.norm(x)).chunk(3, -1)
            x = x + self.out(torch.softmax(q @ k.transpose(-1, -2) / 4, -1) @ v)
            return self.head((x + self.wide(self.last(x))).mean(1))

    return Classifier()


SMALL: Mapping[str, Network] = {
    "policy": Network(lambda torch: mlp(torch, 12, 64, 64, 6), (1, 12), "a controller: 12 values to 6"),
    "cell": Network(_cell, (1, 40), "a recurrent controller: 40 values to 32"),
    "quadrotor": Network(_quadrotor, (1, 16), "dynamics: 16 values to 12"),
    "energy": Network(_energy, (1, 15), "an energy of 5 atoms"),
    "image": Network(image_network, (1, 3, 24, 24), "a classifier of images: 5 logits"),
    "transformer": Network(_transformer, (1, 8, 16), "a transformer: 4 logits"),
}
"""Models of one sample; the races per sample have several."""

LARGE: Mapping[str, Network] = {name: NETWORKS[name] for name in ("resnet", "mobile", "vit", "unet")}
MODELS: Mapping[str, Network] = {**SMALL, **LARGE}
