"""The tiers of the tests: which cases of a sweep a run takes.

A sweep checks one property on many ops, shapes, dtypes or random problems. The quick tier takes a part of its
cases, another one with each commit; all other tests belong to the quick tier as they are. tests/README.md is
the guide.
"""

from __future__ import annotations

import re
import subprocess
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

PARTS = 12
"""The number of parts of a sweep, of which the quick tier takes one."""

T = TypeVar("T")


class Tier:
    """The turn of the quick tier, an integer that changes with the commit; None: sweeps run whole."""

    turn: int | None = None


def turn_of_commit() -> int:
    """The checked-out commit as a number; 0 without a repository."""
    root = Path(__file__).parents[2]
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    return int(found.stdout[:7], 16) if found.returncode == 0 else 0


def some(cases: Iterable[T], parts: int = PARTS) -> list[T]:
    """Return the cases of this run, for a sweep that loops over its cases: a part of them, never none.

    Parts are drawn: every fourth case of a product would be all cases of one of its factors' values.
    """
    every = list(cases)
    if Tier.turn is None:
        return every
    drawn = sorted(range(len(every)), key=lambda index: zlib.crc32(str(index).encode()))
    part = drawn[Tier.turn % min(parts, max(len(every), 1)) :: parts]
    return [every[index] for index in sorted(part)]


def quick_part(items: Sequence[pytest.Item], turn: int) -> list[pytest.Item]:
    """Return the tests without the cases of sweeps that other turns take, in the given order."""
    groups: defaultdict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        groups[_group(item)].append(item)
    chosen = {item for group in groups.values() for item in _part_of_group(group, turn)}
    return [item for item in items if item in chosen]


def slice_of(items: Sequence[pytest.Item], which: str) -> list[pytest.Item]:
    """Return the Kth of N slices of the tests. Raises UsageError for a text that is not K/N."""
    index, _, count = which.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise pytest.UsageError(f"{which}: expected K/N, K from 1 to N")
    return [item for item in items if _hash(item) % int(count) == int(index) - 1]


def _group(item: pytest.Item) -> tuple[str, str]:
    """The sweep of a test, and the registry entry in its id: each entry has a case in every turn."""
    function, _, case = item.nodeid.partition("[")
    marker = item.get_closest_marker("sweep")
    given = marker.kwargs if marker else {}
    found = re.search(given["entries"], case) if "entries" in given else None
    return given.get("group", function), found[0] if found else ""


def _part_of_group(group: list[pytest.Item], turn: int) -> list[pytest.Item]:
    marker = group[0].get_closest_marker("sweep")
    if marker is None:
        return group
    parts = min(marker.kwargs.get("parts", PARTS), len(group))
    return sorted(group, key=_hash)[turn % parts :: parts]


def _hash(item: pytest.Item) -> int:
    """A hash that is the same in every process."""
    return zlib.crc32(item.nodeid.encode())
