"""Samples that go through all branches of a model, and the branches that none was found for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialects.support.diagnostics import GradcError
from gradc.model.branches import observed
from gradc.runtime.session import Ep, Session

SAMPLES, PATIENCE = 64, 5.0
"""How many further samples are tried for branches that no run went through, and for how many seconds."""

SCALES = (1.0, 10.0, -1.0, 100.0, 0.0, 0.01, 1e4, -100.0)
"""What the random floats of a sample are multiplied by; every other sample has no negative ones."""

RANGES = ((0, 2), (0, 10), (-100, 100), (0, 1), (1, 2), (-1, 0))
"""From which the integers of a sample are drawn."""


@dataclass
class Branches:
    """The branches of a model, by what runs went through so far."""

    session: Session
    labels: Mapping[str, str]
    visited: set[str] = field(default_factory=set)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.labels[name] for name in self.labels if name not in self.visited))

    def visit(self, inputs: Mapping[str, Any]) -> tuple[str, ...]:
        """The branches that these inputs are the first to go through."""
        known = {info.name for info in (*self.session.inputs, *self.session.optional)}
        flags = self.session.run({name: array for name, array in inputs.items() if name in known})
        new = [name for name, flag in flags.items() if bool(flag) and name not in self.visited]
        self.visited.update(new)
        return tuple(self.labels[name] for name in new)


def branches_of(path: Any, ep: Ep | None, threads: int | None) -> Branches | None:
    """None of a model without branches, and where the runtime does not take the model with its flags."""
    found = observed(path)
    if found is None:
        return None
    try:
        return Branches(Session(found.model, ep=ep, threads=threads), found.labels)
    except Exception as error:
        if not isinstance(error, GradcError) and not type(error).__module__.startswith("onnxruntime"):
            raise
        return None  # the model itself runs: it is compared without this


def search(
    branches: Branches, starts: Iterable[Mapping[str, Any]], accept: Callable[[Mapping[str, Any], str], None]
) -> None:
    """Hand over inputs, with the branch that they go through, for branches that no run went through."""
    until, given = time.monotonic() + PATIENCE, list(starts)
    for number in range(SAMPLES):
        if not branches.missing or time.monotonic() > until:
            return
        inputs = _varied(given[number % len(given)], number)
        try:
            new = branches.visit(inputs)
        except GradcError:
            continue
        if new:
            accept(inputs, ", ".join(new))


def _varied(inputs: Mapping[str, Any], number: int) -> dict[str, Any]:
    rng, found, bools = np.random.default_rng(number), dict[str, Any](), 0
    for name, array in inputs.items():
        found[name] = array
        if not isinstance(array, np.ndarray) or array.dtype.kind in "OUS":
            continue
        if array.dtype.kind == "b":
            found[name] = _bools(array, number, bools, rng)
            bools += 1
        elif array.dtype.kind in "iu":
            found[name] = _integers(array, number, rng)
        else:
            found[name] = _floats(array, number, rng)
    return found


def _bools(array: np.ndarray, number: int, place: int, rng: np.random.Generator) -> np.ndarray:
    """All alike, by the bits of the sample's number, so that all combinations of few inputs come."""
    if array.ndim and number % 3 == 2:
        return rng.integers(0, 2, array.shape).astype(bool)
    return np.full_like(array, (number >> place) & 1)


def _integers(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """Every other sample keeps them: they may be sizes."""
    if number % 2 == 0:
        return array
    low, high = RANGES[number // 2 % len(RANGES)]
    low = max(low, 0) if array.dtype.kind == "u" else low
    return rng.integers(low, max(high, low + 1), array.shape).astype(array.dtype)


def _floats(array: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(array.shape)
    numbers = np.abs(numbers) if number // 2 % 2 else numbers
    return (numbers * SCALES[number % len(SCALES)]).astype(np.float32).astype(array.dtype)
