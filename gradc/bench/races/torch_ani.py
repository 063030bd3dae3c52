"""A network of the ANI kind: symmetry functions of each atom's neighbours, and a network for each species."""

from __future__ import annotations

import math
from typing import Any

from gradc.bench.races.torch_functions import Made, as_module, graph, mlp, points

ATOMS, PAIRS, TRIPLES = 64, 1024, 2048
SPECIES = 4
SHIFTS = 16
"""Distances of the radial functions."""

ANGLES, RINGS = 8, 4
"""Angles and distances of the angular functions."""

RANGE = 8.0
PAIR_KINDS = SPECIES * (SPECIES + 1) // 2
WIDTH = SPECIES * SHIFTS + PAIR_KINDS * ANGLES * RINGS


def ani(torch: Any) -> Made:
    """Return a function of positions, pairs and triples to energy and forces."""
    networks = [mlp(torch, WIDTH, 128, 96, 1, act="CELU") for _ in range(SPECIES)]
    species = torch.arange(ATOMS) * SPECIES // ATOMS
    kinds = _pair_kinds(torch)

    def function(positions: Any, pairs: Any, triples: Any) -> Any:
        near = _radial(torch, positions, pairs, species)
        turned = _angular(torch, positions, triples, kinds[species[triples[1]], species[triples[2]]])
        features = torch.cat([near, turned], -1).reshape(SPECIES, ATOMS // SPECIES, WIDTH)
        energy = sum(network(atoms).sum() for network, atoms in zip(networks, features, strict=True))
        return energy, -torch.autograd.grad(energy, positions)[0]

    pairs, middle = graph(torch, ATOMS, PAIRS), torch.randint(ATOMS, (TRIPLES,))
    others = (middle + torch.randint(1, ATOMS, (2, TRIPLES))) % ATOMS
    arguments = points(torch, ATOMS, 3), pairs, torch.cat([middle[None], others])
    return as_module(torch, (function, arguments), *networks)


def _pair_kinds(torch: Any) -> Any:
    """Return the index of each unordered pair of species."""
    first, second = torch.triu_indices(SPECIES, SPECIES)
    kinds = torch.zeros(SPECIES, SPECIES, dtype=torch.int64)
    kinds[first, second] = kinds[second, first] = torch.arange(PAIR_KINDS)
    return kinds


def _length(vectors: Any) -> Any:
    return (vectors.square().sum(-1, keepdim=True) + 1e-6).sqrt()


def _cutoff(torch: Any, distance: Any) -> Any:
    return 0.5 * torch.cos(distance * (math.pi / RANGE)) + 0.5


def _radial(torch: Any, positions: Any, pairs: Any, species: Any) -> Any:
    """Sum Gaussians of distances over the neighbours of each species."""
    distance = _length(positions[pairs[1]] - positions[pairs[0]])
    shifts = torch.linspace(0.5, RANGE, SHIFTS).to(positions.dtype)
    terms = torch.exp(-4 * (distance - shifts) ** 2) * _cutoff(torch, distance)
    rows = pairs[0] * SPECIES + species[pairs[1]]
    start = torch.zeros(ATOMS * SPECIES, SHIFTS).to(positions.dtype)
    return start.index_add(0, rows, terms).reshape(ATOMS, -1)


def _angular(torch: Any, positions: Any, triples: Any, kinds: Any) -> Any:
    """Sum functions of angle and mean distance over the pairs of neighbours of each pair of species."""
    one, other = (positions[triples[i]] - positions[triples[0]] for i in (1, 2))
    a, b = _length(one), _length(other)
    angle = torch.acos(0.95 * (one * other).sum(-1, keepdim=True) / (a * b))
    angles = torch.linspace(0.2, 3, ANGLES).to(positions.dtype)
    rings = torch.linspace(0.5, RANGE, RINGS).to(positions.dtype)
    turned = 2 * ((1 + torch.cos(angle - angles)) / 2) ** 32
    far = torch.exp(-8 * ((a + b) / 2 - rings) ** 2) * _cutoff(torch, a) * _cutoff(torch, b)
    terms = (turned[:, :, None] * far[:, None]).flatten(1)
    start = torch.zeros(ATOMS * PAIR_KINDS, ANGLES * RINGS).to(positions.dtype)
    return start.index_add(0, triples[0] * PAIR_KINDS + kinds, terms).reshape(ATOMS, -1)
