"""Arguments of an example that share memory, which the inputs of a model do not."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from gradc.importers.torch import refusals
from gradc.importers.torch.arguments import Leaf


def check_shared(leaves: Sequence[Leaf], changed: set[str], location: str) -> None:
    """Raise the error of two arguments of which a model computes something else than the function.

    One tensor given twice has one gradient; an argument that is changed in place may change another.
    """
    for one, other in combinations(leaves, 2):
        if one.tensor is other.tensor and one.tensor.requires_grad:
            raise refusals.one_argument_twice(one.name, other.name, location)
        written = [leaf for leaf in (one, other) if leaf.name in changed]
        if written and _overlap(one.tensor, other.tensor):
            rest = other if written[0] is one else one
            raise refusals.change_of_shared(written[0].name, rest.name, location)


def _overlap(one: Any, other: Any) -> bool:
    (start, end), (other_start, other_end) = _bytes_of(one), _bytes_of(other)
    return start < other_end and other_start < end


def _bytes_of(tensor: Any) -> tuple[int, int]:
    """Return the addresses of the first byte of a tensor and of the byte after its last one."""
    if not tensor.numel():
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()
