"""PyTorch networks of real size that take derivatives, with random weights.

`torch` is a parameter, so that it is imported on demand only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gradc.bench.races.networks import NETWORKS
from gradc.bench.races.step_networks import STEP_NETWORKS
from gradc.bench.races.torch_ani import ani
from gradc.bench.races.torch_functions import (
    Differentiating,
    Made,
    as_module,
    graph,
    mlp,
    parameters_of,
    points,
    sgd_step,
)

ATOMS, EDGES, WIDTH, RADIAL = 64, 1024, 64, 20


def _forces(torch: Any, total: Callable[[Any, Any], Any]) -> Made:
    """Return energy, forces and virial of a sum over pairs, given a function of their vectors."""

    def function(positions: Any, pairs: Any) -> Any:
        strain = torch.zeros(3, 3, dtype=positions.dtype, requires_grad=True)
        deformed = positions + positions @ (strain + strain.T) / 2
        energy = total(deformed[pairs[1]] - deformed[pairs[0]], pairs)
        slope, virial = torch.autograd.grad(energy, (positions, strain))
        return energy, -slope, virial

    return function, (points(torch, ATOMS, 3), graph(torch, ATOMS, EDGES))


def _basis(torch: Any, vectors: Any) -> tuple[Any, Any]:
    """Return distances and Gaussians of them."""
    distance = (vectors.square().sum(-1, keepdim=True) + 1e-6).sqrt()
    centers = torch.linspace(0, 4, RADIAL).to(distance.dtype)
    return distance, torch.exp(-4 * (distance - centers) ** 2)


def _schnet(torch: Any) -> Made:
    nn = torch.nn
    filters = nn.ModuleList(mlp(torch, RADIAL, WIDTH, WIDTH, act="Softplus") for _ in range(3))
    before = nn.ModuleList(nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(3))
    after = nn.ModuleList(mlp(torch, WIDTH, WIDTH, WIDTH, act="Softplus") for _ in range(3))
    start, read = torch.randn(ATOMS, WIDTH), mlp(torch, WIDTH, WIDTH, 1, act="Softplus")

    def total(vectors: Any, pairs: Any) -> Any:
        _, basis = _basis(torch, vectors)
        atoms = start.to(vectors.dtype)
        for weigh, mix, update in zip(filters, before, after, strict=True):
            sent = mix(atoms)[pairs[1]] * weigh(basis)
            atoms = atoms + update(torch.zeros_like(atoms).index_add(0, pairs[0], sent) / 8)
        return read(atoms).sum()

    return as_module(torch, _forces(torch, total), filters, before, after, read)


def _painn(torch: Any) -> Made:
    """Scalar and vector features; messages of both kinds."""
    nn = torch.nn
    weigh = nn.ModuleList(nn.Linear(RADIAL, 3 * WIDTH) for _ in range(2))
    mix = nn.ModuleList(mlp(torch, WIDTH, WIDTH, 3 * WIDTH, act="SiLU") for _ in range(2))
    turn = nn.ModuleList(nn.Linear(WIDTH, 2 * WIDTH, bias=False) for _ in range(2))
    update = nn.ModuleList(mlp(torch, 2 * WIDTH, WIDTH, 3 * WIDTH, act="SiLU") for _ in range(2))
    start, read = torch.randn(ATOMS, WIDTH), mlp(torch, WIDTH, WIDTH, 1, act="SiLU")

    def total(vectors: Any, pairs: Any) -> Any:
        distance, basis = _basis(torch, vectors)
        direction = (vectors / distance)[:, :, None]
        s = start.to(vectors.dtype)
        v = torch.zeros(ATOMS, 3, WIDTH).to(vectors.dtype)
        for weights, network, linear, gates in zip(weigh, mix, turn, update, strict=True):
            scalar, along, old = (network(s)[pairs[1]] * weights(basis)).chunk(3, -1)
            moved = along[:, None] * direction + old[:, None] * v[pairs[1]]
            s = s.index_add(0, pairs[0], scalar / 8)
            v = v.index_add(0, pairs[0], moved / 8)
            left, right = linear(v).chunk(2, -1)
            norm = ((right * right).sum(1) + 1e-6).sqrt()
            a, b, c = gates(torch.cat([s, norm], -1)).chunk(3, -1)
            s, v = s + a + b * (left * right).sum(1), v + c[:, None] * left
        return read(s).sum()

    return as_module(torch, _forces(torch, total), weigh, mix, turn, update, read)


def _mace(torch: Any) -> Made:
    """Products of three sums over neighbours, each of radial functions and harmonics up to degree 2."""
    nn = torch.nn
    radial = mlp(torch, RADIAL, WIDTH, 3 * 32, act="SiLU")
    mix = nn.ModuleList(nn.Linear(32, 32, bias=False) for _ in range(3))
    read = mlp(torch, 5 * 32, WIDTH, 1, act="SiLU")

    def harmonics(unit: Any) -> tuple[Any, Any]:
        outer = unit[:, :, None] * unit[:, None, :]
        return unit, (outer - torch.eye(3).to(unit.dtype) / 3).flatten(1)

    def total(vectors: Any, pairs: Any) -> Any:
        distance, basis = _basis(torch, vectors)
        first, second = harmonics(vectors / distance)
        r0, r1, r2 = radial(basis).chunk(3, -1)
        a0 = _sum(torch, r0, pairs)
        a1 = mix[1](_sum(torch, r1[:, None] * first[:, :, None], pairs))
        a2 = mix[2](_sum(torch, r2[:, None] * second[:, :, None], pairs))
        matrix = a2.unflatten(1, (3, 3))
        turned = (matrix * a1[:, None]).sum(2)
        invariants = (a0, (a1 * a1).sum(1), (a2 * a2).sum(1), (turned * a1).sum(1), mix[0](a0) * a0 * a0)
        return read(torch.cat(invariants, -1)).sum()

    return as_module(torch, _forces(torch, total), radial, mix, read)


def _sum(torch: Any, sent: Any, pairs: Any) -> Any:
    start = torch.zeros(ATOMS, *sent.shape[1:]).to(sent.dtype)
    return start.index_add(0, pairs[0], sent / 8)


def _of_network(name: str, what: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Made]:
    """Return the maker of a function of a network's input; `what` gets torch, the network and the input."""

    def make(torch: Any) -> Made:
        network = NETWORKS[name].make(torch).eval()
        made = (lambda x: what(torch, network, x)), (points(torch, *NETWORKS[name].shape),)
        return as_module(torch, made, network)

    return make


def _cam(torch: Any, network: Any, image: Any) -> Any:
    features = network[:-3](image)
    scores = network[-3:](features)
    (slope,) = torch.autograd.grad(scores[:, 1].sum(), features)
    return scores, (slope.mean((2, 3), keepdim=True) * features).sum(1).relu()


def _integrated_gradients(torch: Any, network: Any, image: Any) -> Any:
    steps = torch.linspace(0.125, 1, 8).to(image.dtype)[:, None, None, None]
    path = steps * image
    (slopes,) = torch.autograd.grad(network(path)[:, 1].sum(), path)
    return slopes.mean(0, keepdim=True) * image


def _image_gradient(torch: Any, network: Any, image: Any) -> Any:
    value = network(image)
    return torch.autograd.grad((value * value).sum(), image)[0]


def _training(name: str) -> Callable[[Any], Made]:
    def make(torch: Any) -> Made:
        trained = STEP_NETWORKS[name]
        network = trained.make(torch).eval()
        x, labels = (torch.tensor(array) for array in trained.draw(np.random.default_rng(0)))
        parameters = parameters_of(network)
        return as_module(torch, (sgd_step(torch, network), (parameters, x, labels)), network)

    return make


FUNCTIONS: Mapping[str, Differentiating] = {
    "schnet": Differentiating(_schnet, "forces and virial, 64 atoms, 1,024 pairs"),
    "painn": Differentiating(_painn, "forces and virial, 64 atoms, 1,024 pairs"),
    "mace-like": Differentiating(_mace, "forces and virial, 64 atoms, 1,024 pairs"),
    "ani": Differentiating(ani, "forces, 64 atoms, 1,024 pairs, 2,048 triples"),
    "grad-cam": Differentiating(_of_network("resnet", _cam), "of a ResNet"),
    "integrated-gradients": Differentiating(_of_network("mobile", _integrated_gradients), "of a MobileNet"),
    "unet": Differentiating(_of_network("unet", _image_gradient), "an image gradient"),
    "vit": Differentiating(_of_network("vit", _image_gradient), "an input gradient"),
    "training-mlp": Differentiating(_training("mlp"), "a step of SGD"),
    "training-vit": Differentiating(_training("vit"), "a step of SGD"),
}
