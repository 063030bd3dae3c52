"""Resource limits: sizes beyond which gradc stops with a diagnostic.

Every layer reads the limits in force with `current`; the command line and the API set them for one command or
call. As arguments they would be an option of every pass.

Exceeding a limit is no mistake: the diagnostic is a LimitError, exit code 3, and names the limit and the
option that raises it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import cache
from math import prod
from typing import Any

import numpy as np

from dialects.support import option_names
from dialects.support.diagnostics import Diagnostic, UnsupportedError, sentence, suggest, usage
from dialects.support.scoped_contextvar import override_context

OPTION = "--limit"


class LimitError(UnsupportedError):
    """A possibly valid input that exceeds a limit."""


def _limit(default: int, meaning: str) -> int:
    return field(default=default, metadata={"meaning": meaning})


@dataclass(frozen=True)
class Limits:
    """Limits on what an input may request. Raises UsageError for a value that is no positive int."""

    file_bytes: int = _limit(128 * 10**6, "bytes of a file that is read: a graph, tunings, problems")
    npz_bytes: int = _limit(2 * 10**9, "bytes of all arrays of an .npz or .safetensors file, unpacked")
    ops: int = _limit(125_000, "ops of a graph")
    nesting: int = _limit(64, "nested brackets in JSON or MLIR text")
    commas: int = _limit(4_000_000, "commas of an MLIR text; reading an element of a list takes 500 bytes")
    constant_elements: int = _limit(
        2**25, "elements of a constant in the source, or of one that gradc builds"
    )
    constant_growth: int = _limit(
        8, "elements of the constants built for an op, as a multiple of its data; 1,048,576 are free"
    )
    axis_positions: int = _limit(2**25, "positions of a resized axis that are inspected one by one")
    reference_reads: int = _limit(
        2**33,
        "numbers that the numpy reference reads, tap by tap and step by step; 16 products count as one",
    )
    reference_bytes: int = _limit(
        1_250_000_000,
        "bytes of the live values of the numpy reference, and of the temporaries of an op",
    )
    check_bytes: int = _limit(
        6_000_000_000, "bytes of values and tangents that the check of a gradient holds at once"
    )
    nodes: int = _limit(10_000, "ONNX nodes that one op becomes")
    tensor_elements: int = _limit(2**26, "elements of a tensor of a graph that is run")
    input_elements: int = _limit(2**26, "elements of all random inputs of a run")

    def __post_init__(self) -> None:
        for name in names():
            field_name = name.replace("-", "_")
            value: Any = getattr(self, field_name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise usage(f"limit {name}", repr(value), "a whole number, 1 or more")  # pyright: ignore
            object.__setattr__(self, field_name, int(value))  # pyright: ignore[reportUnknownArgumentType]

    def of(self, name: str) -> int:
        """Return the limit of a name, spelled with `_` or `-`. Raises UsageError for an unknown one."""
        field_name = _field_names().get(name) if isinstance(name, str) else None  # pyright: ignore
        if field_name is None:
            spelled = name.replace("_", "-") if isinstance(name, str) else ""  # pyright: ignore
            hint = suggest(spelled, names()) if spelled else ""
            raise usage("limit", repr(name), f"one of {', '.join(names())}", hint)
        return getattr(self, field_name)


@cache
def names() -> tuple[str, ...]:
    """Return the names as spelled on the command line."""
    return tuple(entry.name.replace("_", "-") for entry in fields(Limits))


@cache
def _field_names() -> dict[str, str]:
    """Map each name, spelled with `_` or `-`, to its field."""
    found = {entry.name: entry.name for entry in fields(Limits)}
    return found | {name.replace("_", "-"): name for name in found}


DEFAULTS = Limits()

_current: ContextVar[Limits | None] = ContextVar("limits", default=None)


def current() -> Limits:
    """Return the limits in force."""
    return _current.get() or DEFAULTS


@contextlib.contextmanager
def using(limits: Limits | None) -> Generator[None]:
    """Set the limits within the context; None keeps those in force."""
    with override_context(_current, current() if limits is None else limits):
        yield


def parse(settings: Iterable[str]) -> Limits:
    """Return the limits in force, changed by `NAME=VALUE`s; K, M, G and T multiply by powers of 1000.

    Raises UsageError for an unknown name or an invalid number.
    """
    changed: dict[str, int] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        spelled = name.strip().replace("_", "-")
        if spelled not in names():
            raise usage(
                f"{OPTION} {setting}", None, f"one of {', '.join(names())}", suggest(spelled, names())
            )
        changed[spelled.replace("-", "_")] = _number(setting, value.strip())
    return Limits(**{entry.name: getattr(current(), entry.name) for entry in fields(Limits)} | changed)


_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def _number(setting: str, text: str) -> int:
    found = re.fullmatch(r"([0-9_]{1,30})([KMGT]?)", text, re.ASCII | re.IGNORECASE)
    digits = found[1].replace("_", "") if found else ""
    if found is None or not digits or int(digits) == 0:
        raise usage(f"{OPTION} {setting}", text or "nothing", "a number, 1 or more, such as 500000 or 2G")
    return int(digits) * _UNITS[found[2].upper()]


def check(name: str, given: int, what: str) -> None:
    """Raise LimitError if `given` exceeds the named limit."""
    if given > current().of(name):
        raise LimitError(Diagnostic("error", too_large(name, given, what)))


def too_large(name: str, given: int, what: str) -> str:
    """Return the message that `what` exceeds a limit, and how to raise it."""
    expected = f"at most {current().of(name):,}, the limit {name}"
    return sentence(what, f"{given:,}", expected, f"{option_names.limit(name, given)} raises it")


def check_tensor(shape: Iterable[object], name: str, what: str) -> None:
    """Check the number of elements of a shape; an unknown size counts as one."""
    check(name, prod(dim for dim in shape if isinstance(dim, int)), what)
