"""Delta debugging of a list (Zeller and Hildebrandt's ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal(items: Sequence[T], holds: Callable[[Sequence[T]], bool]) -> list[T]:
    """Return a part of the items that `holds` and from which no single item can be removed.

    `holds` must be true for all items. Chunks are removed, large ones first; it is never called with an empty
    part.
    """
    kept, size = list(items), (len(items) + 1) // 2
    while size >= 1:
        before = len(kept)
        kept = _without_chunks(kept, size, holds)
        if size == 1 and len(kept) == before:
            break
        size = max(size // 2, 1)
    return kept


def _without_chunks(items: list[T], size: int, holds: Callable[[Sequence[T]], bool]) -> list[T]:
    """Remove the chunks of a size that are not needed, from the end to the start."""
    kept, end = items, len(items)
    while end > 0:
        rest = kept[: max(end - size, 0)] + kept[end:]
        if rest and len(rest) < len(kept) and holds(rest):
            kept = rest
        end -= size
    return kept
