"""Options that several commands share: the source, the gradient and the compilation."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gradc.cli.completion import a_file, a_limit, a_strategy
from gradc.cli.help import QUIET_HELP, Word, keep_quiet
from gradc.cli.piped import model_from_stdin
from passes.targets import TARGETS

if TYPE_CHECKING:
    from gradc.compiler.options import Options


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

FILES = click.argument("files", metavar="IN...", nargs=-1, required=True, shell_complete=a_file)
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
    help="Differentiate with respect to this: an input, weight or value, a pattern ('*.weight'), :weights "
    "(all trainable ones) or :inputs; repeatable.  [default: every float input]",
)
FROZEN = click.option(
    "--frozen",
    multiple=True,
    metavar="NAME",
    help="Leave out this name or pattern: remove it from the selection of :weights, :inputs and patterns; "
    "repeatable.",
)
UNTIE = click.option(
    "--untie",
    is_flag=True,
    help="Give each reader of a shared weight a separate one: <NAME>, <NAME>.2, ...",
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
        source: Any,
        wrt: tuple[str, ...],
        of: tuple[str, ...],
        straight_through: bool,
        num_cotangents: int | str | None = None,
        **given: Any,
    ) -> Any:
        if not (wrt or of):
            for name, value in (("straight-through", straight_through), ("num-cotangents", num_cotangents)):
                if value:
                    raise click.UsageError(f"--{name} needs --wrt or --of.")
            return command(source=source, **given)
        from gradc.derivatives.row_requests import VjpRequest
        from gradc.derivatives.source import GradientSource

        gradient = VjpRequest(
            wrt or None,
            of or None,
            cotangents=True,
            straight_through=straight_through,
            rename=source.names,
            num_cotangents=num_cotangents,
        )
        return command(source=GradientSource(source.files, gradient=gradient), **given)

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


def number_or_name(_: click.Context, __: click.Parameter, given: str | None) -> int | str | None:
    if given is None or not given.isdecimal():
        return given
    if not int(given):
        raise click.BadParameter("expected a number above 0, or a name.")
    return int(given)


NUM_COTANGENTS = click.option(
    "--num-cotangents",
    metavar="K|NAME",
    callback=number_or_name,
    help="Cotangents and gradients have a leading axis of this size, all computed in one run: a number, or a "
    "name for a dynamic size.",
)
FAMILY = click.option(
    "--family",
    type=Word(["casadi"]),
    help="casadi: names and shapes of CasADi's files fwd_IN, adj_IN and jac_IN; seeds are columns.",
)
REBATCH = click.option(
    "--rebatch",
    metavar="N|NAME",
    callback=number_or_name,
    help="New batch size of a model with a fixed one: a number, or a name for a dynamic size.",
)


def _axes(_: click.Context, __: click.Parameter, given: Sequence[str]) -> dict[str, int | None]:
    found: dict[str, int | None] = {}
    for text in given:
        name, _equals, axis = text.rpartition("=")
        if not name or axis not in ("0", "none"):
            hint = " A Transpose in the model moves samples to axis 0." if axis.isdigit() else ""
            raise click.BadParameter(f"{text!r} is not of the form INPUT=0 or INPUT=none.{hint}")
        if name in found:
            raise click.BadParameter(f"{name} is given twice.")
        found[name] = 0 if axis == "0" else None
    return found


PER_SAMPLE = click.option(
    "--per-sample", is_flag=True, help="Compute one derivative for each sample of the batch, in one run."
)
BATCH_AXIS = click.option(
    "--batch-axis",
    multiple=True,
    metavar="INPUT=0|none",
    callback=_axes,
    help="Whether axis 0 of an input has the samples of --per-sample; repeatable.  [default: 0 for inputs "
    "that share the size of the result's axis 0]",
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


def options_of(given: dict[str, Any], ep: str | None = None) -> Options:
    from gradc.compiler.options import Options

    given["target"] = given["target"] or ep or "cpu"
    return Options(**given)
