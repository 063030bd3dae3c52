"""Arguments of the Python interface: what stands for what, and what is refused.

numpy's numbers and flags count as Python's own: the functions give those back.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping
from operator import index
from typing import Any, TypeGuard, cast

import numpy as np

from dialects.support.diagnostics import Diagnostic, UsageError, nearest, sentence
from dialects.support.spelling import option

Path = str | os.PathLike[str]

LONGEST = 200
"""Characters of a value that an error shows."""


def refused(name: str, given: object, expected: str, hint: str = "", part: str = "") -> UsageError:
    """The error about an argument, `name` as Python spells it, or a part of it."""
    what = f"{option(name)} {part}".rstrip()
    return UsageError(Diagnostic("error", sentence(what, _shown(given), expected, hint)))


def whole(name: str, given: Any, least: int = 0, part: str = "") -> int:
    """A whole number; neither a flag nor a float is one. `part` says which of the argument's it is."""
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and index(given) >= least:
        return index(given)
    raise refused(name, given, f"a whole number, {least} or more", part=part)


def flag(name: str, given: Any) -> bool:
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise refused(name, given, "True or False")


def number(name: str, given: Any, expected: str) -> float:
    """A number, 0 or more, perhaps infinite."""
    is_number = isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool)
    if is_number and not math.isnan(given) and given >= 0:
        return float(given)
    raise refused(name, given, expected)


def word(name: str, given: Any, known: tuple[str, ...]) -> str:
    if isinstance(given, str) and given in known:
        return given
    hint = nearest(given, known) if isinstance(given, str) else ""
    raise refused(name, given, f"one of {', '.join(known)}", hint)


def path(name: str, given: Any) -> Path:
    """A path of text that can be the name of a file: without a NUL, and in the system's encoding."""
    spelled = _spelled(given) if is_path(given) else None
    if not isinstance(spelled, str) or "\0" in spelled or not _has_bytes(spelled):
        raise refused(name, given, "a path")
    return given


def files(name: str, given: Any) -> Path | tuple[Path, ...]:
    """The path of a file, or of several; a mapping is refused as one that does not map from names."""
    if isinstance(given, list | tuple) and given and all(map(is_path, given)):
        return tuple(path(name, each) for each in given)
    if is_path(given):
        return path(name, given)
    expected = "a mapping from names to arrays, or the path of an .npz or .safetensors file, or several"
    raise UsageError(Diagnostic("error", sentence(option(name), type(given).__name__, expected)))


def is_path(given: Any) -> TypeGuard[Path]:
    """Whether it is meant as a path; `path` says whether it can be one."""
    return isinstance(given, str | os.PathLike)


def _spelled(given: Path) -> object:
    """Text, or what else an object says of itself: bytes, which gradc does not take, or None for neither."""
    try:
        return os.fspath(given)
    except TypeError:
        return None


def _has_bytes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def mapping(name: str, given: Any, expected: str) -> Mapping[str, Any]:
    """A mapping from names."""
    if isinstance(given, Mapping) and all(isinstance(key, str) for key in given):
        return given
    raise UsageError(Diagnostic("error", sentence(option(name), type(given).__name__, expected)))


def arrays(name: str, given: Any) -> Mapping[str, Any]:
    return mapping(name, given, "a mapping from names to arrays")


def names(name: str, given: Any) -> Collection[str]:
    """Names, which one text is not."""
    if (
        isinstance(given, Collection)
        and not isinstance(given, str)
        and all(isinstance(n, str) for n in given)
    ):
        return cast(Collection[str], given)
    raise refused(name, given, "a collection of names")


def array(given: Any) -> np.ndarray:
    """An array of what numpy can make one of without leaving out anything.

    Raises ValueError, whose text says why it is none: a mask would be lost, and with it what is masked; a
    tensor of torch that requires a gradient refuses by itself, and says how to detach it.
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


def _shown(given: object) -> str:
    try:
        text = repr(given)
    except Exception:
        text = f"a {type(given).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
