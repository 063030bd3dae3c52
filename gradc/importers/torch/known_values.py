"""Tensors whose values follow from sizes and literals alone, such as `~torch.eye(n, dtype=torch.bool)`: their
elements may decide over a shape, since a trace at each size shows how the shape depends on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gradc.importers.torch import torch_internals as internals
from gradc.importers.torch.torch_internals import aten, torch

MOST_ELEMENTS = 2**25
"""Elements up to which values are computed."""

LARGEST_LITERAL = 4096
"""Elements up to which a tensor that is written in the code is known."""

_PUTS = ("index_put", "index_put_", "_unsafe_index_put", "_index_put_impl_")


@dataclass(frozen=True)
class _Recipe:
    """An op whose operands are known, and the result of which a tensor is; the tensor is kept alive."""

    op: Any
    args: Any
    kwargs: Any
    tensor: Any


class KnownValues:
    """The known tensors of a trace. Values are computed when they are needed."""

    def __init__(self) -> None:
        self.recipes: dict[int, _Recipe] = {}

    def note(self, op: Any, args: Any, kwargs: Mapping[str, Any], result: Any) -> None:
        """Take notice of an op that ran: of a new known tensor, or of one that it changed."""
        given = [leaf for leaf in internals.pytree.tree_leaves((args, kwargs)) if _is_tensor(leaf)]
        if internals.mutates(op):
            self._forget({_memory(tensor) for tensor in given})
        elif op is aten.lift_fresh.default:
            self._note_literal(args[0], result)
        elif _is_tensor(result) and all(id(tensor) in self.recipes for tensor in given):
            self.recipes[id(result)] = _Recipe(op, args, kwargs, result)

    def _note_literal(self, literal: Any, result: Any) -> None:
        """Take notice of a tensor that is written in the code, such as `torch.tensor([True, False])`."""
        if internals.is_fake(literal) or literal.numel() > LARGEST_LITERAL:
            return
        with internals.without_modes():
            values = literal.detach().clone()
        self.recipes[id(result)] = _Recipe(lambda: values, (), {}, result)

    def _forget(self, changed: set[int]) -> None:
        for key, recipe in list(self.recipes.items()):
            if _memory(recipe.tensor) in changed:
                del self.recipes[key]

    def number(self, tensor: Any, of: Callable[[Any], Any]) -> Any:
        """Return a number of the values of a tensor; None if they are not known."""
        if not _is_tensor(tensor) or id(tensor) not in self.recipes or tensor.numel() > MOST_ELEMENTS:
            return None
        needed = self._leading_to(tensor)
        if not needed.issubset(self.recipes):  # an operand has changed since
            return None
        with internals.without_modes():
            return of(self._compute(needed)[id(tensor)]).item()

    def _leading_to(self, tensor: Any) -> set[int]:
        """Return the ids of a known tensor and of all tensors that it was computed from."""
        found, waiting = set[int](), [id(tensor)]
        while waiting:
            key = waiting.pop()
            if key not in found and key in self.recipes:
                recipe = self.recipes[key]
                waiting += map(
                    id, filter(_is_tensor, internals.pytree.tree_leaves((recipe.args, recipe.kwargs)))
                )
            found.add(key)
        return found

    def _compute(self, needed: set[int]) -> dict[int, Any]:
        """Return the values of tensors by id; recipes are in the order of their ops."""
        values: dict[int, Any] = {}

        def value(leaf: Any) -> Any:
            return values[id(leaf)] if _is_tensor(leaf) else leaf

        for key, recipe in self.recipes.items():
            if key in needed:
                args, kwargs = internals.pytree.tree_map(value, (recipe.args, recipe.kwargs))
                values[key] = recipe.op(*args, **kwargs)
        return values

    def answer(self, op: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Return the result of an op that reads the values of known tensors; NotImplemented for others.

        The elements of a mask become indices, whose number is fixed in a trace.
        """
        name = internals.base_name(op)
        if name == "_local_scalar_dense":
            number = self.number(args[0], lambda value: value)
            return NotImplemented if number is None else number
        if name == "nonzero":
            return self._positions(args[0])
        if name == "masked_select" and args[0].shape == args[1].shape:
            indices = self._without_masks([args[1]])
            return NotImplemented if indices is None else aten.index(args[0], indices)
        if name in ("index", "_unsafe_index", *_PUTS):
            indices = self._without_masks(args[1])
            return NotImplemented if indices is None else op(args[0], indices, *args[2:], **kwargs)
        return NotImplemented

    def _positions(self, mask: Any) -> Any:
        count = self.number(mask, torch.count_nonzero)
        return NotImplemented if count is None else aten.nonzero_static(mask, size=count)

    def _without_masks(self, indices: Any) -> list[Any] | None:
        """Return indices in place of masks; None without a mask, or if one is not known."""
        found, is_masked = list[Any](), False
        for index in indices:
            if index is None or index.dtype not in (torch.bool, torch.uint8):
                found.append(index)
                continue
            positions = self._positions(index)
            if positions is NotImplemented:
                return None
            is_masked = True
            found += positions.unbind(1)
        return found if is_masked else None


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor)


def _memory(tensor: Any) -> int:
    return tensor.untyped_storage()._cdata
