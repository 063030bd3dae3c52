"""The `gradc` command. Each command imports its implementation when it runs, so that help is quick.

Exit codes: 0 ok, 1 a check failed, 2 usage, 3 unsupported, 4 bad input, 70 internal error.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from dialects.support import option_names
from gradc.cli import completion
from gradc.cli.bench import bench
from gradc.cli.compile import compile_command
from gradc.cli.completion import a_file
from gradc.cli.endings import ARRAYS, check_ending
from gradc.cli.errors import EXIT_CHECK_FAILED, one_line_errors
from gradc.cli.fit import fit
from gradc.cli.grad import grad
from gradc.cli.help import Group, Word, help_command, usage_errors
from gradc.cli.hessian import hessian
from gradc.cli.hvp import hvp
from gradc.cli.jacobian import jacobian
from gradc.cli.jvp import jvp
from gradc.cli.options import (
    AS_JSON,
    AUTO_PAD_RULE,
    LIMITS,
    NUM_COTANGENTS,
    QUIET,
    RENAME,
    gradient_arguments,
    options_of,
    source_arguments,
    source_options,
    source_options_with_ep,
)
from gradc.cli.reduce import reduce
from gradc.cli.report import report
from gradc.cli.run_options import (
    COMPILED_THREADS,
    MEASURE_PEAK,
    RTOL,
    RUNTIME,
    SIZES,
    Tuning,
    input_options,
    inputs_of,
    tuning_options,
)
from gradc.cli.train import train
from gradc.cli.weights import weights
from gradc.files.kinds import is_onnx
from gradc.runtime import RUNTIMES
from gradc.terminal import messages, progress, streams
from gradc.terminal.console import has_style
from gradc.terminal.tables import look
from gradc.util.version import __version__
from passes.targets import TARGETS

if TYPE_CHECKING:
    from gradc.compiler.compiled import Compiled
    from gradc.compiler.source import Source

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; always ends in SystemExit."""
    streams.prepare()
    if (code := completion.answer(cli, os.environ)) is not None:
        sys.exit(code)
    with (
        messages.using_format(messages.requested_format(sys.argv[1:] if args is None else args)),
        one_line_errors(),
        usage_errors(),
        option_names.using(option_names.Place.COMMAND_LINE),
    ):
        code = cli.main(args, prog_name="gradc", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
        sys.exit(code)


@click.group(cls=Group, context_settings=CONTEXT)
@click.version_option(__version__, "-V", "--version", prog_name="gradc")
def cli() -> None:
    """gradc turns an ONNX model or an op graph into a plain ONNX model of its gradient, of a training step,
    or of the graph itself: verified, and runnable on stock onnxruntime.
    """


@cli.command(
    example="gradc run graph.json --inputs in.npz -o out.npz",
    common="-o --inputs --seed --shape --ep --runtime --threads --target --opset --constants --rename --json",
)
@click.option(
    "-o",
    "--output",
    metavar="NPZ",
    shell_complete=a_file,
    help="Write the outputs to this .npz file; - for stdout.",
)
@source_arguments
@AS_JSON
@source_options_with_ep
@RUNTIME
@input_options
@QUIET
@LIMITS
def run(
    source: Source,
    output: str | None,
    as_json: bool,
    inputs: str | tuple[str, ...] | None,
    seed: int,
    shapes: tuple[str, ...],
    ep: Any,
    runtime: str | None,
    threads: int | None,
    constants: str | tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Run IN, a graph or a compiled .onnx, on onnxruntime or another runtime."""
    from gradc.cli import running
    from gradc.terminal.outputs import STDOUT

    if as_json and output == STDOUT:
        raise click.UsageError("--json and -o - both write to stdout.")
    check_ending(output, ARRAYS)
    fed = inputs_of(inputs, seed, shapes)
    if source.is_model:
        _refuse_source_options(source)
        results, placed = running.run_model(source.files[0], fed, ep, threads, runtime, constants)
    else:
        compiled = _compile(source, given, constants, ep, threads)
        results, placed = running.run_compiled(compiled, fed, ep, threads, runtime)
    if as_json:
        _print(running.run_json(results, placed, output))
    else:
        if placed:
            messages.mention(running.describe_placement(placed))
        for line in running.describe(results):
            (messages.note if output == STDOUT else _print)(line)
    if output:
        running.write_arrays(output, results)
    if inputs is None and not as_json:
        messages.mention(f"ran on random inputs, --seed {seed}; --inputs reads them from a file")


@cli.command(
    example="gradc verify graph.json --report",
    common="--report --within --rtol --inputs --seed --shape --size --wrt --of --target --opset --ep "
    "--runtime --json",
)
@gradient_arguments
@RTOL
@AS_JSON
@click.option("--report", is_flag=True, help="Also show errors against float64: per output and op, in ulps.")
@click.option(
    "--within",
    is_flag=True,
    help="Find the first value that differs, even if all outputs are right; models only.",
)
@SIZES
@source_options_with_ep
@RUNTIME
@input_options
@QUIET
@LIMITS
def verify(
    source: Source,
    rtol: float | None,
    as_json: bool,
    report: bool,
    within: bool,
    sizes: dict[str, int],
    inputs: str | tuple[str, ...] | None,
    seed: int,
    shapes: tuple[str, ...],
    ep: Any,
    runtime: str | None,
    threads: int | None,
    constants: str | tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Compile and run IN, and compare it with the numpy reference, or an ONNX model with its original.

    An ONNX model with dynamic dims runs at several sizes, unless --size or --shape gives one. If an output
    differs, the first node that differs is named. For a folder of gradc train, five steps on random data
    are compared with float64.

    Prints the errors of each output, divided by its largest magnitude: the worst, the root mean square
    (typical), and the rounding-error bound. Exit code 1 if a bound is exceeded.
    """
    from gradc.cli import verifying

    if len(source.files) == 1 and verifying.is_run(source.files[0]):
        if not verifying.verify_run(source.files[0], seed, threads, as_json=as_json):
            sys.exit(EXIT_CHECK_FAILED)
        return
    if source.is_model and source.names and not report:
        raise click.UsageError(f"--rename: {source} is compared with itself, under its own names.")
    if within and (report or not source.is_model):
        raise click.UsageError("--within needs a model (.onnx), and no --report.")
    if within and runtime not in (None, RUNTIMES[0]):
        raise click.UsageError(f"--within needs onnxruntime; --runtime is {runtime}.")
    _refuse_several_models(source)
    fed = inputs_of(inputs, seed, shapes, sizes)
    compiled = _compile(source, given, constants, ep, threads)
    if source.is_model and not report:
        path = source.files[0]
        rows = verifying.verify_model(compiled, path, fed, ep, threads, rtol, within, runtime, constants)
        errors = None
    else:
        rows, errors = verifying.verify(compiled, fed, ep, threads, rtol, report, runtime)
    if as_json:
        _print(verifying.verify_json(rows, errors))
    else:
        _print(verifying.verify_table(rows, errors, look(sys.stdout)))
    if not all(row.ok for row in rows):
        sys.exit(EXIT_CHECK_FAILED)


@cli.command(example="gradc inspect graph.json")
@source_arguments
@AS_JSON
@AUTO_PAD_RULE
@click.option("--target", type=Word(TARGETS), help="List ops that this target lacks.")
@click.option("--opset", type=int, metavar="N", help="Opset for --target.  [default: the model's]")
@click.option("--values", "of_values", is_flag=True, help="Only list the values that gradc grad takes.")
@QUIET
@LIMITS
def inspect(
    source: Source,
    as_json: bool,
    auto_pad_rule: str | None,
    target: str | None,
    opset: int | None,
    of_values: bool,
) -> None:
    """Show the ops of the graph IN: shapes, dtypes, attributes with defaults, support.

    For an .onnx also its opsets, dynamic dims, weights and amount of arithmetic.
    """
    if of_values and target is not None:
        raise click.UsageError("--values and --target exclude each other.")
    if of_values:
        _print_values(source, as_json, auto_pad_rule)
        return
    from gradc.inspection import inspection

    with progress.bar():
        found = inspection.inspect(source, auto_pad_rule, target, opset)
    _print(
        inspection.as_json(found)
        if as_json
        else inspection.as_text(_without_remarks_if_quiet(found), look(sys.stdout))
    )


def _print_values(source: Source, as_json: bool, auto_pad_rule: str | None) -> None:
    from gradc.inspection import values

    with progress.bar():
        found = values.values(source, auto_pad_rule)
    _print(values.as_json(found) if as_json else values.as_text(found, look(sys.stdout)))


@cli.command(
    example="gradc explain graph.json --tune",
    common="--wrt --of --tune --shape --target --opset --constants --threads --strategy --json",
)
@gradient_arguments
@NUM_COTANGENTS
@AS_JSON
@MEASURE_PEAK
@source_options
@COMPILED_THREADS
@tuning_options
@QUIET
@LIMITS
def explain(
    source: Source,
    as_json: bool,
    measure_peak: bool,
    tuning: Tuning,
    constants: str | tuple[str, ...] | None,
    **given: Any,
) -> None:
    """Show the strategies for each gradient of the graph IN, their costs, and the choice."""
    from gradc.cli import compiling
    from gradc.inspection import explain as explaining

    options = tuning.options(given)
    with tuning.tuner(options) as tuner:
        module = compiling.load_bound(source, options, constants)
        found = explaining.explain(module, options, tuning.request.shapes, tuner, measure_peak)
    _print(
        explaining.as_json(found)
        if as_json
        else explaining.as_text(_without_remarks_if_quiet(found), look(sys.stdout))
    )


@cli.command(example="gradc doctor")
@AS_JSON
def doctor(as_json: bool) -> None:
    """Show versions and execution providers, and how to install what is missing."""
    from gradc.inspection import doctor as clinic

    found = clinic.examine()
    _print(clinic.as_json(found) if as_json else clinic.as_text(found, look(sys.stdout)))


@cli.command(name="completion", example='eval "$(gradc completion bash)"')
@click.argument("shell", type=Word(completion.SHELLS))
def completion_command(shell: str) -> None:
    """Print the script that completes gradc and gradc-opt in SHELL."""
    _print(completion.script(shell, cli))


cli.add_command(compile_command)
cli.add_command(bench)
cli.add_command(fit)
cli.add_command(train)
cli.add_command(help_command)
cli.add_command(grad)
cli.add_command(hessian)
cli.add_command(hvp)
cli.add_command(jacobian)
cli.add_command(jvp)
cli.add_command(reduce)
cli.add_command(report)
cli.add_command(weights)


def _print(text: str) -> None:
    """Print to stdout, with colors even in a pipe if they are forced."""
    click.echo(text, color=has_style(sys.stdout) or None)


def _without_remarks_if_quiet(found: Any) -> Any:
    """Drop the remarks of an Inspection or Explanation for people; JSON keeps them."""
    return replace(found, remarks=[]) if messages.is_quiet() else found


def _refuse_source_options(source: Source) -> None:
    """Raise UsageError for compile options with a compiled model, which would be ignored."""
    context = click.get_current_context()
    options = source_options(RENAME(lambda: None)).__click_params__
    for parameter in (option for option in options if option.name != "constants"):
        if context.get_parameter_source(parameter.name) is not click.core.ParameterSource.DEFAULT:
            raise click.UsageError(f"{parameter.opts[0]} is for graphs; {source} is a compiled model.")


def _refuse_several_models(source: Source) -> None:
    """Raise UsageError for a second file with a model, which is only compared with itself."""
    if len(source.files) > 1 and any(map(is_onnx, source.files)):
        compared = "verify compares one model with what gradc compiles of it, not two models"
        raise click.UsageError(f"{compared}: given {source}; several files are the parts of one oneDNN dump.")


def _compile(
    source: Source,
    given: dict[str, Any],
    constants: str | tuple[str, ...] | None,
    ep: str | None,
    threads: int | None,
) -> Compiled:
    from gradc.cli import compiling

    options = options_of(given | {"threads": threads}, ep)
    return compiling.compile_source(source, options, constants)


if __name__ == "__main__":
    main()
