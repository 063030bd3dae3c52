"""Arguments of ATen ops with one entry for each spatial axis, where one entry counts for all axes."""

from __future__ import annotations

from collections.abc import Sequence

from dialects.shapes.forms import Form
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
