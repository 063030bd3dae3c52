"""Implementation of `gradc fit`."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from dialects.support.diagnostics import Diagnostic, UnsupportedError, several, suggest, usage, violation
from gradc.files import safetensors
from gradc.files.arrays import read_files
from gradc.files.json_text import json_text
from gradc.graph.tensors import as_dtype
from gradc.terminal import messages, progress
from gradc.terminal.console import width_of
from gradc.terminal.numbers import counted, number
from gradc.terminal.plots import has_braille, plot
from gradc.training.folder import Run, read_folder
from gradc.util.extras import install

if TYPE_CHECKING:
    from gradc.training.trainer import Trainer

BATCH = 32
"""Samples in a batch by default."""


@dataclass(frozen=True)
class Order:
    """Size of the batches, None for the default, and the seed by which samples are shuffled."""

    batch_size: int | None
    seed: int

    def indices(self, step: int, count: int, size: int) -> np.ndarray:
        """Return the samples of the batch of a step, counted from 0.

        Each epoch has its own permutation, and leaves out the samples of an incomplete batch.
        """
        epoch, batch = divmod(step, max(count // size, 1))
        return np.random.default_rng([self.seed, epoch]).permutation(count)[batch * size : (batch + 1) * size]


def fit(
    folder: str,
    data: str | Sequence[str],
    steps: int,
    order: Order,
    lr: float | None,
    threads: int | None,
    save: str | None,
) -> list[float]:
    """Train for some steps; write the folder, or a checkpoint to `save`; return the losses."""
    if save is not None and not safetensors.is_safetensors(save):
        raise usage("--save", save, "a name that ends in .safetensors")
    run = read_folder(folder)
    _check_rate(run, lr)
    arrays = _samples(run, read_files(data))
    (count,) = {len(array) for array in arrays.values()}
    size = _batch_size(run, order.batch_size, count)
    trainer, errors = _trainer(folder, threads)
    trainer.seed = order.seed
    try:
        losses = _losses(trainer, arrays, steps, order, size, lr)
        trainer.save(save)
    except errors as error:
        raise violation(str(error)) from error
    broken = [step for step, loss in enumerate(losses, 1) if not math.isfinite(loss)]
    if broken:
        others = f" and {counted(len(broken) - 1, 'other')}" if len(broken) > 1 else ""
        text = f"the loss is {losses[broken[0] - 1]} in step {broken[0]:,}{others}"
        messages.show_remarks(Diagnostic("remark", f"{text}; a smaller --lr may help"))
    done = counted(trainer.steps, "step"), counted(len(trainer.parameters()), "parameter")
    messages.report_file(save or folder, ", ".join(done))
    return losses


def as_text(losses: Sequence[float], stream: TextIO) -> str:
    """Return the plot of the losses, and the first and the last."""
    drawn = plot(losses, width_of(stream), braille=has_braille(stream))
    return f"{drawn}\nloss {number(losses[0])} -> {number(losses[-1])}"


def as_json(losses: Sequence[float]) -> str:
    return json_text({"losses": list(losses)})


def _losses(
    trainer: Trainer, arrays: Mapping[str, np.ndarray], steps: int, order: Order, size: int, lr: float | None
) -> list[float]:
    (count,) = {len(array) for array in arrays.values()}
    losses: list[float] = []
    with progress.bar() as show:
        for done in range(steps):
            indices = order.indices(trainer.steps, count, size)
            losses.append(trainer.step({name: array[indices] for name, array in arrays.items()}, lr=lr))
            show(done + 1, steps, f"loss {number(losses[-1])}")
    return losses


def _check_rate(run: Run, lr: float | None) -> None:
    has_input = "lr" in run.facts["scalars"]
    if has_input and lr is None:
        raise usage("--lr is missing: the learning rate is an input of the step", hint="try --lr 1e-3")
    if not has_input and lr is not None:
        raise usage("--lr: the schedule of the learning rate is part of the step")


def _samples(run: Run, given: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a run's batches. Raises GradcError for other names or numbers of samples."""
    names: list[str] = [*run.facts["batch"], *run.facts["labels"]]
    if missing := [name for name in names if name not in given]:
        raise violation("arrays of --data", given=several(list(given)), expected=f"also {several(missing)}")
    if unknown := [name for name in given if name not in names]:
        hint = suggest(unknown[0], names)
        raise violation("arrays of --data", given=several(unknown), expected=several(names), hint=hint)
    if scalars := [name for name in names if not given[name].ndim]:
        raise violation(
            f"arrays of --data: {several(scalars)}", given="scalar", expected="an axis of samples"
        )
    counts = {name: len(given[name]) for name in names}
    if len(set(counts.values())) > 1 or 0 in counts.values():
        text = ", ".join(f"{count:,} of {name}" for name, count in counts.items())
        raise violation("samples of --data", given=text, expected="as many of each, at least 1")
    halves = {name for name in names if run.facts["inputs"][name]["dtype"] == "bfloat16"}
    return {name: as_dtype(given[name], "bf16") if name in halves else given[name] for name in names}


def _batch_size(run: Run, given: int | None, count: int) -> int:
    """Return the number of samples in a batch. Raises UsageError for one that the model does not take."""
    parts = int(run.facts.get("accumulate") or 1)
    first: Any = run.facts["inputs"][run.facts["batch"][0]]["shape"][0]
    fixed = first * parts if isinstance(first, int) else None
    size = given or fixed or max(min(BATCH, count) // parts, 1) * parts
    if fixed is not None and size != fixed:
        raise usage("--batch-size", given, f"{fixed}, the size of the model")
    if size % parts:
        raise usage("--batch-size", given, f"a multiple of {parts}, the parts of a step (--accumulate)")
    if size > count:
        raise usage("--batch-size", size, f"at most the {count:,} samples of --data")
    return size


def _trainer(folder: str, threads: int | None) -> tuple[Trainer, type[Exception]]:
    """Return the loop over a folder, and the class of its errors."""
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # otherwise the import leaves files in $HOME and /tmp
    try:
        from gradc.training.trainer import Trainer, TrainerError
    except ImportError as error:
        text = f"onnxruntime cannot be imported ({error}); {install('cpu')}"
        raise UnsupportedError(Diagnostic("error", text)) from error
    try:
        return Trainer(folder, threads=threads), TrainerError
    except TrainerError as error:
        raise violation(str(error)) from error
