"""Pipeline observers: printing of IR, timing of passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from gradc.compiler.pass_runner import Observer, Stage
from gradc.graph.printing import elided_text
from gradc.terminal.tables import PLAIN, Look, table

Say = Callable[[str], None]


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
