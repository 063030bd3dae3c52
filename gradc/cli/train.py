"""`gradc train`: write a training step of a model as a folder of models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.derivative_options import (
    CHECK,
    CHECK_SECONDS,
    KEEP_OUTPUTS,
    STOP_GRADIENT,
)
from gradc.cli.endings import FOLDER, MODEL, check_ending
from gradc.cli.help import Command, Word
from gradc.cli.options import (
    AS_JSON,
    FROZEN,
    LIMITS,
    QUIET,
    REBATCH,
    STATIC_SHAPES,
    STRAIGHT_THROUGH,
    UNTIE,
    source_arguments,
    source_options,
)
from gradc.cli.run_options import COMPILED_THREADS

if TYPE_CHECKING:
    from gradc.compiler.source import Source

KEEP = "keep"
"""Value of --batchnorm that leaves the file as it is."""


def _batchnorm(_: click.Context, __: click.Parameter, given: str) -> str | None:
    return None if given == KEEP else given


OUTPUT = click.option(
    "-o", "--output", metavar="RUN", shell_complete=a_file, help="Folder to write; with --export the model."
)
LOSS = click.option(
    "--loss",
    multiple=True,
    metavar="LOSS",
    help="Loss and its options: cross-entropy:ignore_index=-100; a model file; or for several values "
    "OUT=LOSS, OUT=0.5*LOSS; repeatable.  [required]",
)
OPTIMIZER = click.option(
    "--optimizer",
    metavar="NAME",
    default="adamw",
    show_default=True,
    help="Optimizer and its options: sgd:momentum=0.9, adamw:weight_decay=0.1,betas=0.9/0.95.",
)
OF = click.option(
    "--of",
    multiple=True,
    metavar="NAME",
    help="Value that the loss reads; repeatable.  [default: the float outputs]",
)
TRAINABLE = click.option(
    "--trainable",
    multiple=True,
    metavar="NAME",
    help="Weights to train: a name, a pattern ('*.weight'), or :weights, all trainable ones; repeatable.  "
    "[default: :weights]",
)
NO_DECAY = click.option(
    "--no-decay", multiple=True, metavar="NAME", help="Parameters without weight decay; repeatable."
)
GROUP = click.option(
    "--group",
    "groups",
    multiple=True,
    metavar="PATTERN:OPTIONS",
    help="Other options for some parameters: '*.bias:lr=0.1,weight_decay=0'; repeatable.",
)
CLIP = click.option("--clip", type=float, metavar="X", help="Largest global norm of the gradients.")
EMA = click.option("--ema", type=float, metavar="X", help="Decay of a moving average of the parameters.")
LR = click.option(
    "--lr",
    metavar="input|SCHEDULE",
    default="input",
    show_default=True,
    help="Learning rate: an input of the step, a number, or cosine:base=3e-4,warmup=100,total=5000.",
)
ACCUMULATE = click.option(
    "--accumulate",
    type=click.IntRange(1),
    metavar="N",
    help="Add up the gradients of N parts of a batch: also writes gradients.onnx and apply.onnx.",
)
IN_PLACE = click.option(
    "--in-place",
    is_flag=True,
    help="Let new parameters and states be written to the memory of the old ones; a Trainer does so.",
)
RECOMPUTE = click.option(
    "--recompute",
    is_flag=True,
    help="Keep few activations, and compute the others again in the backward pass: less memory, slower.",
)
BATCHNORM = click.option(
    "--batchnorm",
    type=Word(["train", "eval", KEEP]),
    default="train",
    show_default=True,
    callback=_batchnorm,
    help="Mode of BatchNormalization: statistics of the batch with new running ones, the running ones, or as "
    "in the file.",
)
LORA = click.option(
    "--lora",
    multiple=True,
    metavar="PATTERN",
    help="Train low-rank adapters of these matrices, <WEIGHT>.lora_a and <WEIGHT>.lora_b; repeatable.",
)
RANK = click.option(
    "--rank", type=click.IntRange(1), metavar="R", default=8, show_default=True, help="Rank of --lora."
)
ALPHA = click.option(
    "--alpha", type=float, metavar="X", help="Scale of --lora times the rank.  [default: the rank]"
)
DROPOUT = click.option(
    "--dropout",
    type=Word(["hashed", "keep", "off"]),
    default="hashed",
    show_default=True,
    help="Mode of Dropout: a mask hashed from an input seed, as in the file, or none.",
)
LIST = click.option(
    "--list", "listed", is_flag=True, help="Show what would be trained, with its states, and write nothing."
)
EXPORT = click.option("--export", is_flag=True, help="Write the trained inference model of the run IN.")
YES = click.option("-y", "--yes", is_flag=True, help="Accept gradc's guesses on what the parameters are.")
FORCE = click.option("--force", is_flag=True, help="Replace another run in the folder.")

OPTIONS = (
    OUTPUT, LOSS, OPTIMIZER, OF, TRAINABLE, FROZEN, UNTIE, NO_DECAY, GROUP, CLIP, EMA, LR, ACCUMULATE,
    IN_PLACE, RECOMPUTE, BATCHNORM, DROPOUT, KEEP_OUTPUTS, STRAIGHT_THROUGH, STOP_GRADIENT, CHECK,
    CHECK_SECONDS, STATIC_SHAPES, REBATCH, LORA, RANK, ALPHA, LIST, EXPORT, YES, FORCE, source_options,
    COMPILED_THREADS, AS_JSON, QUIET, LIMITS,
)  # fmt: skip


def train_options(command: Any) -> Any:
    for option in reversed((source_arguments, *OPTIONS)):
        command = option(command)
    return command


@click.command(
    cls=Command,
    example="gradc train model.onnx --loss cross-entropy --optimizer adamw -o run",
    common="-o --loss --optimizer --of --trainable --frozen --no-decay --clip --lr --batchnorm --dropout "
    "--keep-outputs --lora --list --export --yes --force",
    options_metavar="-o RUN [OPTIONS]",
)
@train_options
def train(
    source: Source,
    output: str | None,
    loss: Sequence[str],
    listed: bool,
    export: bool,
    yes: bool,
    force: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Write a training step of IN, an ONNX model, as a folder of ONNX models.

    step.onnx takes a batch, labels, parameters and states, and returns the loss and new ones; `gradc fit`
    and gradc.Trainer run it. --export writes the trained model of a folder.
    """
    from gradc.cli import training

    check_ending(output, MODEL if export else FOLDER)
    if export:
        training.export_run(source, output)
        return
    if not loss:
        raise click.UsageError("Missing option '--loss': what to minimize, as --loss cross-entropy.")
    if output is None and not listed:
        raise click.UsageError("Missing option '-o' / '--output': the folder to write.")
    if listed:
        step = training.make(source, loss, {**given, "check": False, "check_seconds": None})
        training.show_parameters(step, source, as_json=as_json)
        return
    assert output is not None
    training.refuse_other_run(output, force=force)
    step = training.make(source, loss, given)
    training.check_consent(step, yes=yes)
    training.write(step, output, force=force, as_json=as_json)
