"""Search for samples that exercise all branches of a model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from dialects.support.diagnostics import GradcError
from gradc.inspection.fixed_inputs import FixedInputsSession
from gradc.model.branches import observe_branches
from gradc.runtime.session import Ep, Session
from gradc.verification.sample_regimes import vary_inputs

SAMPLES, PATIENCE = 64, 5.0
"""Limits on the search: number of samples, seconds of CPU time."""


@dataclass
class Branches:
    """The branches of a model, and those visited so far."""

    session: Session
    labels: Mapping[str, str]
    visited: set[str] = field(default_factory=set)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.labels[name] for name in self.labels if name not in self.visited))

    def visit(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """Run the inputs; return the branches that they visit first."""
        known = {info.name for info in (*self.session.inputs, *self.session.optional)}
        flags = self.session.run({name: array for name, array in inputs.items() if name in known})
        new = [name for name, flag in flags.items() if bool(flag) and name not in self.visited]
        self.visited.update(new)
        return tuple(self.labels[name] for name in new)


def branches_of(
    path: Any,
    ep: Ep | None,
    threads: int | None,
    constants: Mapping[str, np.ndarray] = MappingProxyType({}),
) -> Branches | None:
    """Return the branches of a model some of whose inputs are constants; None if it has none or the
    instrumented model does not run."""
    found = observe_branches(path)
    if found is None:
        return None
    try:
        session = FixedInputsSession(found.model, constants, ep=ep, threads=threads)
        return Branches(session, found.labels)
    except Exception as error:
        if not isinstance(error, GradcError) and not type(error).__module__.startswith("onnxruntime"):
            raise
        return None  # the model itself runs and is compared


def search(
    branches: Branches, starts: Iterable[Mapping[str, Any]], accept: Callable[[Mapping[str, Any], str], None]
) -> None:
    """Search for inputs that visit missing branches; pass each to `accept` with its new branches."""
    until, given = time.thread_time() + PATIENCE, list(starts)
    for number in range(SAMPLES):
        if not branches.missing or time.thread_time() > until:
            return
        inputs = vary_inputs(given[number % len(given)], number)
        try:
            new = branches.visit(inputs)
        except GradcError:
            continue
        if new:
            accept(inputs, ", ".join(new))
