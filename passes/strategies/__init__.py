"""Strategies, one lowering per file. `passes/__init__.py` lists them."""

from __future__ import annotations

from functools import cache

from xdsl.ir import Operation

import passes
from passes.strategies.base import Strategy


@cache
def all_strategies() -> tuple[type[Strategy], ...]:
    """Return every strategy in the order of their names' declaration, imported on the first call."""
    return tuple(
        passes.class_of(f"{__name__}.{package}", name, Strategy)
        for package, names in passes.STRATEGIES_BY_PACKAGE.items()
        for name in names
    )


@cache
def by_name() -> dict[str, Strategy]:
    return {strategy.name: strategy() for strategy in all_strategies()}


@cache
def lowerable_ops() -> tuple[type[Operation], ...]:
    """Return the canonical ops that any strategy lowers."""
    return tuple(dict.fromkeys(op for strategy in by_name().values() for op in strategy.ops))


def strategies_of(op: Operation) -> list[Strategy]:
    """Return the strategies for this kind of op, applicable or not."""
    return list(_strategies_of(type(op)))


@cache
def _strategies_of(kind: type[Operation]) -> tuple[Strategy, ...]:
    return tuple(strategy for strategy in by_name().values() if issubclass(kind, strategy.ops))
