"""Memoization of pure functions on immutable objects, keyed by identity.

Types and attributes are immutable, and passes and clones share them. Hashing or comparing them walks their
whole structure; their identity does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MEMO_SIZE = 2**13
"""Cached results before the cache is cleared."""

SMALL_MEMO_SIZE = 2**5
"""The same for large results that are requested several times in a row."""


@lru_cache(MEMO_SIZE)
def intern_value(value: K) -> K:
    """Return one object for all equal values, so that a Memo can identify them."""
    return value


class Memo:
    """A cache keyed by identity of a sequence of objects, which it keeps alive; at most `most` results."""

    def __init__(self, most: int = MEMO_SIZE) -> None:
        self.most = most
        self._kept: dict[tuple[int, ...], tuple[Sequence[Any], Any]] = {}

    def get(self, key: Sequence[Any], compute: Callable[[], V]) -> V:
        """Return the cached result of `compute`, which depends on `key` only. Exceptions are not cached."""
        ids = tuple(map(id, key))
        found = self._kept.get(ids)
        if found is None:
            found = (key, compute())
            if len(self._kept) >= self.most:
                self._kept.clear()
            self._kept[ids] = found
        return found[1]


def by_identity(function: Callable[[K], V]) -> Callable[[K], V]:
    """Memoize a function of one immutable object by its identity."""
    kept: dict[int, tuple[K, V]] = {}

    @wraps(function)
    def lookup(key: K) -> V:
        found = kept.get(id(key))
        if found is None:
            found = (key, function(key))
            if len(kept) >= MEMO_SIZE:
                kept.clear()
            kept[id(key)] = found
        return found[1]

    return lookup
