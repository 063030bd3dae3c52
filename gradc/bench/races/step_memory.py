"""Peak memory of training steps: a process per contestant, with larger batches."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialects.support.diagnostics import Diagnostic, UnsupportedError
from gradc.bench.races.models import RaceSettings
from gradc.bench.races.step_networks import Trained
from gradc.bench.races.steps import export_module
from gradc.bench.report import WIDTH, about, geometric_mean, threads_of
from gradc.losses import CrossEntropy
from gradc.optim import AdamW
from gradc.terminal.tables import PLAIN, Look, table
from gradc.training.train_step import train_step
from gradc.util.machine import this_machine

LARGER = 8
"""Factor of the batch, so that activations take most of the memory."""

ROUNDS = 3
"""Runs of each contestant; the smallest growth and time count."""

TORCH, STEP, RECOMPUTE = "torch", "gradc", "gradc, recompute"
FORMS: Mapping[str, bool] = {STEP: False, RECOMPUTE: True}
"""`recompute` of the forms of gradc's step."""

LOSS_BOUND = 1e-3
"""Allowed relative difference of the first losses."""


@dataclass(frozen=True)
class Growth:
    """Growth of the resident memory over a training process, and the CPU time of a step."""

    contestant: str
    bytes: int
    seconds: float
    loss: float


@dataclass(frozen=True)
class Comparison:
    """The contestants of a network, torch first; `failure` is the reason why gradc is wrong."""

    name: str
    growths: tuple[Growth, ...]
    failure: str = ""

    def of(self, contestant: str) -> Growth | None:
        return next((one for one in self.growths if one.contestant == contestant), None)


def compare_memory(
    name: str, network: Trained, torch: Any, settings: RaceSettings, folder: Path
) -> Comparison:
    """Measure a network of `STEP_NETWORKS`. Raises GradcError, and UnsupportedError without /proc."""
    if sys.platform != "linux":
        raise UnsupportedError(Diagnostic("error", "--memory reads /proc, which only Linux has"))
    torch.manual_seed(settings.seed)
    module, (x, label) = network.make(torch).train(), network.draw(np.random.default_rng(settings.seed))
    x, label = (np.concatenate([array] * LARGER) for array in (x, label))
    source, batch = str(folder.with_suffix(".onnx")), str(folder.with_suffix(".npz"))
    export_module(torch, copy.deepcopy(module), x, source)
    np.savez(batch, x=x, label=label)
    threads = str(settings.threads)
    calls: dict[str, Sequence[str]] = {}
    if settings.wants(TORCH):
        calls[TORCH] = ("torch", name, batch, threads, str(settings.seed))
    for form, recompute in FORMS.items():
        run = folder.with_name(f"{folder.name}.{len(calls)}")
        options: Any = {"check": False, "threads": settings.threads, "recompute": recompute}
        step = train_step(source, loss=CrossEntropy(), optimizer=AdamW(), **options)
        step.save(run)
        calls[form] = ("trainer", str(run), batch, threads)
    growths: dict[str, Growth] = {}
    for _ in range(ROUNDS):
        for contestant, arguments in calls.items():
            found = _run(contestant, arguments)
            best = growths.setdefault(contestant, found)
            least = min(best.bytes, found.bytes), min(best.seconds, found.seconds)
            growths[contestant] = replace(best, bytes=least[0], seconds=least[1])
    return Comparison(name, tuple(growths.values()), _failure(growths))


def _run(contestant: str, arguments: Sequence[str]) -> Growth:
    command = [sys.executable, "-m", "gradc.bench.races.memory_child", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise UnsupportedError(Diagnostic("error", f"{contestant} fails: {why}"))
    return Growth(contestant, **json.loads(done.stdout))


def _failure(growths: Mapping[str, Growth]) -> str:
    losses = [one.loss for one in growths.values()]
    if not np.ptp(losses) <= LOSS_BOUND * abs(losses[0]):
        return f"gradc is wrong: first losses {', '.join(f'{loss:.6g}' for loss in losses)}"
    return ""


def as_text(comparisons: Sequence[Comparison], threads: int, look: Look = PLAIN) -> str:
    heading = (
        f"{this_machine()}\n{threads_of(threads)}; batches {LARGER} times as large as those of the times\n"
        "memory: growth of the process in MB; time: CPU time of a step; ratios to torch, and to gradc "
        "without recomputation"
    )
    header = ("network", "contestant", "memory", "ratio", "time", "ratio", "ratio to gradc", "")
    rows = [_row(one, growth) for one in comparisons for growth in one.growths]
    wide = look if look.colours is not None else replace(look, width=WIDTH)
    return "\n\n".join([heading, table(header, rows, (2, 3, 4, 5, 6), wide), *_means(comparisons)])


def _row(one: Comparison, growth: Growth) -> Sequence[str]:
    torch, plain = one.of(TORCH), one.of(STEP)
    name = one.name if growth is one.growths[0] else ""
    memory = f"{growth.bytes / 2**20:.0f}"
    ratios = ("", "", "")
    if growth is not torch:
        to_torch = (growth.bytes / torch.bytes, growth.seconds / torch.seconds) if torch else ()
        found = [f"{ratio:.2f}" for ratio in to_torch] or ["", ""]
        again = f"{growth.seconds / plain.seconds:.2f}" if plain and growth is not plain else ""
        ratios = (found[0], found[1], again)
    note = f"FAILED: {one.failure}" if one.failure and growth is not torch else ""
    return (name, growth.contestant, memory, ratios[0], f"{growth.seconds * 1e3:.1f} ms", *ratios[1:], note)


def _means(comparisons: Sequence[Comparison]) -> list[str]:
    lines = list[str]()
    for form in FORMS:
        pairs = [(one.of(form), one.of(TORCH)) for one in comparisons if not one.failure]
        ratios = [own.bytes / torch.bytes for own, torch in pairs if own and torch]
        if ratios:
            text = f"{geometric_mean(ratios):.2f} of torch's memory in the geometric mean of {len(ratios)}"
            lines.append(f"{form}: {text}, most {max(ratios):.2f}")
    return ["\n".join(lines)] if lines else []


def as_data(comparisons: Sequence[Comparison], peers: Mapping[str, str], threads: int) -> dict[str, Any]:
    return {**about(peers), "threads": threads, "networks": [asdict(one) for one in comparisons]}
