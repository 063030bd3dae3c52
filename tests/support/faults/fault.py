"""Faults that are injected into the compiler, to measure whether a gradient check finds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import pytest
from xdsl.ir import Operation

from dialects.support.diagnostics import name_of
from passes.autodiff import vjp
from passes.autodiff.common.primal import Gradient, Primal, Rule
from passes.autodiff.rules import pointwise
from passes.builder.values import Builder, Value

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Fault:
    """A corruption of the compiler.

    blamed: op types, separated by `|`, of which a message has to name one; '' for a fault of no op.
    models: names of the models in which it changes a gradient.
    convention: why no check has to find it; '' for one that has to be found.
    """

    name: str
    blamed: str
    models: Sequence[str]
    inject: Callable[[Patch], None]
    convention: str = ""

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def injected(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            self.inject(patch)
            yield


FAULTS: dict[str, Fault] = {}
"""All faults by name; the modules of this package add theirs."""


def fault(
    blamed: str, *models: str, convention: str = "", name: str = ""
) -> Callable[[Callable[[Patch], None]], Callable[[Patch], None]]:
    """Register a function that patches as a fault of its name."""

    def register(inject: Callable[[Patch], None]) -> Callable[[Patch], None]:
        key = name or inject.__name__
        assert key not in FAULTS, key
        FAULTS[key] = Fault(key, blamed, models, inject, convention)
        return inject

    return register


Gradients = list[Any]
"""The gradients of an op's operands: expressions or ZERO."""

Change = Callable[[Primal, Gradients, Sequence[Value], Builder], Sequence[Gradient]]
"""change(f, gradients by the right rule, cotangents, e) -> the wrong gradients."""


def in_rule(
    op: str,
    *models: str,
    blamed: str = "",
    convention: str = "",
    where: Callable[[Primal], bool] = lambda f: True,
) -> Callable[[Change], Change]:
    """Register a change of what the VJP rule of an op returns, also where it is preaccumulated."""

    def register(change: Change) -> Change:
        def inject(patch: Patch) -> None:
            right = vjp.RULES[op]

            def wrong(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
                found = list(right(f, g, e))
                return change(f, found, g, e) if where(f) else found

            _set_rule(patch, op, wrong)

        fault(blamed or op, *models, convention=convention, name=change.__name__)(inject)
        return change

    return register


def scaled(op: str, name: str, factor: float, model: str) -> Fault:
    """The fault that multiplies what one op of a model gives its operands; it is not registered."""

    def inject(patch: Patch) -> None:
        right, is_it = vjp.RULES[op], named(name)

        def wrong(f: Primal, g: Sequence[Value], e: Builder) -> Sequence[Gradient]:
            found = right(f, g, e)
            return [_times(one, factor) for one in found] if is_it(f) else found

        _set_rule(patch, op, wrong)

    return Fault(f"{op} {name} times {factor}", op, (model,), inject)


def _set_rule(patch: Patch, op: str, rule: Rule) -> None:
    patch.setattr(vjp, "RULES", MappingProxyType({**vjp.RULES, op: rule}))
    if op in pointwise.RULES:
        patch.setattr(pointwise, "RULES", MappingProxyType({**pointwise.RULES, op: rule}))


def _times(gradient: Gradient, factor: float) -> Gradient:
    return gradient * factor if isinstance(gradient, Value) else gradient


def named(name: str) -> Callable[[Primal], bool]:
    """Whether the op of a rule has a name."""

    def is_it(f: Primal) -> bool:
        value = f.y.value
        return name in (value.name_hint, name_of(value.owner) if isinstance(value.owner, Operation) else "")

    return is_it
