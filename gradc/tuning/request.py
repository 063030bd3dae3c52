"""A user's request for measurements, and its tuner."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dialects.support.diagnostics import usage
from dialects.support.option_names import option
from gradc.files.writing import StrPath
from gradc.runtime.session import check_provider, ep_of
from gradc.tuning.progress import BUDGET, Progress, no_progress
from gradc.util import arguments
from passes.targets.target import Target

if TYPE_CHECKING:
    from gradc.tuning.cases import Case
    from gradc.tuning.stores import Store
    from gradc.tuning.tuner import Tuner


@dataclass(frozen=True)
class TuningRequest:
    """`tune`: measure what is not stored. `file`: storage to use instead of the cache.

    Without both nothing is read, and the result does not depend on the machine.
    """

    tune: bool = False
    file: StrPath | None = None
    budget: float = BUDGET
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise UsageError for invalid values."""
        checked = {
            "tune": arguments.flag("tune", self.tune),
            "file": None if self.file is None else arguments.path("tuning_file", self.file),
            "budget": arguments.number("tune_budget", self.budget, "seconds, 0 or more"),
            "shapes": _sizes_of(self.shapes),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def check_shapes_are_used(self) -> None:
        """Raise UsageError for shapes without measurements."""
        if self.shapes and not self.tune and self.file is None:
            expected = f"{option('tune', True)}, which measures at these shapes"
            raise usage(option("shapes"), ", ".join(self.shapes), expected)

    def threads(self, given: int | None) -> int | None:
        """Return the threads to compile for: `given`, else those of the tuning file."""
        if given is not None or self._starts_a_file:
            return given
        if self.file is None:
            return None
        from gradc.tuning.stores import load_file

        return load_file(self.file).threads

    def tuner(
        self, target: Target, progress: Progress = no_progress, store: Store | None = None
    ) -> Tuner | None:
        """Return the tuner, None without a request; it uses `store` if that is given."""
        if not self.tune and self.file is None:
            return None
        from gradc.tuning.records import Setting
        from gradc.tuning.stores import Cache
        from gradc.tuning.tuner import Tuner

        if not self.tune:
            return Tuner(self._store(target))
        check_provider(ep_of(target.name))
        setting = Setting.of(target)
        if store is None:
            store = self._store(target) if self.file is not None else Cache(setting)
        return Tuner(store, _measure, str(setting), self.budget, self.shapes, progress)

    def _store(self, target: Target) -> Store:
        from gradc.tuning.stores import TuningFile, load_file

        assert self.file is not None
        if self._starts_a_file:
            return TuningFile(self.file, target.name, target.threads, {})
        store = load_file(self.file)
        store.check(target)
        return store

    @property
    def _starts_a_file(self) -> bool:
        return self.tune and self.file is not None and not os.path.exists(self.file)


def _sizes_of(given: Any) -> dict[str, tuple[int, ...]]:
    """Return shapes of inputs by name, as Python integers."""
    expected = "a mapping from names of inputs to lists of sizes"
    shapes = arguments.mapping("shapes", given, expected)
    for name, shape in shapes.items():
        if not isinstance(shape, list | tuple):
            raise arguments.invalid("shapes", {name: shape}, expected)
    return {name: tuple(_size_of(name, size) for size in shape) for name, shape in shapes.items()}


def _size_of(name: str, given: object) -> int:
    return arguments.whole_number("shapes", given, 1, f"of {name}")


def _measure(case: Case, target: Target, deadline: float) -> Mapping[str, float]:
    from gradc.tuning.measuring import measure

    assert case.sizes is not None
    return measure(case.problem, case.sizes, case.applicable, target, deadline)
