"""Selection of the values that a gradient is taken with respect to, from names and patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from xdsl.ir import SSAValue

from dialects.onnx.ops import ConstantOp
from dialects.support.diagnostics import Diagnostic, UsageError, sentence, several
from dialects.support.option_names import option
from passes.autodiff.activity.active_values import is_float


def select(given: Sequence[str], values: Mapping[str, SSAValue]) -> list[str]:
    """Return the names among `values` that names and patterns select. Raises UsageError for two names of one
    value."""
    found = _expand_patterns(given, values)
    _check_once(found, values)
    return found


def _expand_patterns(patterns: Sequence[str], values: Mapping[str, SSAValue]) -> list[str]:
    """Return the names that match patterns, each value once; other names are returned as they are."""
    known = {name: value for name, value in values.items() if is_float(value) and not _is_unread(value)}
    found: list[str] = []
    for pattern in patterns:
        is_pattern = pattern not in known and any(c in pattern for c in "*?")
        taken = {known[name] for name in found if name in known}
        own = (
            {value: name for name, value in known.items() if fnmatchcase(name, pattern)} if is_pattern else {}
        )
        found += [name for value, name in own.items() if value not in taken] if own else [pattern]
    return found


def _is_unread(value: SSAValue) -> bool:
    """Return whether a value is an unused weight, which patterns do not match."""
    return isinstance(value.owner, ConstantOp) and not any(value.uses)


def _check_once(names: Iterable[str], values: Mapping[str, SSAValue]) -> None:
    """Raise UsageError for two names of one value, such as those of a node and of its result."""
    first: dict[SSAValue, str] = {}
    for name in dict.fromkeys(names):
        other = first.setdefault(values[name], name) if name in values else name
        if other != name:
            given = several([other, name])
            message = sentence(option("wrt"), given, "each value once", "both are names of one value")
            raise UsageError(Diagnostic("error", message))
