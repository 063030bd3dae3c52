"""Registry of all passes by name: the files of this package, those of folders, one per strategy."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.passes import ModulePass

from passes import (
    AUTODIFF_PASSES,
    PASS_NAMES,
    STRATEGY_NAMES,
    TRAINING_PASSES,
    VECTORIZE_PASSES,
    class_in,
    class_of,
)


def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Return every pass by name, imported lazily."""
    passes = {name: lambda name=name: _pass(name) for name in PASS_NAMES}
    return passes | {name: lambda name=name: _strategy_pass(name) for name in STRATEGY_NAMES}


def _pass(name: str) -> type[ModulePass]:
    if name in AUTODIFF_PASSES:
        return class_in(f"passes.autodiff.{AUTODIFF_PASSES[name]}", name, ModulePass)
    if name in TRAINING_PASSES:
        return class_in(f"passes.training.{TRAINING_PASSES[name]}", name, ModulePass)
    if name in VECTORIZE_PASSES:
        return class_in(f"passes.vectorize.{VECTORIZE_PASSES[name]}", name, ModulePass)
    return class_of("passes", name, ModulePass)


def _strategy_pass(name: str) -> type[ModulePass]:
    from passes.strategies import by_name
    from passes.strategies.base import pass_of

    return pass_of(type(by_name()[name]))
