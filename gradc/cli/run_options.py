"""Options of commands that run a model or measure strategies, and the conversion of their values."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file
from gradc.cli.help import Word
from gradc.cli.options import one_or_several, options_of
from gradc.runtime import RUNTIMES

if TYPE_CHECKING:
    from gradc.cli.running import Inputs
    from gradc.compiler.options import Options
    from gradc.tuning.request import TuningRequest
    from gradc.tuning.tuner import Tuner

SHAPE = "--shape"


def _threads(purpose: str) -> Any:
    help = f"Threads within an op, {purpose}.  [default: number of cores]"
    return click.option("--threads", type=click.IntRange(1), metavar="N", help=help)


THREADS = _threads("to optimize for and to run with")
COMPILED_THREADS = _threads("to optimize for")
"""The option for commands that run nothing."""


def _shapes(purpose: str) -> Any:
    return click.option(
        SHAPE,
        "shapes",
        multiple=True,
        metavar="NAME=2x4x8x8",
        help=f"Shape of an input with dynamic dims, {purpose}.",
    )


def _parse_sizes(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, int]:
    pairs = [text.rpartition("=") for text in given]
    for text, (name, _equals, size) in zip(given, pairs, strict=True):
        if not name or not size.isdecimal():
            raise click.BadParameter(f"{text!r} is not of the form NAME=4.")
    return {name: int(size) for name, _equals, size in pairs}


SIZES = click.option(
    "--size",
    "sizes",
    multiple=True,
    metavar="NAME=4",
    callback=_parse_sizes,
    help="Size of all dims with this name; repeatable.",
)

SEED = click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of random inputs.",
)

EP = click.option(
    "--ep",
    type=Word(["cpu", "cuda"]),
    help="Execution provider to run on.  [default: that of --target]",
)

RUNTIME = click.option(
    "--runtime",
    type=Word(RUNTIMES),
    help="Runtime of the compiled model.  [default: onnxruntime]",
)

RTOL = click.option(
    "--rtol",
    type=float,
    help="Bound on the worst error, relative to an output's largest value.  [default: by dtype and depth]",
)

MEASURE_PEAK = click.option(
    "--measure-peak", is_flag=True, help="Measure this machine's peak speed, unless known (takes a second)."
)


def input_options(command: Any) -> Any:
    """Add the options of commands that run a model and measure nothing."""
    return _input_options(command, "to run with")


def tunable_input_options(command: Any) -> Any:
    """Add the options of commands that run a model and have `measuring_options`."""
    return _input_options(command, "to run with and to measure at")


def _input_options(command: Any, shapes_are: str) -> Any:
    inputs = click.option(
        "--inputs",
        metavar="FILE",
        multiple=True,
        callback=one_or_several,
        shell_complete=a_file,
        help="Inputs instead of random ones: .npz or .safetensors, by name (t<ID> for JSON); repeatable.",
    )
    for option in reversed((inputs, SEED, _shapes(shapes_are), EP, THREADS)):
        command = option(command)
    return command


def tuning_options(command: Any) -> Any:
    """Add the options of commands that only measure strategies."""
    return measuring_options(_shapes("to measure at")(command))


def measuring_options(command: Any) -> Any:
    """Add the options of strategy measurement, passed as `tuning`."""

    @functools.wraps(command)
    def with_tuning(
        tune: bool, tuning_file: str | None, tune_budget: float, shapes: tuple[str, ...], **given: Any
    ) -> Any:
        return command(tuning=Tuning(tune, tuning_file, tune_budget, shapes), **given)

    found = with_tuning
    for option in reversed(
        (
            click.option("--tune", is_flag=True, help="Choose strategies by measuring them on this machine."),
            click.option(
                "--tuning-file",
                metavar="JSON",
                shell_complete=a_file,
                help="Use the measurements in this file; with --tune, add to them.",
            ),
            click.option(
                "--tune-budget",
                type=click.FloatRange(0),
                default=60.0,
                show_default=True,
                metavar="SECONDS",
                help="Stop measuring after this time.",
            ),
        )
    ):
        found = option(found)
    return found


@dataclass(frozen=True)
class Tuning:
    """Values of `tuning_options`."""

    tune: bool
    file: str | None
    budget: float
    shapes: tuple[str, ...]

    @cached_property
    def request(self) -> TuningRequest:
        from gradc.tuning.request import TuningRequest

        return TuningRequest(self.tune, self.file, self.budget, shapes_of(self.shapes))

    def options(self, given: dict[str, Any]) -> Options:
        return options_of(given | {"threads": self.request.threads(given["threads"])})

    @contextlib.contextmanager
    def tuner(self, options: Options) -> Iterator[Tuner | None]:
        """Yield the tuner, with a progress bar on the terminal."""
        from gradc.terminal import messages, progress

        before = self._modification_time()
        with progress.bar(patience=0 if self.tune else progress.PATIENCE) as show:
            yield self.request.tuner(options.resolve_target(), show)
        if self.file is not None and self._modification_time() != before:
            messages.report_file(self.file, "measurements")

    def _modification_time(self) -> int | None:
        """Return the modification time of the tuning file; None without one."""
        with contextlib.suppress(OSError):
            return None if self.file is None else os.stat(self.file).st_mtime_ns
        return None


def inputs_of(
    files: str | tuple[str, ...] | None,
    seed: int,
    shapes: tuple[str, ...],
    sizes: Mapping[str, int] | None = None,
) -> Inputs:
    """Return the inputs that the values of `input_options` describe."""
    from gradc.cli.running import Inputs

    named = files if files is None or isinstance(files, str) else " --inputs ".join(files)
    if named is not None and shapes:
        raise click.UsageError(
            f"--inputs {named} and {SHAPE} {shapes[0]}: the shapes are those of the arrays in the file."
        )
    if named is not None and sizes:
        raise click.UsageError(f"--inputs {named} and --size: the sizes are those of the arrays in the file.")
    return Inputs(files, seed, shapes_of(shapes), sizes or {})


def shapes_of(given: tuple[str, ...], option: str = SHAPE) -> dict[str, tuple[int, ...]]:
    """Parse sizes by name from an option of the form NAME=2x4x8x8 or NAME=2,4,8,8."""
    found = {}
    for entry in given:
        name, _, sizes = entry.rpartition("=")
        dims = re.split("[x,]", sizes) if sizes else []
        if not name or not all(dim.isdecimal() for dim in dims):
            raise click.UsageError(f"{option} {entry}: expected NAME=2x4x8x8 or NAME=2,4,8,8.")
        found[name] = tuple(map(int, dims))
    return found
