"""What code writes into documents for people, between markers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from gradc.files import write_whole


def between(text: str, begin: str, end: str, content: str) -> str:
    """The document with new content between its markers. Raises ValueError if it lacks them."""
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"no {begin} .. {end}")
    return f"{before}{begin}\n{content}\n{end}{after}"


def main(arguments: Sequence[str], module: str, refreshed: Callable[[str], str]) -> int:
    """`[--check] FILE`: write the file anew, or say that it is stale. The exit code."""
    check = "--check" in arguments
    (name,) = (a for a in arguments if a != "--check")
    path = Path(name)
    text = path.read_text(encoding="utf-8")
    fresh = refreshed(text)
    if not check:
        write_whole(path, fresh.encode())
        return 0
    if text != fresh:
        print(f"{name} is stale; run python -m {module} {name}")
    return int(text != fresh)
