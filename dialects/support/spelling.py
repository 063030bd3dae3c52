"""How an option is spelled where it can be given: in Python, on a command line, as the option of a pass.

    option("strict_ieee")   strict_ieee                   --strict-ieee    strict_ieee
    option("opset", 18)     opset=18                      --opset 18       opset=18
    option("shapes")        shapes                        --shape          shapes
    limit("ops", 9)         limits=gradc.Limits(ops=9)    --limit ops=9    --limit ops=9

Messages name options with these, so that their remedy can be typed as it stands.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar
from enum import Enum

from dialects.support.during import during

Place = Enum("Place", ("PYTHON", "COMMAND_LINE", "PASSES"))

ONE_BY_ONE = {"shapes": "shape", "sizes": "size", "static_shapes": "static-shape"}
"""Options that Python takes as a mapping and a command line one by one, under another name."""

_place: ContextVar[Place] = ContextVar("place", default=Place.PYTHON)


def current() -> Place:
    """Where the options of the moment are given."""
    return _place.get()


def using(place: Place) -> AbstractContextManager[None]:
    """Options are given there for as long as the context lasts."""
    return during(_place, place)


def option(name: str, value: object = None) -> str:
    """The option of a Python name, with a value if one is given; True is that of a flag."""
    if current() is not Place.COMMAND_LINE:
        return name if value is None else f"{name}={value}"
    spelled = "--" + ONE_BY_ONE.get(name, name).replace("_", "-")
    return spelled if value is None or value is True else f"{spelled} {value}"


def limit(name: str, value: int) -> str:
    """The limit of a name as `gradc.Limits` has it, at a value."""
    if current() is Place.PYTHON:
        return f"limits=gradc.Limits({name.replace('-', '_')}={value})"
    return f"--limit {name.replace('_', '-')}={value}"
