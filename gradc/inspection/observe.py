"""Pipeline observers: printing of IR, checks of semantics, timing of passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dialects.support import entry
from gradc.compiler.pass_runner import Observer, Stage
from gradc.graph.printing import elided_text
from gradc.terminal.tables import PLAIN, Look, table
from gradc.verification.samples import check_runnable, random_inputs
from gradc.verification.verify import bounds, compare, may_overflow_within, reference

Say = Callable[[str], None]


class CheckFailed(Exception):
    """A pass changed the meaning of the graph."""

    exit_code = 1


@dataclass
class Observers:
    """A list of observers as one observer."""

    observers: list[Observer] = field(default_factory=list)

    def add(self, observer: Observer) -> None:
        self.observers.append(observer)

    def __call__(self, stage: Stage) -> None:
        for observer in self.observers:
            observer(stage)


@dataclass
class PrintIR:
    """Prints the IR after each pass, without large constants."""

    say: Say
    only_changes: bool
    last: str = ""

    def __call__(self, stage: Stage) -> None:
        text = elided_text(stage.module)
        changed = text != self.last
        self.last = text
        if stage.after is None or (self.only_changes and not changed):
            return
        self.say(f"// ----- IR after {stage.after.name} -----\n{text}")


@dataclass
class Check:
    """Evaluates the module on random inputs before the first pass and after each pass."""

    say: Say
    seed: int = 0
    inputs: Sequence[np.ndarray] = ()
    expected: Sequence[np.ndarray] = ()
    bounds: Sequence[tuple[float, bool]] = ()

    def __call__(self, stage: Stage) -> None:
        if stage.after is None:
            check_runnable(stage.module)
            names = entry.input_names(entry.entry_function(stage.module))
            drawn = random_inputs(stage.module, self.seed)
            self.inputs = [drawn[name] for name in names]
            self.expected = reference(stage.module, self.inputs)
            self.bounds = list(zip(bounds(stage.module), may_overflow_within(stage.module), strict=True))
            return
        names = entry.output_names(entry.entry_function(stage.module))
        results = zip(names, reference(stage.module, self.inputs), self.expected, self.bounds, strict=True)
        rows = [compare(name, got, want, *bound) for name, got, want, bound in results]
        for row in rows:
            if not row.ok:
                raise CheckFailed(
                    f"error: pass {stage.after.name} changed the meaning of the graph: output {row.name} is "
                    f"off by {row.worst:.3g} of its largest magnitude, expected at most {row.rtol:.3g}"
                )
        worst = max((row.worst for row in rows), default=0.0)
        self.say(f"check: {stage.after.name} keeps the meaning (largest error {worst:.2g})")


@dataclass
class Timing:
    """The wall time of each pass, verification included."""

    rows: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, stage: Stage) -> None:
        if stage.after is not None:
            self.rows.append((stage.after.name, stage.seconds))

    def table(self, look: Look = PLAIN) -> str:
        total = sum(seconds for _, seconds in self.rows)
        rows = [(name, f"{seconds * 1e3:.2f} ms") for name, seconds in (*self.rows, ("total", total))]
        return table(("pass", "time"), rows, (1,), look)
