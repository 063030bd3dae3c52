"""`generate_artifacts`, with the signature of onnxruntime's training package: writes a run of gradc.

    from gradc.training import artifacts

    artifacts.generate_artifacts(
        model,
        requires_grad=names,
        loss=artifacts.LossType.CrossEntropyLoss,
        optimizer=artifacts.OptimType.AdamW,
        artifact_directory="run",
    )

docs/training_loops.md maps each argument.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from dialects.support.diagnostics import several, suggest, usage
from gradc import losses, optim

if TYPE_CHECKING:
    from gradc.training.step import TrainStep


class LossType(Enum):
    """Losses of `generate_artifacts`; `gradc.losses` has others."""

    MSELoss = 1
    CrossEntropyLoss = 2
    BCEWithLogitsLoss = 3
    L1Loss = 4


class OptimType(Enum):
    """Optimizers of `generate_artifacts`; `gradc.optim` has others."""

    AdamW = 1
    SGD = 2


_LOSSES: Mapping[str, Callable[[], losses.Loss]] = {
    "MSELoss": losses.MSE,
    "CrossEntropyLoss": losses.CrossEntropy,
    "BCEWithLogitsLoss": losses.BCEWithLogits,
    "L1Loss": losses.L1,
}

_OPTIMIZERS: Mapping[str, Callable[[], optim.Optimizer]] = {
    "AdamW": lambda: optim.AdamW(eps=1e-6, weight_decay=0.0),
    "SGD": optim.SGD,
}
"""Optimizers with the defaults of onnxruntime's training package."""


def generate_artifacts(
    model: Any,
    requires_grad: Sequence[str] | None = None,
    frozen_params: Sequence[str] | None = None,
    loss: Any = None,
    optimizer: Any = None,
    artifact_directory: str | bytes | os.PathLike[str] | None = None,
    prefix: str = "",
    ort_format: bool = False,
    custom_op_library: Any = None,
    additional_output_names: Sequence[str] | None = None,
    nominal_checkpoint: bool = False,
    loss_input_names: Sequence[str] | None = None,
    **options: Any,
) -> TrainStep:
    """Write the run of a model to a folder, and return its step.

    model: a path or an onnx.ModelProto.
    requires_grad: names of the parameters to train; default: all trainable weights.
    frozen_params: names of parameters that are not trained.
    loss: a LossType, a loss of `gradc.losses`, a function of `gradc.ops` values or a loss model; default: the
    output of the model is the loss.
    optimizer: an OptimType or an optimizer of `gradc.optim`.
    artifact_directory: the folder; default: the current one.
    additional_output_names: outputs of the step besides the loss.
    loss_input_names: values that the loss reads; default: the float outputs.
    options: those of `gradc.train_step`.

    Raises UsageError for prefix, ort_format, custom_op_library and nominal_checkpoint, and for no optimizer.
    """
    from gradc.training.train_step import train_step

    _refuse(
        {
            "prefix": (prefix, "the files of a run have fixed names; name the folder by artifact_directory"),
            "ort_format": (ort_format, "a run has .onnx files; onnxruntime's tools convert step.onnx"),
            "custom_op_library": (custom_op_library, "a step has ops of ONNX only"),
            "nominal_checkpoint": (nominal_checkpoint, "params.safetensors always has the values"),
        }
    )
    both = [name for name in requires_grad or () if name in (frozen_params or ())]
    if both:
        raise usage(f"requires_grad and frozen_params both have {several(both)}")
    given = {
        "trainable": list(requires_grad) if requires_grad is not None else ":weights",
        "frozen": list(frozen_params or ()),
        "loss": _loss(loss),
        "optimizer": _optimizer(optimizer),
        "of": list(loss_input_names) if loss_input_names is not None else None,
        "keep_outputs": list(additional_output_names or ()) or "none",
    }
    if again := [name for name in options if name in given]:
        raise usage(f"generate_artifacts has no argument {again[0]}", hint=f"use {_ARGUMENTS[again[0]]}")
    step = train_step(model, **given, **options)
    step.save(os.fsdecode(artifact_directory) if artifact_directory is not None else ".", force=True)
    return step


_ARGUMENTS = {
    "trainable": "requires_grad",
    "frozen": "frozen_params",
    "of": "loss_input_names",
    "keep_outputs": "additional_output_names",
}
"""Option of `train_step` -> argument of `generate_artifacts`."""


def _refuse(given: Mapping[str, tuple[Any, str]]) -> None:
    """Raise UsageError for an argument that has a value but no meaning here."""
    for name, (value, reason) in given.items():
        if value:
            raise usage(f"{name} has no meaning for a run of gradc", given=repr(value), hint=reason)


def _loss(given: Any) -> Any:
    if given is None:
        return losses.Output()
    return _of_enum("loss", given, _LOSSES) if isinstance(given, Enum) else given


def _optimizer(given: Any) -> optim.Optimizer:
    if given is None:
        hint = "gradc.value_and_grad writes the loss and its gradients alone"
        raise usage("optimizer", expected="an OptimType or an optimizer of gradc.optim", hint=hint)
    return _of_enum("optimizer", given, _OPTIMIZERS) if isinstance(given, Enum) else given


def _of_enum(argument: str, given: Enum, known: Mapping[str, Callable[[], Any]]) -> Any:
    """Return what a member stands for, of this module's enumerations or of onnxruntime's."""
    if given.name not in known:
        raise usage(argument, given.name, f"one of {', '.join(known)}", suggest(given.name, known))
    return known[given.name]()
