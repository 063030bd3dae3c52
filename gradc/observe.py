"""What can be watched while the pipeline runs: the IR, its meaning, the time of each pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dialects.evaluate import evaluate
from dialects.support import entry
from dialects.support.dtypes import of_numpy
from gradc.compiler import Observer, Stage
from gradc.printing import elided
from gradc.samples import random_inputs
from gradc.verify import RTOL

Say = Callable[[str], None]


class CheckFailed(Exception):
    """A pass changed the meaning of the graph."""

    exit_code = 1


@dataclass
class Observers:
    """Several observers as one."""

    observers: list[Observer] = field(default_factory=list)

    def add(self, observer: Observer) -> None:
        self.observers.append(observer)

    def __call__(self, stage: Stage) -> None:
        for observer in self.observers:
            observer(stage)


@dataclass
class PrintIR:
    """Prints the IR after each pass, large constants elided."""

    say: Say
    only_changes: bool
    last: str = ""

    def __call__(self, stage: Stage) -> None:
        text = elided(stage.module)
        changed = text != self.last
        self.last = text
        if stage.after is None or (self.only_changes and not changed):
            return
        self.say(f"// ----- IR after {stage.after.name} -----\n{text}")


@dataclass
class Check:
    """Executes the module on random inputs before the first pass and after each."""

    say: Say
    seed: int = 0
    inputs: Sequence[np.ndarray] = ()
    expected: Sequence[np.ndarray] = ()

    def __call__(self, stage: Stage) -> None:
        if stage.after is None:
            names = entry.input_names(entry.entry_function(stage.module))
            drawn = random_inputs(stage.module, self.seed)
            self.inputs = [drawn[name] for name in names]
            self.expected = evaluate(stage.module, self.inputs)
            return
        worst = max(
            (
                _excess(got, want)
                for got, want in zip(evaluate(stage.module, self.inputs), self.expected, strict=True)
            ),
            default=0.0,
        )
        if not worst <= 1:
            raise CheckFailed(
                f"error: pass {stage.after.name} changed the meaning of the graph: error {worst:.3g} times "
                "its bound"
            )
        self.say(f"check: {stage.after.name} keeps the meaning ({worst:.2g} of the bound)")


def _excess(got: np.ndarray, want: np.ndarray) -> float:
    """The error over its bound."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return np.inf
    if want.size == 0:
        return 0.0
    dtype = of_numpy(want.dtype)
    bound = RTOL.get(dtype.name, 0.0) if dtype else 0.0
    exact, reached = want.astype(np.float64), got.astype(np.float64)
    scale = float(np.abs(exact).max()) or 1.0
    error = float(np.abs(reached - exact).max()) / scale
    return error / bound if bound else (0.0 if error == 0 else np.inf)


@dataclass
class Timing:
    """The wall time of each pass, verification included."""

    rows: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, stage: Stage) -> None:
        if stage.after is not None:
            self.rows.append((stage.after.name, stage.seconds))

    def table(self) -> str:
        total = sum(seconds for _, seconds in self.rows)
        rows = [*self.rows, ("total", total)]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {seconds * 1e3:9.2f} ms" for name, seconds in rows)
