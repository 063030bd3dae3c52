"""A training step: its models, the updates between runs, and the initial values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dialects.support.diagnostics import Diagnostic
from gradc.terminal.numbers import counted
from gradc.verification.proof import Proof

if TYPE_CHECKING:
    from gradc.model.exporter import ModelProto

STEP, EVALUATION, MODEL, GRADIENTS, APPLY = (
    f"{name}.onnx" for name in ("step", "eval", "model", "gradients", "apply")
)
"""The models of a step, by the names of their files."""


@dataclass(frozen=True, eq=False, repr=False)
class TrainStep:
    """A training step as ONNX models, with the names and initial values that a loop needs.

        step = gradc.train_step("model.onnx", loss=gradc.losses.CrossEntropy(), optimizer=gradc.optim.AdamW())
        values = dict(step.initial)
        results = session.run(None, {**values, **batch, "lr": lr, "step": number})
        values = {name: results[new] for name, new in step.updates.items()}

    A loop repeats the last two lines. `session.run` means a run that returns the outputs by name.
    """

    models: Mapping[str, ModelProto]
    """The models by file name: `step.onnx`; `eval.onnx`, the loss and the outputs in inference mode, whose
    parameters are inputs; `model.onnx`, the source in inference mode; with `accumulate` `gradients.onnx`,
    which adds gradients to sums, and `apply.onnx`, which updates the parameters by the sums."""

    initial: Mapping[str, np.ndarray]
    """Initial parameters, running statistics and states of the optimizer, by input name."""

    facts: Mapping[str, Any]
    """The contents of `train.json` (docs/training_loops.md): names of inputs and results by their role."""

    remarks: tuple[Diagnostic, ...] = ()
    """All remarks."""

    ambiguities: tuple[Diagnostic, ...] = ()
    """The remarks on what the file does not state: which tensors are parameters, and which parameters are
    tied."""

    proof: Proof | None = None
    """The outcome of the check of the gradients; None without a check."""

    @property
    def model(self) -> ModelProto:
        """The step: batch, labels, scalars, parameters and states in; loss, new parameters and states out."""
        return self.models[STEP]

    @property
    def updates(self) -> Mapping[str, str]:
        """Input name -> name of the result that is its next value."""
        return self.facts["updates"]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the trained weights."""
        return tuple(self.facts["parameters"])

    def with_facts(self, **facts: Any) -> TrainStep:
        """Return the step with further facts; empty ones are left out."""
        return replace(self, facts={**self.facts, **{name: fact for name, fact in facts.items() if fact}})

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the step as a folder (docs/training.md). Raises UsageError for a folder with another run
        unless `force`."""
        from gradc.training.folder import write_folder

        kept = {*self.facts["parameters"], *self.facts["statistics"]}
        weights = {name: array for name, array in self.initial.items() if name in kept}
        state = {name: array for name, array in self.initial.items() if name not in kept}
        write_folder(folder, self.models, weights, state, self.facts, force=force)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> TrainStep:
        """Return the step in a folder, with the parameters and states that it has."""
        from gradc.training.folder import read_folder

        run = read_folder(folder)
        names = [STEP, EVALUATION, MODEL, *((GRADIENTS, APPLY) if run.facts.get("accumulate") else ())]
        state = {name: array for name, array in run.state.items() if name in run.facts["states"]}
        return cls({name: run.model(name) for name in names}, {**run.parameters, **state}, run.facts)

    def export(self, state: Mapping[str, np.ndarray], path: str | os.PathLike[str]) -> None:
        """Write the model in inference mode with the parameters and statistics of `state`, which may have
        further values. Raises UsageError for one that is missing or has another shape."""
        from gradc.training.folder import write_trained

        write_trained(self.models[MODEL], self.facts, state, path)

    def merge(
        self,
        state: Mapping[str, np.ndarray],
        source: str | os.PathLike[str],
        path: str | os.PathLike[str],
    ) -> None:
        """Write the source of the step with the low-rank adapters of `state` merged into its weights.

        Raises UsageError for a step without adapters, and for weights of integers.
        """
        from gradc.training.merging import write_merged

        write_merged(self.facts, state, source, path)

    def torch_states(self, values: Mapping[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
        """Return parameter -> torch's name of a state -> its value, of parameters and states by input name.

        The states of a step may be scaled, and stored in chunks (docs/training_optimizers.md).
        """
        from gradc.training.torch_states import to_torch

        return to_torch(self.facts, values)

    def states_of_torch(self, states: Mapping[str, Mapping[str, Any]]) -> dict[str, np.ndarray]:
        """Return states by input name, given what `torch_states` returns. Raises UsageError for a state that
        is missing or has another size."""
        from gradc.training.torch_states import from_torch

        return from_torch(self.facts, self.initial, states)

    def __repr__(self) -> str:
        inputs = ", ".join((*self.facts["batch"], *self.facts["labels"]))
        count = sum(self.initial[name].size for name in self.parameters)
        what = f"{counted(len(self.parameters), 'parameter')} of {counted(count, 'number')}"
        return f"<gradc.TrainStep {inputs} -> {', '.join(self.facts['outputs'])}; {what}>"
