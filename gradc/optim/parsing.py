"""Optimizers, schedules and groups as text: `adamw:weight_decay=0.1,betas=0.9/0.95`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dialects.support.diagnostics import several, suggest, usage
from gradc.optim.adam import Adam, AdamW
from gradc.optim.adaptive import Adagrad, RMSprop
from gradc.optim.base import Optimizer
from gradc.optim.groups import Group
from gradc.optim.lion import Lion
from gradc.optim.schedules import Constant, Cosine, Linear, Schedule, StepDecay
from gradc.optim.sgd import SGD

OPTIMIZERS: Mapping[str, type[Optimizer]] = {
    "sgd": SGD,
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "adagrad": Adagrad,
    "lion": Lion,
}
"""Optimizers by their word on a command line."""

SCHEDULES: Mapping[str, type[Schedule]] = {
    "constant": Constant,
    "cosine": Cosine,
    "linear": Linear,
    "step": StepDecay,
}
"""Schedules by their word on a command line."""

INPUT = "input"
"""The word for a learning rate that is an input of the step."""


def parse(text: str) -> Optimizer:
    """Return the optimizer of a text such as `sgd:momentum=0.9,nesterov`.

    Raises UsageError for an unknown optimizer or option, or a bad value.
    """
    return _create("optimizer", OPTIMIZERS, text)


def parse_schedule(text: str) -> Schedule | None:
    """Return the schedule of `cosine:base=3e-4,warmup=100,total=5000` or of a number, None for `input`."""
    if text == INPUT:
        return None
    try:
        return Constant(float(text))
    except ValueError:
        return _create("schedule", SCHEDULES, text)


def parse_group(text: str) -> Group:
    """Return the group of `PATTERN:lr=0.1,weight_decay=0`; commas separate several patterns."""
    patterns, colon, options = text.rpartition(":")
    if not colon or not patterns or not options:
        raise usage("group", text, "PATTERN:OPTION=VALUE,...")
    return Group(patterns, **_options(f"group {patterns}", options))


def _create(what: str, known: Mapping[str, type[Any]], text: str) -> Any:
    word, _, options = text.partition(":")
    if word.lower() not in known:
        raise usage(what, word, several(list(known)), suggest(word, known))
    made = known[word.lower()]
    given = _options(f"{what} {word}", options)
    own = {option.name: option for option in fields(made)}
    for name in given:
        if name not in own:
            raise usage(f"{what} {word}: {name}", expected=several(list(own)), hint=suggest(name, own))
    missing = [name for name, option in own.items() if option.default is MISSING and name not in given]
    if missing:
        raise usage(f"{what} {word}: {missing[0]}", given="none", expected="a value")
    return made(**{name: _as_count(own[name].default, value) for name, value in given.items()})


def _options(what: str, text: str) -> dict[str, Any]:
    """Return the options of `a=1,b=0.5/0.9,c`."""
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, equals, value = part.partition("=")
        if name in found:
            raise usage(f"{what}: {name} is given twice")
        found[name] = _value(f"{what}: {name}", value) if equals else True
    return found


def _value(what: str, text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        numbers = [float(part) for part in text.split("/")]
    except ValueError:
        raise usage(what, text, "a number, numbers separated by /, true or false") from None
    return tuple(numbers) if len(numbers) > 1 else numbers[0]


def _as_count(default: Any, value: Any) -> Any:
    """Return a number as int where the option is a whole number."""
    is_count = isinstance(default, int) and not isinstance(default, bool)
    return int(value) if is_count and isinstance(value, float) and value.is_integer() else value


_WORDS: Mapping[str, bool] = {"true": True, "false": False}
