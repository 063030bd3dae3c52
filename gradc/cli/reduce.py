"""The `gradc reduce` command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file, a_pipeline
from gradc.cli.endings import IR, check_ending
from gradc.cli.help import Command
from gradc.cli.options import LIMITS, gradient_arguments, options_of, source_options_with_ep
from gradc.cli.run_options import EP, SEED, THREADS
from gradc.files.json_text import json_text
from gradc.terminal import messages

if TYPE_CHECKING:
    from gradc.compiler.source import Source


@click.command(
    cls=Command,
    example="gradc reduce graph.json -o small.mlir",
    common="-o -p --interesting --seconds --tests --wrt --of --target --opset --constants --ep --json",
)
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    default="-",
    shell_complete=a_file,
    help="MLIR file to write.  [default: stdout]",
)
@gradient_arguments
@click.option(
    "-p",
    "--pipeline",
    metavar="PASSES",
    shell_complete=a_pipeline,
    help="Failing passes, as for gradc-opt.",
)
@click.option(
    "--interesting", metavar="COMMAND", help="Keep graphs for which this exits with 0; {} is the file."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    metavar="N",
    default=60.0,
    show_default=True,
    help="Time limit of each COMMAND; beyond it, a graph is not kept.",
)
@click.option(
    "--tests",
    type=click.IntRange(1),
    metavar="N",
    default=2000,
    show_default=True,
    help="Maximum number of graphs to try.",
)
@SEED
@EP
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@source_options_with_ep
@THREADS
@LIMITS
def reduce(
    source: Source,
    output: str,
    pipeline: str | None,
    interesting: str | None,
    seconds: float,
    tests: int,
    seed: int,
    ep: str | None,
    as_json: bool,
    constants: str | tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Shrink IN, a graph or a crash reproducer, to a small graph that still fails in the same way.

    It fails if compiling it or loading the model is an internal error, or if gradc verify finds wrong
    numbers; with -p, if one of these passes fails; with --interesting, if COMMAND exits with 0.
    """
    from gradc.cli import reduce_command as command

    if as_json and output == "-":
        raise click.UsageError("--json prints to stdout: write the graph with -o FILE.")
    check_ending(output, IR)
    named = {"seed": seed or None, "ep": ep, **given, "strategy": _unless(given["strategy"], "auto")}
    again = [word for name, value in named.items() if value for word in _option(name, value)]
    options = options_of(dict(given), ep)
    request = command.Request(
        source, options, constants, pipeline, interesting, seed, ep, seconds, tests, tuple(again)
    )
    found = command.reduce(request, output, messages.mention)
    if as_json:
        click.echo(json_text(found))


def _unless(value: Any, default: Any) -> Any:
    return None if value == default else value


def _option(name: str, value: Any) -> list[str]:
    """Return an option as written on the command line."""
    option = "--" + name.replace("_", "-")
    return [option] if value is True else [option, str(value)]
