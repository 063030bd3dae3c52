"""Comparison of training steps on the runtime with the same steps in float64 by the numpy reference."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from dialects.support import entry
from gradc.compiler.driver import load
from gradc.runtime.session import Session
from gradc.training.folder import read_folder
from gradc.training.step import STEP
from gradc.verification.evaluation import run_in_float64
from gradc.verification.samples import random_inputs
from gradc.verification.widening import wide, widen

STEPS, RATE = 5, 1e-3
"""Number of steps, and their learning rate where it is an input."""

SCATTER = 30.0
"""How many times as far from float64 a run may end as from one whose parameters begin one rounding away."""

LEAST = 1e-3
"""Error of the parameters, relative to what the steps changed, that is always accepted."""

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Verification:
    """Losses of the runtime and in float64, and how far the parameters are from those in float64, relative to
    what the steps changed. `scatter`: how far a run whose parameters begin one rounding away ends from this
    one."""

    losses: tuple[float, ...]
    expected: tuple[float, ...]
    error: float
    scatter: float

    @property
    def ok(self) -> bool:
        return self.error <= max(LEAST, SCATTER * self.scatter)

    def as_data(self) -> dict[str, Any]:
        return {**asdict(self), "ok": self.ok}


def verify_run(
    folder: str | os.PathLike[str], steps: int = STEPS, seed: int = 0, threads: int | None = None
) -> Verification:
    """Train some steps on random data on onnxruntime and in float64. Raises GradcError for no such folder."""
    run = read_folder(folder)
    model = run.model(STEP)
    module = load(model, for_gradients=())
    session = Session(model, threads=threads)
    initial = {name: _stored(run.parameters, run.state, name) for name in run.facts["updates"]}
    feeds = [_feeds(module, run.facts, seed, number) for number in range(1, steps + 1)]
    reference, updates = _Reference(module), run.facts["updates"]
    losses, end = _train(session.run, initial, updates, feeds)
    expected, exact = _train(reference.run, initial, updates, feeds)
    _, moved = _train(session.run, _moved(initial, run.facts["parameters"], seed), updates, feeds)
    names = run.facts["parameters"]
    return Verification(
        losses, expected, _distance(end, exact, initial, names), _distance(moved, end, initial, names)
    )


class _Reference:
    """A step in float64 with numpy."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module.clone()
        widen(self.module)

    def run(self, feeds: Arrays) -> dict[str, np.ndarray]:
        function = entry.entry_function(self.module)
        named = zip(entry.input_names(function), function.args, strict=True)
        results = run_in_float64(self.module, {argument: wide(feeds[name]) for name, argument in named})
        return dict(zip(entry.output_names(function), results, strict=True))


def _train(
    run: Any, initial: Arrays, updates: Mapping[str, str], feeds: list[dict[str, np.ndarray]]
) -> tuple[tuple[float, ...], Arrays]:
    """Return the loss of each step, and the last values."""
    values, losses = dict(initial), list[float]()
    for given in feeds:
        results = run({**values, **given})
        values = {name: results[new] for name, new in updates.items()}
        losses.append(float(results["loss"]))
    return tuple(losses), values


def _feeds(module: ModuleOp, facts: Mapping[str, Any], seed: int, number: int) -> dict[str, np.ndarray]:
    """Return a drawn batch and the scalars of a step."""
    drawn = random_inputs(module, seed * 1000 + number)
    scalars = {"lr": np.array(RATE, np.float32), "step": np.array(number), "seed": np.array(number)}
    batch = {name: drawn[name] for name in (*facts["batch"], *facts["labels"])}
    return {**batch, **{name: scalars[name] for name in facts["scalars"]}}


def _stored(parameters: Arrays, state: Arrays, name: str) -> np.ndarray:
    return parameters[name] if name in parameters else state[name]


def _moved(initial: Arrays, parameters: list[str], seed: int) -> dict[str, np.ndarray]:
    """Return the values with parameters that are moved by one rounding up, down or not."""
    rng = np.random.default_rng(seed)
    found = dict(initial)
    for name in parameters:
        array = initial[name]
        eps = np.finfo(array.dtype).eps if array.dtype.kind == "f" else 2.0**-8
        factor = 1 + float(eps) * rng.integers(-1, 2, array.shape)
        found[name] = (array.astype(np.float64) * factor).astype(array.dtype)
    return found


def _distance(end: Arrays, exact: Arrays, initial: Arrays, names: list[str]) -> float:
    """Return the norm of the error relative to that of the change."""
    off = change = 0.0
    for name in names:
        right = exact[name].astype(np.float64)
        off += float(np.sum((end[name].astype(np.float64) - right) ** 2))
        change += float(np.sum((right - initial[name].astype(np.float64)) ** 2))
    if not np.isfinite(off):
        return float("inf")
    return (off / change) ** 0.5 if change else off**0.5
