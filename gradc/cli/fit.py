"""`gradc fit`: train the model of a folder on arrays from a file."""

from __future__ import annotations

import sys

import click

from gradc.cli.completion import a_file
from gradc.cli.help import Command
from gradc.cli.options import AS_JSON, LIMITS, QUIET, one_or_several


def _folder(_: click.Context, __: click.Parameter, given: str) -> str:
    """Return the folder of a run; its absence comes before options that are missing."""
    from gradc.training.folder import check_folder

    check_folder(given)
    return given


@click.command(cls=Command, example="gradc fit run --data batches.npz --lr 1e-3 --steps 1000")
@click.argument("run", metavar="RUN", shell_complete=a_file, is_eager=True, callback=_folder)
@click.option(
    "--data",
    metavar="FILE",
    multiple=True,
    required=True,
    callback=one_or_several,
    shell_complete=a_file,
    help="Inputs and labels by name, with samples along the first axis: .npz or .safetensors; repeatable.",
)
@click.option("--steps", type=click.IntRange(1), metavar="N", required=True, help="Updates to make.")
@click.option(
    "--batch-size",
    type=click.IntRange(1),
    metavar="N",
    help="Samples in a batch.  [default: that of the model, else 32 or all]",
)
@click.option("--lr", type=float, metavar="X", help="Learning rate, unless a schedule is in the step.")
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the order of the samples and of Dropout.",
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads.  [default: number of cores]")
@click.option(
    "--save",
    metavar="FILE",
    shell_complete=a_file,
    help="Write a checkpoint to this .safetensors file, instead of RUN.",
)
@AS_JSON
@QUIET
@LIMITS
def fit(
    run: str,
    data: str | tuple[str, ...],
    steps: int,
    batch_size: int | None,
    lr: float | None,
    seed: int,
    threads: int | None,
    save: str | None,
    as_json: bool,
) -> None:
    """Train the model of the folder RUN, which gradc train wrote, to try it out.

    The folder keeps the trained parameters, and a further fit continues from them; gradc train --export
    writes the inference model.
    """
    from gradc.cli import fit_command as command

    order = command.Order(batch_size, seed)
    losses = command.fit(run, data, steps, order, lr, threads, save)
    click.echo(command.as_json(losses) if as_json else command.as_text(losses, sys.stdout))
