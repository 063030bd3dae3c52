"""An op's schema, parsed from its entry in `signatures.py`.

An entry is a text of a few lines:

    input: T, min: T?, max: T? -> output: T
    {axis: INT!, keepdims: INT = 1, mode: STRING}
    13 2..3 -mode: T = f* bf16; T1 = s64

The first line lists operands and results with their type variable or fixed dtype; `?` is optional, `*`
variadic, `**` variadic with independent types. The second lists attributes with defaults, `!` marks required
ones; a GRAPH is a region. Each further line is a revision: its opset, number of operands, missing attributes,
and the types of each variable.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dialects.onnx.opsets import ANY, Version
from dialects.support.dtypes import ONNX_DTYPES

SINGLE, OPTIONAL, VARIADIC, HETEROGENEOUS = "", "?", "*", "**"

GRAPH = "GRAPH"
"""The attribute kind that is a region here."""

GROUPS: dict[str, tuple[str, ...]] = {
    "t*": (
        *("f32", "f16", "f64", "s32", "s64", "s8", "s16", "u8", "u16", "u32", "u64", "c64", "c128"),
        *("boolean", "string"),
    ),
    "f*": ("f32", "f16", "f64"),
    "s*": ("s32", "s64", "s8", "s16"),
    "u*": ("u8", "u16", "u32", "u64"),
    "c*": ("c64", "c128"),
    "f8*": ("f8_e4m3", "f8_e4m3fnuz", "f8_e5m2", "f8_e5m2fnuz"),
    "i4*": ("s4", "u4"),
    "i2*": ("s2", "u2"),
    "f6*": ("f6_e2m3", "f6_e3m2"),
}
"""Names of dtype groups."""

_ORDER = {dtype.name: i for i, dtype in enumerate(ONNX_DTYPES)}


@dataclass(frozen=True)
class Port:
    """An operand or result. `variable` is its type variable or fixed dtype."""

    name: str
    variable: str
    option: str


@dataclass(frozen=True)
class AttributeSignature:
    """An attribute; `kind` is one of the constraints in `attributes`; `default` a Python value, or None."""

    name: str
    kind: str
    required: bool
    default: Any


@dataclass(frozen=True)
class Signature:
    """The newest form of an op, and what its revisions admit, oldest first."""

    operands: tuple[Port, ...]
    results: tuple[Port, ...]
    attributes: tuple[AttributeSignature, ...]
    versions: tuple[Version, ...]
    revisions: tuple[int, ...]

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """The kind of each attribute that is not a region."""
        return {a.name: a.kind for a in self.attributes if a.kind != GRAPH}

    @property
    def types(self) -> Mapping[str, str]:
        return {port.name: port.variable for port in (*self.operands, *self.results)}


def read(text: str) -> Signature:
    """Parse an entry."""
    ports, *lines = (line.strip() for line in text.strip().splitlines())
    operands, results = (_ports(part) for part in ports.split("->"))
    attributes = _attributes(lines.pop(0)) if lines[0].startswith("{") else ()
    names = [attribute.name for attribute in attributes if attribute.kind != GRAPH]
    versions = [_version(line, names) for line in lines]
    revisions = tuple(version.since for version in versions)
    return Signature(operands, results, attributes, tuple(_different(versions)), revisions)


def _ports(text: str) -> tuple[Port, ...]:
    found: list[Port] = []
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, _, variable = entry.partition(": ")
        bare = variable.rstrip("?*")
        found.append(Port(name, bare, variable[len(bare) :]))
    return tuple(found)


def _attributes(line: str) -> tuple[AttributeSignature, ...]:
    entries = re.findall(r"(\w+): (\w+)(!?)(?: = (\"[^\"]*\"|[^,}\[]+|\[[^\]]*\]))?", line)
    return tuple(
        AttributeSignature(name, kind, bool(required), json.loads(default) if default else None)
        for name, kind, required, default in entries
    )


def _version(line: str, names: list[str]) -> Version:
    head, _, types = line.partition(":")
    since, count, *lacking = head.split()
    low, _, high = count.partition("..")
    entries = (entry.partition(" = ") for entry in types.split(";") if entry.strip())
    return Version(
        since=int(since),
        attributes=" ".join(name for name in names if f"-{name}" not in lacking),
        min_inputs=int(low),
        max_inputs=ANY if high == "" and ".." in count else int(high or low),
        types={variable.strip(): " ".join(expand_groups(words)) for variable, _, words in entries},
    )


def _different(versions: list[Version]) -> list[Version]:
    """Drop versions that admit the same as their predecessor."""
    kept: list[Version] = []
    for version in versions:
        before = kept[-1] if kept else None
        if before is None or _content(before) != _content(version):
            kept.append(version)
    return kept


def _content(version: Version) -> tuple[object, ...]:
    return version.attributes, version.min_inputs, version.max_inputs, version.types


def expand_groups(words: str) -> list[str]:
    """Expand a list of dtypes and groups, in the order of the table of dtypes."""
    found = [name for word in words.split() for name in _group(word)]
    return sorted(found, key=lambda name: (_ORDER.get(name, len(_ORDER)), name))


def _group(word: str) -> tuple[str, ...]:
    if word in GROUPS:
        return GROUPS[word]
    container, _, inner = word.rpartition("(")
    group = GROUPS.get(inner.rstrip(")"))
    if not container or group is None:
        return (word,)
    return tuple(f"{container}({name}{word[len(container) + 1 + len(inner.rstrip(')')) :]}" for name in group)


def group_types(names: set[str]) -> str:
    """Return the shortest list of dtypes and groups for a set of types, the inverse of `expand_groups`."""
    words: list[str] = []
    for prefix in ("", "seq(", "optional(", "optional(seq("):
        suffix = ")" * prefix.count("(")
        own = {n[len(prefix) : len(n) - len(suffix)] for n in names if n.startswith(prefix)} & set(_ORDER)
        for group, members in GROUPS.items():
            if own >= set(members):
                words.append(f"{prefix}{group}{suffix}")
                own -= set(members)
        words += [f"{prefix}{name}{suffix}" for name in sorted(own, key=lambda name: _ORDER[name])]
    return " ".join(words)
