"""Measured seconds of a run, by model and number of threads, stored as data."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from gradc.files.writing import StrPath, write_atomically
from tools.calibration.model import Model

LEAST_RUNS, MOST_RUNS, ENOUGH_SECONDS = 5, 40, 0.02
"""A model runs LEAST_RUNS times, then until ENOUGH_SECONDS have passed, at most MOST_RUNS times."""


@dataclass
class Measurements:
    """Medians in seconds, by the model's label, for one target and number of threads."""

    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: StrPath) -> Measurements:
        """Read a file; empty if it does not exist."""
        if not Path(path).exists():
            return cls()
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def write(self, path: StrPath) -> None:
        lines = (f"{json.dumps(label)}: {self.seconds[label]:.4g}" for label in sorted(self.seconds))
        write_atomically(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())

    def missing(self, models: Iterable[Model]) -> list[Model]:
        return [model for model in models if model.label not in self.seconds]

    def of(self, models: Iterable[Model]) -> Mapping[str, float]:
        """Return the measurements of these models."""
        labels = {model.label for model in models}
        return {label: seconds for label, seconds in self.seconds.items() if label in labels}


def measure(model: Model, threads: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median of some runs with bound inputs and outputs."""
    from gradc.runtime.session import Session

    session = Session(model.proto(), threads=threads)
    names = [info.name for info in session.inputs]
    run = session.bound(dict(zip(names, model.feeds(), strict=True)))
    run()
    times: list[float] = []
    while len(times) < LEAST_RUNS or (len(times) < MOST_RUNS and sum(times) < ENOUGH_SECONDS):
        start = clock()
        run()
        times.append(clock() - start)
    return median(times)
