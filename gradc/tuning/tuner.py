"""Strategy choice by measurement."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from xdsl.dialects.builtin import ModuleOp, StringAttr

from dialects.support.diagnostics import Diagnostic, GradcError, diagnostic_at
from dialects.support.documented_op import CHOICE
from dialects.support.option_names import option
from gradc.tuning.cases import Case, GivenShapes, cases
from gradc.tuning.progress import BUDGET, Progress, no_progress
from gradc.tuning.race import Clock
from gradc.tuning.records import Tuning
from gradc.tuning.stores import Store
from passes.strategies.base import Strategy
from passes.targets.target import Target

TIE = 1.02
"""Times within this factor are equal: the strategy with the faster prediction wins, so that a machine gives
one answer."""


class Measure(Protocol):
    def __call__(self, case: Case, target: Target, deadline: float) -> Mapping[str, float]:
        """Return the seconds of each applicable strategy of a case with known sizes, or raise GradcError."""
        ...


@dataclass
class Tuner:
    """Reads measurements from a store; with `measure`, makes and stores missing ones.

    `measured_on` describes the machine; after `budget` seconds no measurement begins.
    """

    store: Store
    measure: Measure | None = None
    measured_on: str = ""
    budget: float = BUDGET
    shapes: GivenShapes = field(default_factory=dict)
    progress: Progress = no_progress
    clock: Clock = time.perf_counter

    def tune(
        self, module: ModuleOp, target: Target, forced: Strategy | None = None
    ) -> tuple[dict[str, Tuning], list[Diagnostic]]:
        """Set `gradc.choice` on the canonical gradients of a module; return the tunings by case, and remarks.

        Ops keep an existing choice, and ops that the `forced` strategy applies to need none.
        """
        found = [case for case in cases(module, target, self.shapes) if _has_a_choice(case, forced)]
        tunings, remarks = self._stored(found)
        missing = [case for case in found if case.key not in tunings]
        if self.measure is None:
            remarks += _unmeasured_remark(missing, "no measurement of {} is stored")
        else:
            remarks += self._measure_missing(self.measure, missing, target, tunings)
        for case in found:
            if case.key in tunings:
                _choose(case, tunings[case.key].choice)
        return tunings, [*remarks, *self.store.remarks()]

    def _stored(self, found: Sequence[Case]) -> tuple[dict[str, Tuning], list[Diagnostic]]:
        """Return the stored tunings with a usable choice, and remarks on the others."""
        tunings, remarks = {}, []
        for case in found:
            tuning = self.store.read(case.key)
            if tuning is None:
                continue
            reason = case.why_not(tuning.choice)
            if reason is None:
                tunings[case.key] = tuning
                continue
            text = f"the stored choice {tuning.choice} for this gradient is not used: {reason}"
            remarks.append(diagnostic_at(case.ops[0], "remark", text))
        return tunings, remarks

    def _measure_missing(
        self, measure: Measure, missing: Sequence[Case], target: Target, tunings: dict[str, Tuning]
    ) -> Iterator[Diagnostic]:
        """Measure missing cases, the slowest predicted first, until the budget is spent."""
        unsized = [case for case in missing if case.sizes is None]
        sized = [case for case in missing if case.sizes is not None]
        sized.sort(key=lambda case: -case.predicted_seconds)
        deadline = self.clock() + self.budget
        for done, case in enumerate(sized):
            if self.clock() >= deadline:
                what = f"{{}} could not be measured within {self.budget:g} seconds ({option('tune_budget')})"
                yield from _unmeasured_remark(sized[done:], what)
                break
            self.progress(done, len(sized), str(case.problem))
            try:
                seconds = measure(case, target, deadline)
            except GradcError as error:
                text = f"not measured: {error.diagnostic.message}"
                yield diagnostic_at(case.ops[0], "remark", text)
                continue
            tuning = Tuning(fastest(seconds, case.applicable), seconds, self.measured_on)
            tunings[case.key] = tuning
            self.store.write(case.key, tuning)
        self.progress(len(sized), len(sized), "")
        unknown = f"{{}} cannot be measured without sizes, which {option('shapes')} states"
        yield from _unmeasured_remark(unsized, unknown)


def _has_a_choice(case: Case, forced: Strategy | None) -> bool:
    if forced is not None and isinstance(case.ops[0], forced.ops):
        return False
    return len(case.applicable) > 1 and any(CHOICE not in op.attributes for op in case.ops)


def _choose(case: Case, choice: str) -> None:
    for op in case.ops:
        op.attributes.setdefault(CHOICE, StringAttr(choice))


def fastest(seconds: Mapping[str, float], preferred: Sequence[str]) -> str:
    """Return the fastest strategy; of equal ones the first in `preferred`."""
    least = min(seconds.values())
    return next(name for name in preferred if seconds.get(name, float("inf")) <= TIE * least)


def _unmeasured_remark(left: Sequence[Case], what: str) -> Iterator[Diagnostic]:
    """Yield one remark for all unmeasured cases, at the first of them."""
    if not left:
        return
    count = sum(len(case.ops) for case in left)
    gradients = f"{count} gradient{'s' if count > 1 else ''}"
    text = f"{what.format(gradients)}: the predicted choice is used"
    yield diagnostic_at(left[0].ops[0], "remark", text)
