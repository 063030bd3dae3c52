"""The check of `gradc compile --check`: each pass keeps the meaning of the graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dialects.support import entry
from gradc.compiler.pass_runner import Stage
from gradc.verification.samples import check_runnable, random_inputs
from gradc.verification.verify import bounds, compare, may_overflow_within, reference

Say = Callable[[str], None]


class CheckFailed(Exception):
    """A pass changed the meaning of the graph."""

    exit_code = 1


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
