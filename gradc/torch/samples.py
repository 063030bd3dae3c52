"""Arguments of an exported function at other sizes of its dims, made from the example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialects.shapes.sizes import substitute
from gradc.importers.torch.arguments import Arguments, Leaf, within
from gradc.importers.torch.dynamic import Dims
from gradc.importers.torch.torch_internals import torch

SPREAD = 0.05
"""Relative noise on rows that repeat those of the example, so that no two are equal."""


@dataclass(frozen=True)
class Sample:
    """Tensors of the arguments, in order, at given sizes of the dims."""

    sizes: Mapping[str, int]
    tensors: Sequence[Any]

    def __str__(self) -> str:
        return ", ".join(f"{name} = {size}" for name, size in self.sizes.items()) or "the example"


def example(arguments: Arguments) -> Sample:
    """Return the arguments that the user gave."""
    return Sample(dict(arguments.dims), [leaf.tensor for leaf in arguments.tensors])


def other_sizes(dims: Dims) -> Iterator[Mapping[str, int]]:
    """Yield sizes within the bounds of the dims: larger ones, then 1 and 0 for all dims and for each."""
    for sizes in _all_sizes(dims.examples):
        if all(low <= sizes[name] <= high for name, (low, high) in dims.bounds.items()):
            yield sizes


def _all_sizes(dims: Mapping[str, int]) -> Iterator[dict[str, int]]:
    if not dims:
        return
    for factor, added in ((2, 1), (1, 2), (3, 0), (2, 0)):
        yield {name: factor * size + added for name, size in dims.items()}
    for edge in (1, 0):
        yield dict.fromkeys(dims, edge)
    if len(dims) > 1:
        for edge in (1, 0):
            yield from ({**dims, name: edge} for name in dims)


def at_sizes(arguments: Arguments, sizes: Mapping[str, int], seed: int) -> Sample:
    """Return arguments of other sizes: rows of the example, repeated with noise or left out."""
    generator = torch.Generator().manual_seed(seed)
    return Sample(sizes, [_resize(leaf, sizes, generator) for leaf in arguments.tensors])


def _resize(leaf: Leaf, sizes: Mapping[str, int], generator: Any) -> Any:
    found = leaf.tensor.detach()
    for axis, size in enumerate(leaf.shape):
        count = substitute(size, sizes)
        if count != found.shape[axis]:
            rows = torch.arange(count) % max(found.shape[axis], 1)
            found = found.index_select(axis, rows)
    if found.shape == leaf.tensor.shape:
        return leaf.tensor
    if found.is_floating_point():
        noise = torch.randn(found.shape, generator=generator, dtype=torch.float64)
        found = within(leaf.tensor, found * (1 + SPREAD * noise))
    return found.requires_grad_(leaf.tensor.requires_grad)
