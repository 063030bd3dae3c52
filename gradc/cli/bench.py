"""`gradc bench`: time gradients and whole models against other implementations."""

from __future__ import annotations

import sys

import click

from gradc.bench.races import MODEL_SUITES, ONE_THREAD, TRAINING_SUITE
from gradc.cli.completion import a_case, a_file, a_raced_strategy, peers_of
from gradc.cli.errors import EXIT_CHECK_FAILED
from gradc.cli.help import Command, Word
from gradc.cli.options import LIMITS, OF, WRT
from gradc.cli.run_options import SHAPE, shapes_of


@click.command(
    cls=Command,
    example="gradc bench graph.json --strategy all --json times.json",
    common="--suite --strategy --peers --wrt --of --shape --threads --budget --json --plot",
)
@click.argument("cases", nargs=-1, metavar="[PROBLEM|FILE|MODEL]...", shell_complete=a_case)
@click.option(
    "--suite",
    type=Word(["quick", "full", "drawn", *MODEL_SUITES, "none"]),
    help="Built-in cases: fixed, random (drawn), networks, training steps, functions of torch, "
    "derivatives.  "
    "[default: quick, or none with arguments]",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the data and of drawn cases.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Threads of each contestant.  [default: all cores; training, torch: 1]",
)
@click.option(
    "--strategy",
    metavar="NAME",
    default="auto",
    show_default=True,
    shell_complete=a_raced_strategy,
    help="Strategy by name, or auto, or all.",
)
@click.option(
    "--peers",
    metavar="NAMES",
    shell_complete=peers_of,
    help="Implementations to time: torch,onednn,onnx-ad or none; for models also original,onnxslim,forward,"
    "torch.compile.  [default: all installed but torch.compile]",
)
@WRT
@OF
@click.option(
    SHAPE,
    "shapes",
    multiple=True,
    metavar="NAME=2x4x8x8",
    help="Shape of an input of a MODEL with dynamic dims.",
)
@click.option(
    "--budget",
    type=click.FloatRange(0),
    default=0.1,
    show_default=True,
    metavar="SECONDS",
    help="Time per contestant and case, beyond the minimum number of runs.",
)
@click.option(
    "--json",
    "json_path",
    metavar="FILE",
    shell_complete=a_file,
    help="Write all measurements; - prints them instead of the table.",
)
@click.option(
    "--plot", "plot_path", metavar="FILE", shell_complete=a_file, help="Write a chart, .png or .svg."
)
@click.option(
    "--memory",
    is_flag=True,
    help="With --suite training: peak memory, in processes of their own, instead of time.",
)
@LIMITS
def bench(
    cases: tuple[str, ...],
    suite: str | None,
    seed: int,
    threads: int | None,
    strategy: str,
    peers: str | None,
    wrt: tuple[str, ...],
    of: tuple[str, ...],
    shapes: tuple[str, ...],
    budget: float,
    json_path: str | None,
    plot_path: str | None,
    memory: bool,
) -> None:
    """Time compiled gradients and models against other implementations.

    PROBLEM is a problem string; FILE has one per line, or is a graph (oneDNN JSON, MLIR text), each of whose
    gradients is a case. MODEL is an ONNX model: the compiled model is compared with the original, or with
    --wrt its gradient with its forward pass. Exit code 1 if a result of gradc is wrong.
    """
    from gradc.bench import command
    from gradc.bench.races import command as races
    from gradc.bench.races.models import RaceSettings

    threads = 1 if threads is None and suite in ONE_THREAD else threads
    settings = command.settings(threads, strategy, budget, seed)
    models = [case for case in cases if races.is_model(case)]
    if memory and (suite != TRAINING_SUITE or cases or plot_path):
        raise click.UsageError("--memory is for --suite training alone")
    if memory:
        entry = RaceSettings(settings.threads, budget, seed, None if peers is None else peers.split(","))
        right = races.bench_memory(entry, json_path)
    elif not models and suite not in MODEL_SUITES:
        _refuse_unless_models(wrt=wrt, of=of, shape=shapes)
        right = command.bench(cases, suite, settings, peers, json_path, plot_path)
    else:
        _refuse_beside_models(cases, models, suite, strategy, plot_path)
        names = None if peers is None else peers.split(",")
        entry = RaceSettings(settings.threads, budget, seed, names, wrt, of, shapes_of(shapes))
        right = races.bench_models(models, entry, suite, json_path)
    if not right:
        sys.exit(EXIT_CHECK_FAILED)


def _refuse_unless_models(**given: tuple[str, ...]) -> None:
    for name, values in given.items():
        if values:
            raise click.UsageError(f"--{name} needs an ONNX model")


def _refuse_beside_models(
    cases: tuple[str, ...], models: list[str], suite: str | None, strategy: str, plot_path: str | None
) -> None:
    problems = [case for case in cases if case not in models]
    if problems:
        text = f"{problems[0]} is not a model: measure problems and models in separate runs"
        raise click.UsageError(text)
    if suite not in (None, *MODEL_SUITES, "none"):
        raise click.UsageError(f"--suite {suite}: its cases are problems, not models")
    if strategy != "auto":
        raise click.UsageError(f"--strategy {strategy}: models are compiled with auto")
    if plot_path is not None:
        raise click.UsageError(f"--plot {plot_path}: models have no chart; use --json")
