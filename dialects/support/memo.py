"""Results of pure functions of immutable objects, kept by the objects' identity.

Types and attributes are immutable, and the same object is met many times: in every pass, and in every
clone. Their hashes and comparisons walk them from top to bottom; their identity does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 2**13
"""Results that are kept before all are dropped."""

FEW = 2**5
"""The same, of what is large and asked for several times in a row."""


@lru_cache(MOST)
def the_same(value: K) -> K:
    """One object for all that are equal: what a Memo can tell by its identity."""
    return value


class Memo:
    """Results by the identity of a sequence of objects, which are kept alive with them; at most `most`."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self._kept: dict[tuple[int, ...], tuple[Sequence[Any], Any]] = {}

    def get(self, key: Sequence[Any], compute: Callable[[], V]) -> V:
        """The result of `compute`, which depends on nothing but `key`. What it raises is not kept."""
        ids = tuple(map(id, key))
        found = self._kept.get(ids)
        if found is None:
            found = (key, compute())
            if len(self._kept) >= self.most:
                self._kept.clear()
            self._kept[ids] = found
        return found[1]


def by_identity(function: Callable[[K], V]) -> Callable[[K], V]:
    """A function of one immutable object, computed once per object."""
    kept: dict[int, tuple[K, V]] = {}

    @wraps(function)
    def cached(key: K) -> V:
        found = kept.get(id(key))
        if found is None:
            found = (key, function(key))
            if len(kept) >= MOST:
                kept.clear()
            kept[id(key)] = found
        return found[1]

    return cached
