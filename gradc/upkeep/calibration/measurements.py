"""Seconds of a run by model and number of threads: measuring them, and keeping them as data."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from gradc.files.writing import StrPath, write_whole
from gradc.upkeep.calibration.model import Model

LEAST_RUNS, MOST_RUNS, ENOUGH_SECONDS = 5, 40, 0.02
"""A model runs LEAST_RUNS times, and on until ENOUGH_SECONDS have passed, at most MOST_RUNS."""


@dataclass
class Measurements:
    """Medians in seconds, by the model's label, for one target and number of threads."""

    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: StrPath) -> Measurements:
        """None of them where there is no file."""
        if not Path(path).exists():
            return cls()
        return cls(json.loads(Path(path).read_text(encoding="utf-8")))

    def write(self, path: StrPath) -> None:
        lines = (f"{json.dumps(label)}: {self.seconds[label]:.4g}" for label in sorted(self.seconds))
        write_whole(path, ("{\n" + ",\n".join(lines) + "\n}\n").encode())

    def missing(self, models: Iterable[Model]) -> list[Model]:
        return [model for model in models if model.label not in self.seconds]

    def of(self, models: Iterable[Model]) -> Mapping[str, float]:
        """Those of the models that are there."""
        labels = {model.label for model in models}
        return {label: seconds for label, seconds in self.seconds.items() if label in labels}


def measure(model: Model, threads: int, clock: Callable[[], float] = time.perf_counter) -> float:
    """The median of some runs, inputs and outputs in place."""
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
