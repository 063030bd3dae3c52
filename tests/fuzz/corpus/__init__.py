"""Small inputs that are worth trying first: `corpus/TARGET/NAME.SUFFIX`."""

from __future__ import annotations

from pathlib import Path

from fuzz.targets import TARGETS

CORPUS = Path(__file__).parent


def files(target: str, folder: Path = CORPUS) -> list[Path]:
    """The cases of a target, in order."""
    suffix = TARGETS[target].suffix
    return sorted(path for path in (folder / target).glob(f"*{suffix}") if path.is_file())
