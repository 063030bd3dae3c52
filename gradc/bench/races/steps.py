"""Training steps of torch's networks with AdamW: gradc's step against torch's eager one.

gradc's step runs in a plain loop over `updates`, and in a `gradc.Trainer`. The reference are the losses of
the same steps in torch with float64.
"""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from gradc.bench.races.models import Entry, RaceSettings, nodes_of
from gradc.bench.races.race import Entrant, Race, Results, race, within
from gradc.bench.races.step_networks import RATE, Batch, Trained, eager_step
from gradc.bench.run import GRADC
from gradc.losses import CrossEntropy
from gradc.optim import AdamW
from gradc.training.step import TrainStep
from gradc.training.train_step import train_step
from gradc.training.trainer import Trainer

CHECKED = 4
"""Steps whose losses are compared; the first loss depends on no update."""

BOUND = 5e-4
"""Allowed error of a loss, relative to the largest one."""

LOOP, TRAINER = "step in a loop", "step by Trainer"
STEP_KINDS = (LOOP, TRAINER)
OPSET = 18


@dataclass(frozen=True, eq=False)
class Trial:
    """A network of torch, its batch, its training step by gradc, and the folder of that step."""

    module: Any
    batch: Batch
    step: TrainStep
    folder: Path

    @property
    def feeds(self) -> dict[str, np.ndarray]:
        x, label = self.batch
        return {"x": x, "label": label}


def trial(network: Trained, torch: Any, settings: RaceSettings, folder: Path) -> Trial:
    """Write the training step of a network to a new folder. Raises GradcError."""
    torch.manual_seed(settings.seed)
    module, batch = network.make(torch).train(), network.draw(np.random.default_rng(settings.seed))
    path = str(folder.with_suffix(".onnx"))
    export_module(torch, copy.deepcopy(module), batch[0], path)
    step = train_step(path, loss=CrossEntropy(), optimizer=AdamW(), check=False, threads=settings.threads)
    step.save(folder)
    return Trial(module, batch, step, folder)


def race_step(name: str, kind: str, of: Trial, torch: Any, settings: RaceSettings) -> Race:
    """Race one form of gradc's step against torch's; CPU time with one thread, else elapsed time."""
    exact = torch_entrant("exact", torch, of, double=True)
    ours = loop_entrant if kind == LOOP else trainer_entrant
    entry = Entry([ours(of, settings.threads)], {})
    for peer in ("torch", "torch.compile"):
        if settings.wants(peer):
            entry.add(peer, lambda peer=peer: torch_entrant(peer, torch, of))
    judge = within(exact.results(), BOUND)
    clock = time.process_time if settings.threads == 1 else time.perf_counter
    return race(name, kind, entry.entrants, entry.notes, judge, settings.budget, clock=clock)


def export_module(torch: Any, module: Any, x: np.ndarray, path: str) -> None:
    """Export a module in training mode; the export moves its running statistics."""
    kept = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.TRAINING}
    names = {"input_names": ["x"], "output_names": ["y"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter, about sizes that the trace fixes
        torch.onnx.export(
            module, (torch.tensor(x),), path, opset_version=OPSET, dynamo=False, **names, **kept
        )


def loop_entrant(of: Trial, threads: int) -> Entrant:
    """Return a contestant that runs the step by `run`, as a loop over `updates` does."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session: Any = onnxruntime.InferenceSession(
        of.step.model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    outputs = [output.name for output in session.get_outputs()]
    updates, values = of.step.updates, dict(of.step.initial)
    fixed = {**of.feeds, "lr": np.array(RATE, np.float32)}

    def step(number: int) -> float:
        given = {**values, **fixed, "step": np.array(number, np.int64)}
        results = dict(zip(outputs, session.run(None, given), strict=True))
        values.update({name: results[new] for name, new in updates.items()})
        return float(results["loss"])

    return _entrant(GRADC, step, nodes_of(of.step.model))


def trainer_entrant(of: Trial, threads: int) -> Entrant:
    """Return a contestant that runs the step by a `gradc.Trainer`."""
    trainer = Trainer(of.folder, threads=threads)
    feeds = of.feeds
    return _entrant(GRADC, lambda _: trainer.step(feeds, lr=RATE), nodes_of(of.step.model))


def torch_entrant(name: str, torch: Any, of: Trial, double: bool = False) -> Entrant:
    """Return a contestant that trains a copy of the module, eager or compiled."""
    module = copy.deepcopy(of.module)
    x, label = (torch.tensor(array) for array in of.batch)
    if double:
        module, x = module.double(), x.double() if x.is_floating_point() else x
    if name == "torch.compile":
        torch.compiler.reset()
    call = torch.compile(module) if name == "torch.compile" else module
    step = eager_step(torch, call, module.parameters(), x, label)
    return _entrant(name, lambda _: step())


def _entrant(name: str, step: Callable[[int], float], nodes: int | None = None) -> Entrant:
    """Return a contestant of a function from the number of a step, from 1, to its loss."""
    losses: list[float] = []

    def run() -> None:
        losses.append(step(len(losses) + 1))

    def results() -> Results:
        while len(losses) < CHECKED:
            run()
        return {"loss": np.array(losses[:CHECKED])}

    return Entrant(name, run, results, nodes)
