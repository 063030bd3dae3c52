"""Caches of `functools` that a captured function fills."""

from __future__ import annotations

import functools
import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

_WRAPPER = type(functools.lru_cache(lambda: None))


def find_caches() -> list[Any]:
    """Return the functions with a cache that are defined outside of torch."""
    found = [one for one in gc.get_objects() if type(one) is _WRAPPER]
    return [one for one in found if str(one.__module__).partition(".")[0] != "torch"]


@contextmanager
def forget(caches: Sequence[Any]) -> Iterator[None]:
    """Empty the caches that are filled meanwhile: they hold tensors without values."""
    before = [cache.cache_info().misses for cache in caches]
    try:
        yield
    finally:
        for cache, misses in zip(caches, before, strict=True):
            if cache.cache_info().misses != misses:
                cache.cache_clear()
