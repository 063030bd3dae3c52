"""Options that several commands share, and the conversion of their values."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file, a_limit, a_strategy
from gradc.cli.help import QUIET_HELP, Word, keep_quiet
from gradc.cli.piped import model_from_stdin
from gradc.runtime import RUNTIMES
from passes.targets import TARGETS

if TYPE_CHECKING:
    from gradc.cli.running import Inputs
    from gradc.compiler.options import Options
    from gradc.tuning.request import TuningRequest
    from gradc.tuning.tuner import Tuner

SHAPE = "--shape"


def _parse_renames(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for text, (old, _equals, new) in zip(given, pairs, strict=True):
        if not old or not new:
            raise click.BadParameter(f"{text!r} is not of the form OLD=NEW.")
    if len({old for old, _equals, _new in pairs}) < len(pairs):
        raise click.BadParameter("one name is given twice.")
    return {old: new for old, _equals, new in pairs}


def one_or_several(
    _: click.Context, __: click.Parameter, given: tuple[str, ...]
) -> str | tuple[str, ...] | None:
    """Return the files of a repeatable option; None for none."""
    return given if len(given) > 1 else next(iter(given), None)


def _factors(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for text in given:
        name, _equals, number = text.rpartition("=")
        try:
            factor = float(number)
        except ValueError:
            factor = math.nan
        if not name or not math.isfinite(factor):
            raise click.BadParameter(f"{text!r} is not of the form NAME=NUMBER.")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.")
        found[name] = factor
    return found


SCALE = click.option(
    "--scale",
    multiple=True,
    metavar="NAME=NUMBER",
    callback=_factors,
    help="Multiply a result by a number: forces=-1, by its final name; repeatable.",
)

FILES = click.argument("files", metavar="IN..", nargs=-1, required=True, shell_complete=a_file)
RENAME = click.option(
    "--rename",
    multiple=True,
    metavar="OLD=NEW",
    callback=_parse_renames,
    help="Rename an input or output (t<ID> in JSON); repeatable.",
)


def source_arguments(command: Any) -> Any:
    """Pass a command its graph, or its replacement on stdin, as `source`."""

    @functools.wraps(command)
    def with_source(files: Sequence[str], rename: dict[str, str], **given: Any) -> Any:
        from gradc.compiler.source import Source

        with model_from_stdin(files) as found:
            return command(source=Source(found, rename), **given)

    return FILES(RENAME(with_source))


WRT = click.option(
    "--wrt",
    multiple=True,
    metavar="NAME",
    help="Differentiate with respect to this: an input, weight or value, or a pattern ('*.weight'); "
    "repeatable.  [default: every float input]",
)
OF = click.option(
    "--of",
    multiple=True,
    metavar="NAME",
    help="Value to differentiate, or one element: 'logits[0,281]'; repeatable.  [default: the float output]",
)
STRAIGHT_THROUGH = click.option(
    "--straight-through",
    is_flag=True,
    help="Differentiate through quantization as if it did not round.",
)


def gradient_arguments(command: Any) -> Any:
    """Like `source_arguments`, with the gradient that `gradc grad --cotangents` writes if --wrt or --of is
    given."""

    @functools.wraps(command)
    def with_gradient(
        source: Any, wrt: tuple[str, ...], of: tuple[str, ...], straight_through: bool, **given: Any
    ) -> Any:
        from gradc.compiler.gradient_request import GradientRequest

        if not (wrt or of):
            if straight_through:
                raise click.UsageError("--straight-through needs --wrt or --of.")
            return command(source=source, **given)
        asked = GradientRequest(
            wrt or None, of or None, cotangents=True, straight_through=straight_through, rename=source.names
        )
        return command(source=replace(source, gradient=asked, names={}), **given)

    return source_arguments(WRT(OF(STRAIGHT_THROUGH(with_gradient))))


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")

AUTO_PAD_RULE = click.option(
    "--auto-pad-rule",
    type=Word(["documented", "library"]),
    help="Rule for same_* padding, for every op.",
)


def _set_limits(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> None:
    """Set the limits while a command runs, but not for completion."""
    if context.resilient_parsing:
        return
    from dialects.support import limits

    context.with_resource(limits.using(limits.parse(given)))


LIMITS = click.option(
    "--limit",
    multiple=True,
    metavar="NAME=N",
    expose_value=False,
    callback=_set_limits,
    shell_complete=a_limit,
    help="Set a limit: ops=1M, file-bytes=2G; docs/limits.md lists them.",
)


EXTERNAL_DATA = click.option(
    "--external-data",
    is_flag=True,
    help="Write weights to a separate file; automatic beyond 2 GB.",
)

QUIET = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=keep_quiet,
    help=QUIET_HELP,
)


def _threads(purpose: str) -> Any:
    help = f"Threads within an op, {purpose}.  [default: number of cores]"
    return click.option("--threads", type=click.IntRange(1), metavar="N", help=help)


THREADS = _threads("to optimize for and to run with")
COMPILED_THREADS = _threads("to optimize for")
"""The option for commands that run nothing."""


def source_options(command: Any) -> Any:
    """Add the options of commands that compile their input and run nothing."""
    return _source_options(command, "cpu")


def source_options_with_ep(command: Any) -> Any:
    """Add the options of commands that compile their input and have --ep."""
    return _source_options(command, "cpu, or that of --ep")


def _source_options(command: Any, default_target: str) -> Any:
    for option in reversed(
        (
            click.option(
                "--target",
                type=Word(TARGETS),
                help="Runtime or execution provider of the model; portable: the CPU and other runtimes."
                f"  [default: {default_target}]",
            ),
            click.option(
                "--opset",
                type=int,
                metavar="N",
                help="ONNX opset, 13 or newer.  [default: 18, or what the model or its dtypes need]",
            ),
            click.option(
                "--constants",
                metavar="FILE",
                multiple=True,
                callback=one_or_several,
                shell_complete=a_file,
                help="Values of constant inputs: .npz or .safetensors, by name (t<ID> for JSON); repeatable.",
            ),
            click.option(
                "--strategy",
                metavar="NAME",
                default="auto",
                show_default=True,
                shell_complete=a_strategy,
                help="Force one lowering by name.",
            ),
            AUTO_PAD_RULE,
            click.option("--strict", is_flag=True, help="Treat contradictions as errors, not remarks."),
            click.option(
                "--strict-ieee",
                is_flag=True,
                help="Avoid lowerings that can turn inf into NaN (0 * inf); slower.",
            ),
        )
    ):
        command = option(command)
    return command


def _shapes(purpose: str) -> Any:
    return click.option(
        SHAPE,
        "shapes",
        multiple=True,
        metavar="NAME=2x4x8x8",
        help=f"Shape of an input with dynamic dims, {purpose}.",
    )


def _batch(_: click.Context, __: click.Parameter, given: str | None) -> int | str | None:
    if given is None or not given.isdecimal():
        return given
    if not int(given):
        raise click.BadParameter("0 is not a batch size.")
    return int(given)


REBATCH = click.option(
    "--rebatch",
    metavar="N|NAME",
    callback=_batch,
    help="New batch size of a model with a fixed one: a number, or a name for a dynamic size.",
)

RECORD_PIPELINE = click.option(
    "--record-pipeline", is_flag=True, help="Write the pass pipeline into the model's metadata."
)

STATIC_SHAPE = "--static-shape"

STATIC_SHAPES = click.option(
    STATIC_SHAPE,
    "static_shapes",
    multiple=True,
    metavar="NAME=2x4x8x8",
    help="Fix the shape of an input with dynamic dims; repeatable.",
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

        before = self._modified_at()
        with progress.bar(patience=0 if self.tune else progress.PATIENCE) as show:
            yield self.request.tuner(options.resolve_target(), show)
        if self.file is not None and self._modified_at() != before:
            messages.report_file(self.file, "measurements")

    def _modified_at(self) -> int | None:
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
            f"--inputs {named} and {SHAPE} {shapes[0]}: the file's inputs have their shapes."
        )
    if named is not None and sizes:
        raise click.UsageError(f"--inputs {named} and --size: the file's inputs have their sizes.")
    return Inputs(files, seed, shapes_of(shapes), sizes or {})


def options_of(given: dict[str, Any], ep: str | None = None) -> Options:
    from gradc.compiler.options import Options

    given["target"] = given["target"] or ep or "cpu"
    return Options(**given)


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
