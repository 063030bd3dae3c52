"""The arguments of a captured function: their tensors, names and dims."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialects.shapes.forms import Form
from dialects.shapes.sizes import substitute
from dialects.support.diagnostics import usage
from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.dynamic import (
    Dims,
    by_attributes,
    check_derived,
    check_entries,
    check_keys,
    entry_at,
    shape_of,
)
from gradc.importers.torch.torch_internals import torch


@dataclass(frozen=True)
class Leaf:
    """A tensor of the arguments: its position among all leaves, its name, and its declared shape."""

    position: int
    name: str
    tensor: Any
    shape: tuple[Form, ...]


@dataclass(frozen=True)
class Arguments:
    """Arguments as a flat list of leaves; `tensors` are the inputs in order."""

    leaves: tuple[Any, ...]
    spec: Any
    tensors: tuple[Leaf, ...]
    dynamic: Dims

    @property
    def dims(self) -> Mapping[str, int]:
        """The dynamic dims with the sizes of the example."""
        return self.dynamic.examples

    def build(self, tensors: Sequence[Any]) -> tuple[Any, Any]:
        """Return positional and keyword arguments with other tensors."""
        leaves = list(self.leaves)
        for leaf, tensor in zip(self.tensors, tensors, strict=True):
            leaves[leaf.position] = tensor
        return internals.pytree.tree_unflatten(leaves, self.spec)

    def fakes(self, sizes: Mapping[str, int]) -> list[Any]:
        """Return tensors without values; called under a fake mode."""
        return [_fake(leaf, sizes) for leaf in self.tensors]

    def reals(self, sizes: Mapping[str, int]) -> list[Any]:
        """Return tensors with values of the example."""
        return [_real(leaf, sizes) for leaf in self.tensors]


def _real(leaf: Leaf, sizes: Mapping[str, int]) -> Any:
    """Return rows of the example, repeated as often as the sizes need: indices stay in range.

    Floats get noise, other at each call: what depends on values is not the same in two traces.
    """
    found = leaf.tensor.detach()
    for axis, size in enumerate(leaf.shape):
        count = substitute(size, sizes)
        found = found.index_select(axis, torch.arange(count) % max(found.shape[axis], 1))
    if not found.is_floating_point():
        return found.clone().requires_grad_(leaf.tensor.requires_grad)
    noise = torch.randn(found.shape, generator=_NOISE, dtype=torch.float64)
    found = within(leaf.tensor, found * (1 + 0.05 * noise))
    return found.requires_grad_(leaf.tensor.requires_grad)


def within(example: Any, values: Any) -> Any:
    """Return values in the range and dtype of an example: probabilities stay below 1, distances above 0.

    Values beyond the range are reflected at its end, so that few of them are equal. An example of equal
    values has no range.
    """
    low, high = example.detach().double().aminmax() if example.numel() else (0, 0)
    if low == high:
        return values.to(example.dtype)
    reflected = torch.where(values < low, 2 * low - values, values)
    reflected = torch.where(reflected > high, 2 * high - reflected, reflected)
    return reflected.clamp(low, high).to(example.dtype)


_NOISE = torch.Generator().manual_seed(0)


def _fake(leaf: Leaf, sizes: Mapping[str, int]) -> Any:
    shape = [substitute(size, sizes) for size in leaf.shape]
    fake = torch.empty(shape, dtype=leaf.tensor.dtype)
    return fake.requires_grad_() if leaf.tensor.requires_grad else fake


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Return the names of the first `count` positional parameters of a function or module."""
    called: Any = getattr(function, "forward") if isinstance(function, torch.nn.Module) else function  # noqa: B009
    try:
        parameters = list(inspect.signature(called).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{i}" for i in range(count - len(names))]
        elif parameter.kind is not parameter.KEYWORD_ONLY and parameter.kind is not parameter.VAR_KEYWORD:
            names.append(parameter.name)
    return [*names, *(f"input_{i}" for i in range(len(names), count))][:count]


def path_name(first: str, path: Sequence[Any]) -> str:
    """Return the name of a leaf: that of its argument and the keys that lead to it."""
    return "_".join([first, *(str(_key_of(key)) for key in path)])


def unique(names: Sequence[str]) -> list[str]:
    """Return names with a number appended to repeated ones."""
    taken: set[str] = set()
    found: list[str] = []
    for name in names:
        candidate, number = name, 1
        while candidate in taken:
            candidate, number = f"{name}_{number}", number + 1
        taken.add(candidate)
        found.append(candidate)
    return found


def read_arguments(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    input_names: Sequence[str] | None,
    dynamic_shapes: Any = None,
    link: bool = False,
) -> Arguments:
    """Return the arguments of a call. With `link`, dims given as `Dim.AUTO` of one size are one dim."""
    firsts = parameter_names(function, len(args))
    paths, spec = internals.pytree.tree_flatten_with_path((tuple(args), dict(kwargs)))
    positions = [i for i, (_, leaf) in enumerate(paths) if isinstance(leaf, torch.Tensor)]
    names = unique([_name(firsts, paths[i][0]) for i in positions])
    if input_names is not None:
        if len(input_names) != len(names):
            raise usage("input_names", given=f"{len(input_names)} names", expected=f"{len(names)}")
        names = list(input_names)
    check_keys(dynamic_shapes, [*firsts, *kwargs], len(args) + len(kwargs))
    by_name = isinstance(dynamic_shapes, Mapping)
    all_keys = [_entry_keys(path, firsts, list(kwargs), by_name) for path, _ in paths]
    keys = [all_keys[i] for i in positions]
    dynamic_shapes = by_attributes(dynamic_shapes, all_keys)
    check_entries(dynamic_shapes, keys)
    dims = Dims(link=link)
    tensors: list[Leaf] = []
    for i, name, to_entry in zip(positions, names, keys, strict=True):
        tensor = paths[i][1]
        entry = entry_at(dynamic_shapes, to_entry)
        tensors.append(Leaf(i, name, tensor, shape_of(entry, name, [int(n) for n in tensor.shape], dims)))
    check_derived([leaf.shape for leaf in tensors], dims)
    return Arguments(tuple(leaf for _, leaf in paths), spec, tuple(tensors), dims)


def _entry_keys(path: Sequence[Any], firsts: Sequence[str], names: Sequence[str], by_name: bool) -> list[Any]:
    """Return the keys that lead to the entry of a leaf in `dynamic_shapes`."""
    group, first, *rest = path
    if group.idx == 0:
        key = firsts[first.idx] if by_name else first.idx
    else:
        key = first.key if by_name else len(firsts) + names.index(first.key)
    return [key, *map(_key_of, rest)]


def _key_of(key: Any) -> Any:
    return getattr(key, "key", getattr(key, "idx", getattr(key, "name", key)))


def _name(firsts: Sequence[str], path: Sequence[Any]) -> str:
    group, first, *rest = path
    if group.idx == 0:
        return path_name(str(firsts[first.idx]), rest)
    return path_name(str(first.key), rest)
