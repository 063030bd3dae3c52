"""Delta debugging (Zeller and Hildebrandt's ddmin) of a list."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def minimal(items: Sequence[T], holds: Callable[[Sequence[T]], bool]) -> list[T]:
    """A part of the items for which `holds`, of which no single item can be left out.

    `holds` is true of all items. Chunks are left out, large ones first; it is never asked of an empty
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
    """The items without the chunks of a size that are not needed, from the end to the begin."""
    kept, end = items, len(items)
    while end > 0:
        rest = kept[: max(end - size, 0)] + kept[end:]
        if rest and len(rest) < len(kept) and holds(rest):
            kept = rest
        end -= size
    return kept
