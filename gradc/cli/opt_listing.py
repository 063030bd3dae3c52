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
class Entry:
    """A pipeline, pass or strategy (`kind`); `summary` is its first sentence."""

    name: str
    kind: str
    summary: str
    options: list[Option]


def list_passes() -> list[Entry]:
    pipelines = [_entry(cls, "pipeline") for cls in PIPELINES.values()]
    known = {name: make() for name, make in all_passes().items()}
    kinds = {name: "pass" if name in PASS_NAMES else "strategy" for name in known}
    return pipelines + [_entry(cls, kinds[name]) for name, cls in known.items()]


def _entry(cls: Any, kind: str) -> Entry:
    options = [Option(entry.name, str(entry.type), entry.default) for entry in fields(cls) if entry.init]
    return Entry(cls.name, kind, _summary(cls), options)


def _summary(cls: Any) -> str:
    """Return the first line of the class, else (without a real docstring) of its module."""
    own = cls.__doc__ or ""
    text = (sys.modules[cls.__module__].__doc__ or "") if own.startswith(f"{cls.__name__}(") else own
    return text.partition("\n")[0].removeprefix(f"{cls.name}: ").removeprefix(f"`{cls.name}`: ")


def as_json(found: list[Entry]) -> str:
    return json_text([asdict(entry) for entry in found])


def as_text(found: list[Entry], look: Look = PLAIN) -> str:
    return table(("name", "", "what it does", "options"), _rows(found), look=look)


def _rows(found: list[Entry]) -> Iterator[tuple[str, ...]]:
    for entry in found:
        yield (entry.name, entry.kind, entry.summary, " ".join(option.name for option in entry.options))
