"""Located, one-line diagnostics, and the exceptions that carry them.

There are two kinds of error. A *user's* mistake is a `GradcError`: its text is the very line that
the command line prints, it has no traceback, and it names the culprit and the remedy. *Our* mistake
is an assertion or any other exception: the driver turns it into a crash reproducer.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from xdsl.dialects.builtin import (
    FileLineColLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

MIXED_GRAPHS = "docs/mixed_graphs.md"
"""Page on graphs that mix gradients with other ops."""

Severity = Literal["error", "warning", "remark"]


@dataclass(frozen=True, slots=True)
class Position:
    """A location in a source file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One line: `file:line:col: severity: [Kind "name"] message`."""

    severity: Severity
    """`error`, `warning` or `remark`."""

    message: str
    """The text, without location and subject."""

    subject: str = ""
    """Kind and name of the op; '' if there is none."""

    position: Position | None = None
    """File, line and column, if known."""

    strict: bool = False
    """Whether `--strict` turns it into an error."""

    def __str__(self) -> str:
        where = f"{self.position}: " if self.position else ""
        subject = f"[{self.subject}] " if self.subject else ""
        return printable(" ".join(f"{where}{self.severity}: {subject}{self.message}".split()))

    def as_data(self) -> dict[str, Any]:
        """Return a JSON object that always has the same keys; unknown values are None."""
        place = self.position
        return {
            "severity": self.severity,
            "message": self.message,
            "subject": self.subject or None,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
        }

    def with_severity(self, severity: Severity) -> Diagnostic:
        """Return the same diagnostic with another severity."""
        return replace(self, severity=severity)


class GradcError(DiagnosticException):
    """A user's mistake; `str(error)` is the diagnostic line that the CLI prints.

    `others` are further diagnostics, one line each. `graph` is the part of the graph that could be read, for
    a picture; ops that were not understood are UnregisteredOps.
    """

    exit_code = 4
    """Exit code of a command that ends with this error."""

    def __init__(self, diagnostic: Diagnostic, others: Sequence[Diagnostic] = ()):
        super().__init__("\n".join(map(str, (diagnostic, *others))))
        self.diagnostic = diagnostic
        self.others = tuple(others)
        self.graph: ModuleOp | None = None

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The first diagnostic, and `others`."""
        return (self.diagnostic, *self.others)

    def map_diagnostics(self, change: Callable[[Diagnostic], Diagnostic]) -> Self:
        """Return the same error with each diagnostic changed."""
        first, *others = map(change, self.diagnostics)
        found = type(self)(first, others)
        found.graph = self.graph
        return found

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows: the message and its notes, without a traceback."""
        return [str(self), *getattr(self, "__notes__", ())]

    def at_op(self, op: Operation) -> GradcError:
        """Return the same error, located at `op` unless it has a location already."""
        if self.diagnostic.position or self.diagnostic.subject:
            return self
        return type(self)(diagnostic_at(op, "error", self.diagnostic.message))


class UnsupportedError(GradcError):
    """A legal input that gradc, or the chosen target, opset or strategy, cannot compile."""

    exit_code = 3


class UsageError(GradcError):
    """An invalid option or argument, whatever the graph."""

    exit_code = 2


def violation(what: str, *, given: object = None, expected: object = None, hint: str = ""):
    """Return a `GradcError` without a location, which the op that runs the check adds.

    The message reads `what: given G, expected E; hint`; absent parts are left out.
    """
    return GradcError(Diagnostic("error", sentence(what, given, expected, hint)))


def usage(what: str, given: object = None, expected: object = None, hint: str = "") -> UsageError:
    """Return the UsageError of an argument, in the words of `violation`."""
    return UsageError(Diagnostic("error", sentence(what, given, expected, hint)))


def sentence(what: str, given: object = None, expected: object = None, hint: str = "") -> str:
    parts: list[str] = []
    if given is not None:
        parts.append("given " + (str(given) or "''"))
    if expected is not None:
        parts.append(f"expected {expected}")
    text = f"{what}: {', '.join(parts)}" if parts else what
    return f"{text}; {hint}" if hint else text


def diagnostic_at(op: Operation, severity: Severity, message: str, *, strict: bool = False) -> Diagnostic:
    return Diagnostic(severity, message, subject_of(op), position_of(op), strict)


def error_at(
    op: Operation,
    what: str,
    *,
    given: object = None,
    expected: object = None,
    hint: str = "",
    kind: type[GradcError] = GradcError,
) -> GradcError:
    return kind(diagnostic_at(op, "error", sentence(what, given, expected, hint)))


def subject_of(op: Operation) -> str:
    """Return `Kind "name"`: the documented kind, or op name, and the name in the source."""
    kind, name, identifier = kind_of(op), name_of(op), identifier_of(op)
    suffix = f" id {identifier}" if identifier else ""
    return (f'{kind} "{name}"' if name else kind) + suffix


def kind_of(op: Operation) -> str:
    """Return the documented kind of an op, else the op name."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else getattr(op, "KIND", op.name)


def identifier_of(op: Operation) -> str:
    """Return the op's id in the document, or ''."""
    identifier = op.attributes.get("source.id")
    return identifier.data if isinstance(identifier, StringAttr) else ""


def position_of(op: Operation) -> Position | None:
    return _position(op.location)


def _position(location: Attribute) -> Position | None:
    match location:
        case FileLineColLoc():
            return Position(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return _position(location.location)
        case _:
            return None


def name_of(op: Operation) -> str:
    """Return the op's name in the source, or ''."""
    return op.location.desc.data if isinstance(op.location, NameLoc) else ""


def printable(text: str) -> str:
    """Escape control characters: names in a file may be hostile."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def location(name: str = "", position: Position | None = None):
    """Return the xDSL location for an optional name and position."""
    place = (
        FileLineColLoc(StringAttr(position.file), IntAttr(position.line), IntAttr(position.column))
        if position
        else None
    )
    if name:
        return NameLoc(StringAttr(name), place or NoneAttr())
    return place or UnknownLoc()


MAX_NAMED = 12
"""Items of a list that a message names before it counts the rest."""


def several(words: Sequence[str], most: int = MAX_NAMED) -> str:
    """Join words as `a`, `a and b`, `a, b and c`; of a longer list only the first `most`."""
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most:,} more"
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def suggest(word: str, known: Iterable[str]) -> str:
    """Return a did-you-mean hint, or ''. Ignores case."""
    spelling = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(word.lower(), spelling, n=2, cutoff=0.6)
    if not found:
        return ""
    return "did you mean " + " or ".join(spelling[match] for match in found) + "?"
