"""Reports about several ops in one message, and several errors in one exception."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Operation

from dialects.support.diagnostics import (
    Diagnostic,
    GradcError,
    Position,
    identifier_of,
    kind_of,
    name_of,
    position_of,
    several,
    subject_of,
)
from dialects.support.limits import LimitError

MAX_LOCATIONS = 8
"""Locations that a message lists per kind of op."""

MAX_ERRORS = 20
"""Errors shown at once; the rest is counted."""


@dataclass(frozen=True)
class OpReference:
    """An op that a message is about; `identifier` is its id in a document, or ''."""

    kind: str
    subject: str
    position: Position | None
    identifier: str = ""
    name: str = ""

    @classmethod
    def of(cls, op: Operation) -> OpReference:
        return cls(kind_of(op), subject_of(op), position_of(op), identifier_of(op), name_of(op))

    def __str__(self) -> str:
        """Return its source location, or its name if it has none, as in an ONNX model."""
        place = f"{self.position.line}:{self.position.column}" if self.position else ""
        identifier = f"id {self.identifier}" if self.identifier else ""
        return " at ".join(filter(None, (identifier, place))) or self.name


def summarize_by_kind(found: Sequence[OpReference], total: int | None) -> str:
    """Return `3 of 60 ops: 2 Add (id 3 at 13:5 and id 4 at 20:5), 1 ReLU (id 7 at 41:5)`, by frequency.

    `total` is None if unknown.
    """
    kinds: dict[str, list[OpReference]] = {}
    for finding in found:
        kinds.setdefault(finding.kind, []).append(finding)
    ordered = sorted(kinds.items(), key=lambda item: -len(item[1]))
    parts = [f"{len(those)} {kind}{locations(those)}" for kind, those in ordered]
    count = f"{len(found):,}" if total is None else f"{len(found):,} of {total:,}"
    return f"{count} ops: {', '.join(parts)}"


def first_of_each_kind(found: Iterable[OpReference]) -> list[OpReference]:
    firsts: dict[str, OpReference] = {}
    for finding in found:
        firsts.setdefault(finding.kind, finding)
    return list(firsts.values())


def locations(found: Sequence[OpReference]) -> str:
    texts = [text for finding in found if (text := str(finding))]
    return f" ({several(texts, MAX_LOCATIONS)})" if texts else ""


def is_opaque(op: Operation) -> bool:
    """Return whether an op represents one that was not understood."""
    return isinstance(op, UnregisteredOp)


@dataclass
class Errors:
    """Collects a user's mistakes, to raise them together."""

    found: list[GradcError] = field(default_factory=list)

    @contextmanager
    def collecting(self) -> Generator[None]:
        """Record a GradcError raised in the block. A LimitError propagates at once."""
        try:
            yield
        except LimitError:
            raise
        except GradcError as error:
            self.found.append(error)

    def attempt(self, check: Callable[..., object], *args: Any) -> None:
        """Call `check(*args)` as within `collecting`, but faster."""
        try:
            check(*args)
        except LimitError:
            raise
        except GradcError as error:
            self.found.append(error)

    def check(self) -> None:
        """Raise the recorded errors, if any."""
        if self.found:
            raise combine(self.found) from None


def combine(errors: Sequence[GradcError]) -> GradcError:
    """Combine errors into one of the first one's class, without duplicates."""
    diagnostics = list(dict.fromkeys(d for error in errors for d in error.diagnostics))
    shown, left = diagnostics[:MAX_ERRORS], len(diagnostics) - MAX_ERRORS
    if left > 0:
        shown.append(Diagnostic("error", f"{left:,} more errors are not shown"))
    return type(errors[0])(shown[0], shown[1:])
