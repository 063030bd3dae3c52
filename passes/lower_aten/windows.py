"""Spatial axes of ATen ops: arguments with an entry for each, and data without a batch axis."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.shapes.forms import Form
from passes.builder.values import Value
from passes.lower_aten.call import Call


def per_axis(f: Call, given: Sequence[Form], n: int) -> list[int]:
    """Return an entry for each of n axes. Raises UnsupportedError for entries that depend on dims."""
    entries = list(given) * n if len(given) == 1 else list(given)
    known = [entry for entry in entries if isinstance(entry, int)]
    if len(known) != len(entries):
        found = next(entry for entry in entries if not isinstance(entry, int))
        hint = "a reduction over the axis, or a dim of fixed size"
        raise f.refusal("a window that depends on a dim", given=found, expected="fixed numbers", hint=hint)
    return known or [0] * n


def sizes_of(x: Value) -> list[Form]:
    """Return the sizes of an operand, which torch knows."""
    return [size for size in x.shape if size is not None]


def add_batch(x: Value, n: int) -> Value:
    """Return the data (N, C, X...); (C, X...) as C samples of one channel, which may be none."""
    return x if x.rank == n + 2 else x.unsqueeze([1])


def remove_batch(y: Value, x: Value) -> Value:
    """Undo `batched` of x."""
    return y if y.rank == x.rank else y.squeeze([1])
