"""`gradc-opt --list-passes`: the values of `-p`, as text and JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from gradc.compiler.pipeline_text import PIPELINES
from gradc.files.json_text import json_text
from gradc.terminal.tables import PLAIN, Look, table
from passes import PASS_NAMES
from passes.registry import all_passes


@dataclass(frozen=True)
class Option:
    name: str
    type: str
    default: Any


@dataclass(frozen=True)
class Listed:
    """A pipeline, pass or strategy (`kind`); `summary` is its first sentence."""

    name: str
    kind: str
    summary: str
    options: list[Option]


def listed() -> list[Listed]:
    pipelines = [_listed(cls, "pipeline") for cls in PIPELINES.values()]
    known = {name: make() for name, make in all_passes().items()}
    kinds = {name: "pass" if name in PASS_NAMES else "strategy" for name in known}
    return pipelines + [_listed(cls, kinds[name]) for name, cls in known.items()]


def _listed(cls: Any, kind: str) -> Listed:
    options = [Option(entry.name, str(entry.type), entry.default) for entry in fields(cls)]
    return Listed(cls.name, kind, _summary(cls), options)


def _summary(cls: Any) -> str:
    """Return the first line of the class, else (without a real docstring) of its module."""
    own = cls.__doc__ or ""
    text = (sys.modules[cls.__module__].__doc__ or "") if own.startswith(f"{cls.__name__}(") else own
    return text.partition("\n")[0].removeprefix(f"{cls.name}: ").removeprefix(f"`{cls.name}`: ")


def as_json(found: list[Listed]) -> str:
    return json_text([asdict(entry) for entry in found])


def as_text(found: list[Listed], look: Look = PLAIN) -> str:
    return table(("name", "", "what it does", "options"), _rows(found), look=look)


def _rows(found: list[Listed]) -> Iterator[tuple[str, ...]]:
    for entry in found:
        yield (entry.name, entry.kind, entry.summary, " ".join(option.name for option in entry.options))
