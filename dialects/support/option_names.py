"""Spelling of an option in Python, on a command line, and as the option of a pass.

    option("strict_ieee")   strict_ieee                   --strict-ieee    strict_ieee
    option("opset", 18)     opset=18                      --opset 18       opset=18
    option("shapes")        shapes                        --shape          shapes
    limit("ops", 9)         limits=gradc.Limits(ops=9)    --limit ops=9    --limit ops=9

Messages name options this way, so that their remedy can be copied verbatim. No function or command takes
every option: `advice` omits those that the current one does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from enum import Enum
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from dialects.support.scoped_contextvar import override_context

P = ParamSpec("P")
R = TypeVar("R")

Place = Enum("Place", ("PYTHON", "COMMAND_LINE", "PASSES"))

ONE_BY_ONE = {"shapes": "shape", "sizes": "size", "static_shapes": "static-shape"}
"""Options that are a mapping in Python and a repeated option, under another name, on a command line."""

_renamed: ContextVar[Mapping[str, str]] = ContextVar("renamed", default=MappingProxyType({}))
_place: ContextVar[Place] = ContextVar("place", default=Place.PYTHON)
_offered: ContextVar[frozenset[str] | None] = ContextVar("offered", default=None)


def current() -> Place:
    """Return where options are currently given."""
    return _place.get()


def using(place: Place) -> AbstractContextManager[None]:
    """Set where options are given within the context."""
    return override_context(_place, place)


def offering(names: Iterable[str]) -> AbstractContextManager[None]:
    """Restrict the options that can be given within the context; an outer restriction wins."""
    outer = _offered.get()
    return override_context(_offered, frozenset(names) if outer is None else outer)


def renaming(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Spell options by other names within the context, where a function passes its options on."""
    return override_context(_renamed, names)


def offer_parameters(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function whose parameters are the options that can be given while it runs."""
    names = frozenset(signature(function).parameters)

    @wraps(function)
    def call(*args: P.args, **given: P.kwargs) -> R:
        with offering(names):
            return function(*args, **given)

    return call


def is_offered(name: str) -> bool:
    """Return whether the option of a Python name can be given here; True without a restriction."""
    name, names = _renamed.get().get(name, name), _offered.get()
    in_words = ONE_BY_ONE.get(name, name) if current() is Place.COMMAND_LINE else name
    return names is None or in_words.replace("-", "_") in names


def advice(name: str, does: str, value: object = None) -> str:
    """Return a hint that names an option and its effect; '' if the option cannot be given."""
    return f"{option(name, value)} {does}" if is_offered(name) else ""


def option(name: str, value: object = None) -> str:
    """Spell an option, optionally with a value; True and False are those of a flag."""
    name = _renamed.get().get(name, name)
    if current() is not Place.COMMAND_LINE:
        return name if value is None else f"{name}={value}"
    if value is False:
        return f"--no-{name.replace('_', '-')}"
    spelled = "--" + ONE_BY_ONE.get(name, name).replace("_", "-")
    return spelled if value is None or value is True else f"{spelled} {value}"


def limit(name: str, value: int) -> str:
    """Spell the setting of a limit, by its name in `gradc.Limits`."""
    if current() is Place.PYTHON:
        return f"limits=gradc.Limits({name.replace('-', '_')}={value})"
    return f"--limit {name.replace('_', '-')}={value}"
