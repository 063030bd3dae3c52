"""Parts of the tests, chosen by a hash of their names: the same in every process."""

from __future__ import annotations

import subprocess
import zlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

MOST_CASES = 12
"""Cases of a test function that is no sweep."""


def of_commit(parts: int) -> str:
    """K/N by the commit that is checked out; 1/N where there is no repository."""
    root = Path(__file__).parents[2]
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=False
    )
    number = int(found.stdout[:7], 16) if found.returncode == 0 else 0
    return f"{number % parts + 1}/{parts}"


def part(items: Sequence[pytest.Item], which: str) -> list[pytest.Item]:
    """The Kth of N parts of the tests. Raises UsageError for a text that is not K/N."""
    index, count = _read(which)
    return [item for item in items if _is_in(item, index, count)]


def part_of_sweeps(items: Sequence[pytest.Item], which: str) -> list[pytest.Item]:
    """The tests, but of each function with many cases the Kth of N parts."""
    index, count = _read(which)
    cases = Counter(map(_function, items))
    return [item for item in items if cases[_function(item)] <= MOST_CASES or _is_in(item, index, count)]


def _read(which: str) -> tuple[int, int]:
    index, _, count = which.partition("/")
    if not (index.isdecimal() and count.isdecimal() and 1 <= int(index) <= int(count)):
        raise pytest.UsageError(f"{which}: expected K/N, K from 1 to N")
    return int(index), int(count)


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _is_in(item: pytest.Item, index: int, count: int) -> bool:
    return zlib.crc32(item.nodeid.encode()) % count == index - 1
