"""Checks of arguments of the Python interface. numpy scalars are accepted and converted to Python's."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from operator import index
from typing import Any, TypeGuard, cast

import numpy as np

from dialects.support.diagnostics import UsageError, suggest, usage
from dialects.support.option_names import option

Path = str | os.PathLike[str]

LONGEST = 200
"""Characters of a value that an error shows."""


def invalid(name: str, given: object, expected: str, hint: str = "", part: str = "") -> UsageError:
    """Return the UsageError for an argument (`name` as in Python) or for a `part` of it."""
    what = f"{option(name)} {part}".rstrip()
    return usage(what, _abbreviate(given), expected, hint)


def whole_number(name: str, given: Any, least: int = 0, part: str = "") -> int:
    """Return an int of at least `least`; bools and floats are errors. `part` names an element of `given`."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and index(given) >= least:
        return index(given)
    raise invalid(name, given, f"a whole number, {least} or more", part=part)


def flag(name: str, given: Any) -> bool:
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise invalid(name, given, "True or False")


def number(name: str, given: Any, expected: str) -> float:
    """Return a float of at least 0; it may be infinite."""
    is_number = isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)
    if is_number and not math.isnan(given) and given >= 0:
        return float(given)
    raise invalid(name, given, expected)


def one_of(name: str, given: Any, known: tuple[str, ...]) -> str:
    if isinstance(given, str) and given in known:
        return given
    hint = suggest(given, known) if isinstance(given, str) else ""
    raise invalid(name, given, f"one of {', '.join(known)}", hint)


def path(name: str, given: Any) -> Path:
    """Return a str or text PathLike that the file system can encode and that has no NUL."""
    spelled = _fspath_or_none(given) if is_path(given) else None
    if not isinstance(spelled, str) or "\0" in spelled or not _is_encodable(spelled):
        raise invalid(name, given, "a path")
    return given


def files(name: str, given: Any) -> Path | tuple[Path, ...]:
    """Return a path, or a tuple of paths. The error also offers a mapping, which the callers accept."""
    if isinstance(given, list | tuple) and given and all(map(is_path, given)):
        return tuple(path(name, each) for each in given)
    if is_path(given):
        return path(name, given)
    expected = "a mapping from names to arrays, or the path of an .npz or .safetensors file, or several"
    raise usage(option(name), type(given).__name__, expected)


def is_path(given: Any) -> TypeGuard[Path]:
    """Return whether the type is that of a path; `path` also checks the text."""
    return isinstance(given, str | os.PathLike)


def _fspath_or_none(given: Path) -> object:
    """Return `os.fspath(given)`, which may be bytes, or None if that fails."""
    try:
        return os.fspath(given)
    except TypeError:
        return None


def _is_encodable(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def mapping(name: str, given: Any, expected: str) -> Mapping[str, Any]:
    """Return a mapping with string keys."""
    if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
        return given
    raise usage(option(name), type(given).__name__, expected)


def arrays(name: str, given: Any) -> Mapping[str, Any]:
    return mapping(name, given, "a mapping from names to arrays")


def names(name: str, given: Any) -> Collection[str]:
    """Return a collection of strings; a single string is an error."""
    if (
        isinstance(given, Collection)
        and not isinstance(given, str)
        and all(isinstance(n, str) for n in given)
    ):
        return cast(Collection[str], given)
    raise invalid(name, given, "a collection of names")


def array(given: Any) -> np.ndarray:
    """Convert a value to an array without losing data.

    Raises ValueError with the reason: masked elements, or numpy's own (a torch tensor that requires grad).
    """
    if isinstance(given, np.ma.MaskedArray):
        if np.ma.is_masked(given):
            raise ValueError(
                "a masked array, whose mask would be lost; its .filled(value) has values instead"
            )
        return given.data
    try:
        return np.asarray(given)
    except ArithmeticError as error:
        raise ValueError(str(error)) from None
    except (TypeError, ValueError, RuntimeError, AttributeError, BufferError) as error:
        raise ValueError(" ".join(str(error).split()) or type(error).__name__) from None


def _abbreviate(given: object) -> str:
    try:
        text = repr(given)
    except Exception:
        text = f"a {type(given).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
